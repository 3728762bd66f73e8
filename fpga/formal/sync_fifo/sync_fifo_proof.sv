// The queue against what a queue is, seen from outside: word number n comes out as number n, for any n, and the flags
// say how many are inside. For proofs only.
`default_nettype none

module sync_fifo_proof #(
    parameter int WIDTH = 2,
    parameter int LOG2_DEPTH = 2
) (
    input wire             clk,
    input wire [WIDTH-1:0] in,
    input wire             in_valid,
    input wire             out_ready,
    input wire [      3:0] chosen
);

  logic in_ready, out_valid;
  logic [WIDTH-1:0] out, word;
  logic [3:0] entered, left, held, watched;
  logic running;

  sync_fifo #(
      .WIDTH(WIDTH),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) queue (
      .clk,
      .rst(!running),
      .in,
      .in_valid,
      .in_ready,
      .out,
      .out_valid,
      .out_ready
  );

  assign held = entered - left;

  always_ff @(posedge clk) begin
    running <= '1;
    if (!running) watched <= chosen;
    if (!running) begin
      entered <= '0;
      left <= '0;
    end else begin
      assert (in_ready == (held < 4'(2 ** LOG2_DEPTH)));
      assert (out_valid == (held != 0));
      if (in_valid && in_ready) begin
        entered <= entered + 1'b1;
        if (entered == watched) word <= in;
      end
      if (out_valid && out_ready) begin
        left <= left + 1'b1;
        if (left == watched) assert (out == word);
      end
      cover (!in_ready && left == 4'd3);
      cover (held == 0 && left == 4'(2 ** LOG2_DEPTH + 2));
    end
  end

endmodule

`default_nettype wire
