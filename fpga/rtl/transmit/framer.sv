// Puts preamble, SFD, FCS and defects around the bytes of a frame, on GMII. It never waits within a frame: the source
// gives a byte each byte time.
`default_nettype none

module framer (
    input  wire        clk,
    input  wire        rst,
    input  wire        ce,          // a byte time ends
    input  wire        start,       // with ce and in_gap: the preamble begins
    input  wire        counted,     // with start: its SFD is an event for the time base
    input  wire        bad_fcs,     // with start
    input  wire        dribble,     // with start
    output logic       in_gap,
    output logic       ending,      // the last byte time of a frame
    // The first byte is taken six byte times after the one with `fetch`.
    output logic       fetch,
    input  wire  [7:0] data,
    input  wire        last,
    output logic [7:0] gmii_txd,
    output logic       gmii_tx_en,
    output logic       gmii_tx_er,
    output logic       gmii_half,   // of this byte only the lower nibble is sent (10 and 100 Mb/s)
    output logic       sfd_toggle,  // changes with the SFD on gmii_txd
    output logic       sfd          // a pulse of one clock after it
);

  typedef enum logic [2:0] {
    GAP,
    PREAMBLE,
    DATA,
    FCS,
    DRIBBLE
  } state_t;

  localparam logic [7:0] PREAMBLE_BYTE = 8'h55;
  localparam logic [7:0] SFD_BYTE = 8'hD5;

  state_t state;
  logic [2:0] index;
  logic [31:0] crc;
  logic is_counted, is_bad, is_dribble;
  logic fcs_ends;  // its last byte time

  assign in_gap = state == GAP;
  assign fetch = ce && state == PREAMBLE && index == 3'd3;
  assign gmii_tx_er = 1'b0;

  always_ff @(posedge clk) begin
    sfd <= 1'b0;
    if (ce) begin
      index      <= index + 1'b1;
      gmii_txd   <= '0;
      gmii_tx_en <= state != GAP;
      gmii_half  <= 1'b0;
      // A byte time ahead: whole counters wait for these.
      fcs_ends   <= state == FCS && index[1:0] == 2'd2;
      ending     <= state == FCS && index[1:0] == (is_dribble ? 2'd3 : 2'd2);
      case (state)
        GAP: begin
          index <= '0;
          crc   <= crc32_pkg::START;
          if (start) begin
            state      <= PREAMBLE;
            is_counted <= counted;
            is_bad     <= bad_fcs;
            is_dribble <= dribble;
          end
        end
        PREAMBLE: begin
          gmii_txd <= index == '1 ? SFD_BYTE : PREAMBLE_BYTE;
          if (index == '1) begin
            state      <= DATA;
            sfd        <= is_counted;
            sfd_toggle <= sfd_toggle ^ is_counted;
          end
        end
        DATA: begin
          gmii_txd <= data;
          crc      <= crc32_pkg::next(crc, data);
          index    <= '0;
          if (last) state <= FCS;
        end
        FCS: begin
          // A bad one is the good one inverted, as switches do that find an error after they began to send.
          gmii_txd <= is_bad ? crc[7:0] : ~crc[7:0];
          crc      <= crc >> 8;
          if (fcs_ends) state <= is_dribble ? DRIBBLE : GAP;
        end
        DRIBBLE: begin
          gmii_half <= 1'b1;
          state     <= GAP;
        end
        default: state <= GAP;
      endcase
    end
    if (rst) begin
      state      <= GAP;
      gmii_txd   <= '0;
      gmii_tx_en <= 1'b0;
      gmii_half  <= 1'b0;
      fcs_ends   <= 1'b0;
      ending     <= 1'b0;
      sfd        <= 1'b0;
      sfd_toggle <= 1'b0;
    end
  end

endmodule

`default_nettype wire
