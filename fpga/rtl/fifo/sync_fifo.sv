// A queue within one clock domain, first word shown at once. Writing when full and reading when empty do nothing.
`default_nettype none

module sync_fifo #(
    parameter int WIDTH = 8,
    parameter int LOG2_DEPTH = 4
) (
    input  wire              clk,
    input  wire              rst,
    input  wire  [WIDTH-1:0] in,
    input  wire              in_valid,
    output logic             in_ready,
    output logic [WIDTH-1:0] out,
    output logic             out_valid,
    input  wire              out_ready
);

  (* ram_style = "distributed" *) logic [WIDTH-1:0] memory[2**LOG2_DEPTH];
  logic [LOG2_DEPTH:0] written, taken;

  assign in_ready  = written - taken != (LOG2_DEPTH + 1)'(2 ** LOG2_DEPTH);
  assign out_valid = written != taken;
  assign out       = memory[taken[LOG2_DEPTH-1:0]];

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) memory[written[LOG2_DEPTH-1:0]] <= in;
    if (rst) begin
      written <= '0;
      taken   <= '0;
    end else begin
      if (in_valid && in_ready) written <= written + 1'b1;
      if (out_valid && out_ready) taken <= taken + 1'b1;
    end
  end

endmodule

`default_nettype wire
