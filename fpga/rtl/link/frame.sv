// Puts octets between flags, with their FCS-32 (RFC 1662 §4.2). Must never send a flag within a frame.
`default_nettype none

module frame
  import link_pkg::*;
(
    input  wire        clk,
    input  wire        rst,
    input  wire  [7:0] octet,
    input  wire        octet_valid,  // of a frame's first octet until its last
    input  wire        octet_last,
    output logic       octet_ready,
    output logic [7:0] out,
    output logic       out_valid,
    input  wire        out_ready
);

  typedef enum logic [1:0] {
    IDLE,
    OCTETS,
    FCS,
    END
  } state_t;

  state_t state;
  logic [31:0] crc;
  logic [1:0] fcs_index;
  logic [7:0] pending;  // second byte of an escaped octet
  logic pending_valid, free;
  logic [7:0] next_octet;  // as it was a clock ago, which is what it is whenever it is sent
  logic next_escapes;

  // The output register is empty, and no half of an escaped octet waits. An octet every third clock is far more than a
  // link carries, and so nothing here depends on how late `out_ready` comes, nor `octet_ready` on anything.
  assign free = !out_valid && !pending_valid;

  always_ff @(posedge clk) begin
    next_octet   <= state == FCS ? ~crc[7:0] : octet;
    next_escapes <= must_escape(state == FCS ? ~crc[7:0] : octet);
    octet_ready  <= state == OCTETS && octet_valid && free && !octet_ready && !rst;
    if (rst) begin
      state         <= IDLE;
      out_valid     <= '0;
      pending_valid <= '0;
    end else begin
      if (out_ready) out_valid <= '0;
      if (pending_valid && !out_valid) begin
        out           <= pending;
        out_valid     <= '1;
        pending_valid <= '0;
      end
      if (octet_ready || (free && state == FCS)) begin
        out           <= next_escapes ? ESCAPE : next_octet;
        out_valid     <= '1;
        pending       <= next_octet ^ ESCAPED;
        pending_valid <= next_escapes;
      end
      if (free) begin
        unique case (state)
          IDLE:
          if (octet_valid) begin
            out       <= FLAG;
            out_valid <= '1;
            crc       <= crc32_pkg::START;
            fcs_index <= '0;
            state     <= OCTETS;
          end
          OCTETS:
          if (octet_ready) begin
            crc <= crc32_pkg::next(crc, next_octet);
            if (octet_last) state <= FCS;
          end
          FCS: begin
            crc       <= {8'h00, crc[31:8]};
            fcs_index <= fcs_index + 1'b1;
            if (fcs_index == 2'd3) state <= END;
          end
          END: begin
            out       <= FLAG;
            out_valid <= '1;
            state     <= IDLE;
          end
        endcase
      end
    end
  end

endmodule

`default_nettype wire
