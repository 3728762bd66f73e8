// A model of the ECP5's delay element: 0 to 127 taps of 25 ps, moved a tap by each pulse. For simulation only.
`default_nettype none
`timescale 1ps / 1ps

module behavioural_delay (
    input  wire  load_n,
    input  wire  move,
    input  wire  direction,
    input  wire  a,
    output logic z
);

  localparam int TapPs = 25;

  logic [6:0] taps;

  always_ff @(posedge move or negedge load_n) begin
    if (!load_n) taps <= '0;
    else if (direction) taps <= taps == '0 ? taps : taps - 1'b1;
    else taps <= taps == '1 ? taps : taps + 1'b1;
  end

  always @(a) z <= #(int'(taps) * TapPs + 1) a;

endmodule

`default_nettype wire
