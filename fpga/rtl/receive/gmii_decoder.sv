// Finds the frames of a GMII: preamble, SFD, bytes, end. Never judges what is in them.
//
// At 10 and 100 Mb/s (`nibbles`) each clock brings half a byte on rxd[3:0], the lower half first. `start`, `octet_valid`
// and `stop` come in different clocks; each `start` is followed by a `stop`, also when no byte came between.
`default_nettype none

module gmii_decoder (
    input  wire        clk,
    input  wire        rst,
    input  wire        nibbles,
    input  wire  [7:0] rxd,
    input  wire        rx_dv,
    input  wire        rx_er,
    output logic       toggle,       // changes with each start
    output logic       start,        // an SFD has been seen
    output logic       octet_valid,
    output logic [7:0] octet,
    output logic       stop,
    output logic       failed,       // with stop: rx_er came within the frame or its preamble
    output logic       misaligned    // with stop: half a byte was left over
);

  typedef enum logic [1:0] {
    UNKNOWN,  // after a reset, perhaps in the middle of a frame: what looks like an SFD may be none
    HUNTING,  // between frames or in a preamble, which may be short, long or damaged
    INSIDE
  } state_t;

  localparam logic [7:0] SFD = 8'hD5;

  state_t state;
  logic [7:0] data;
  logic valid, wrong;
  logic [3:0] lower;  // the half before this one
  logic half;  // `lower` holds half a byte: of the frame, or in the hunt any
  logic doubtful;  // rx_er since the carrier came
  logic sfd;

  assign sfd = nibbles ? half && {data[3:0], lower} == SFD : data == SFD;

  always_ff @(posedge clk) begin
    data  <= rxd;
    valid <= rx_dv;
    wrong <= rx_er;
  end

  always_ff @(posedge clk) begin
    lower       <= data[3:0];
    octet       <= nibbles ? {data[3:0], lower} : data;
    start       <= 1'b0;
    octet_valid <= 1'b0;
    stop        <= 1'b0;
    half        <= valid;
    doubtful    <= valid && (doubtful || wrong);
    failed      <= doubtful;
    misaligned  <= nibbles && half;
    unique case (state)
      UNKNOWN: if (!valid) state <= HUNTING;
      HUNTING:
      if (valid && sfd) begin
        state  <= INSIDE;
        start  <= 1'b1;
        toggle <= !toggle;
        half   <= 1'b0;
      end
      default: begin
        half <= valid && nibbles && !half;
        if (!valid) begin
          state <= HUNTING;
          stop  <= 1'b1;
        end else begin
          octet_valid <= !nibbles || half;
        end
      end
    endcase
    if (rst) begin
      state       <= UNKNOWN;
      toggle      <= 1'b0;
      start       <= 1'b0;
      octet_valid <= 1'b0;
      stop        <= 1'b0;
    end
  end

endmodule

`default_nettype wire
