// The queue between two clocks of any ratio and phase, seen from outside: word number n comes out as number n, none
// before it went in, none is written over. The words are their own numbers: the queue does not look at them. For proofs
// only.
`default_nettype none

module async_fifo_proof #(
    parameter int LOG2_DEPTH = 2
) (
    input wire in_clk,
    input wire out_clk,
    input wire in_valid,
    input wire out_ready
);

  logic in_ready, out_valid;
  logic [3:0] entered, left, out;

  async_fifo #(
      .WIDTH(4),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) queue (
      .in_clk,
      .in_rst ('0),
      .in     (entered),
      .in_valid,
      .in_ready,
      .out_clk,
      .out_rst('0),
      .out,
      .out_valid,
      .out_ready
  );

  always_ff @(posedge in_clk) begin
    assert (4'(entered - left) <= 4'(2 ** LOG2_DEPTH));
    if (in_valid && in_ready) begin
      assert (4'(entered - left) < 4'(2 ** LOG2_DEPTH));
      entered <= entered + 1'b1;
    end
    cover (!in_ready && left == 4'd1);
  end

  always_ff @(posedge out_clk) begin
    if (out_valid) assert (entered != left && out == left);
    if (out_valid && out_ready) left <= left + 1'b1;
    cover (!out_valid && left == 4'd3);
  end

endmodule

`default_nettype wire
