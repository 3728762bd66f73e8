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

`ifdef FORMAL
  // By induction: what was written at any one place is there until it has been taken from there.
  logic [LOG2_DEPTH:0] place, ahead, held;
  logic holds;
  logic [WIDTH-1:0] word;

  assign held  = written - taken;
  assign ahead = place - taken;

  always_ff @(posedge clk) begin
    place <= place;
    if (rst) holds <= '0;
    else if (in_valid && in_ready && written == place) holds <= '1;
    else if (out_valid && out_ready && taken == place) holds <= '0;
    if (in_valid && in_ready && written == place) word <= in;
    assert (held <= (LOG2_DEPTH + 1)'(2 ** LOG2_DEPTH));
    assert (holds == (ahead < held));
    if (holds) assert (memory[place[LOG2_DEPTH-1:0]] == word);
    if (out_valid && taken == place) assert (out == word);
  end
`endif

endmodule

`default_nettype wire
