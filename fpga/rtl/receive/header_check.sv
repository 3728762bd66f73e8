// Compares the header of each frame with the one that is expected, by the FCS's own remainder after so many bytes: it
// needs neither a second CRC nor the header's bytes. Never looks at what is behind the header.
//
// `changed` and `header` stand from two clocks after `stop` until the next frame's header has come.
`default_nettype none

module header_check (
    input  wire         clk,
    input  wire         compare,       // these three do not change while frames arrive
    input  wire  [ 7:0] header_bytes,
    input  wire  [31:0] expected,
    // from frame_check, which is a clock behind the decoder
    input  wire         start,
    input  wire         octet_valid,
    input  wire         stop,
    input  wire  [14:0] counted,       // bytes in the remainder
    input  wire  [31:0] crc,
    output logic        changed,
    output logic [15:0] header
);

  logic [7:0] last_byte;
  logic at_end, seen, upper_differs, lower_differs, stopped;
  logic [31:0] digest;

  assign header = digest[15:0];

  always_ff @(posedge clk) begin
    last_byte     <= header_bytes - 1'b1;
    stopped       <= stop;
    upper_differs <= digest[31:16] != expected[31:16];
    lower_differs <= digest[15:0] != expected[15:0];
    if (octet_valid) at_end <= counted == {7'b0, last_byte};
    if (at_end) digest <= crc;
    seen <= seen || at_end;
    if (stopped) changed <= compare && (upper_differs || lower_differs || !seen);
    if (start) begin
      at_end <= 1'b0;
      seen   <= 1'b0;
    end
  end

endmodule

`default_nettype wire
