// The queue between two clocks of any ratio and phase, seen from outside: word number n comes out as number n, none
// before it went in, none is written over. For proofs only.
`default_nettype none

module async_fifo_proof #(
    parameter int WIDTH = 2,
    parameter int LOG2_DEPTH = 2
) (
    input wire             in_clk,
    input wire             out_clk,
    input wire [WIDTH-1:0] in,
    input wire             in_valid,
    input wire             out_ready
);

  logic in_ready, out_valid;
  logic [WIDTH-1:0] out;
  logic [4:0] entered, left;
  logic [15:0][WIDTH-1:0] words;

  async_fifo #(
      .WIDTH(WIDTH),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) queue (
      .in_clk,
      .in_rst ('0),
      .in,
      .in_valid,
      .in_ready,
      .out_clk,
      .out_rst('0),
      .out,
      .out_valid,
      .out_ready
  );

  always_ff @(posedge in_clk) begin
    assert (5'(entered - left) <= 5'(2 ** LOG2_DEPTH));
    if (in_valid && in_ready) begin
      assert (5'(entered - left) < 5'(2 ** LOG2_DEPTH));
      entered <= entered + 1'b1;
      words[entered[3:0]] <= in;
    end
    cover (!in_ready && left == 5'd1);
  end

  always_ff @(posedge out_clk) begin
    if (out_valid) assert (entered != left && out == words[left[3:0]]);
    if (out_valid && out_ready) left <= left + 1'b1;
    cover (!out_valid && left == 5'd3);
  end

endmodule

`default_nettype wire
