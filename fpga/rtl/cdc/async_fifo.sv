// A queue from one clock's domain into another's: gray-coded pointers, of which one bit changes at a time.
// First word shown at once. Writing when full and reading when empty do nothing. Both resets must overlap.
`default_nettype none

module async_fifo #(
    parameter int WIDTH = 8,
    parameter int LOG2_DEPTH = 4
) (
    input  wire              in_clk,
    input  wire              in_rst,
    input  wire  [WIDTH-1:0] in,
    input  wire              in_valid,
    output logic             in_ready,
    input  wire              out_clk,
    input  wire              out_rst,
    output logic [WIDTH-1:0] out,
    output logic             out_valid,
    input  wire              out_ready
);

  typedef logic [LOG2_DEPTH:0] pointer_t;

  (* ram_style = "distributed" *) logic [WIDTH-1:0] memory[2**LOG2_DEPTH];
  pointer_t written, written_gray, written_gray_there;
  pointer_t taken, taken_gray, taken_gray_there;

  function automatic pointer_t gray(input pointer_t binary);
    return binary ^ (binary >> 1);
  endfunction

  // One more, bit by bit: the carry chain that an addition becomes is slower for so few bits.
  function automatic pointer_t after(input pointer_t binary);
    logic carry;
    carry = 1'b1;
    for (int i = 0; i <= LOG2_DEPTH; i++) begin
      after[i] = binary[i] ^ carry;
      carry &= binary[i];
    end
  endfunction

  // Full: as many written as the memory holds, that is equal but for the two highest bits of the gray code. Both sides
  // see from a flip-flop whether they may go on, so what the other did shows a clock later.
  pointer_t limit_gray;
  logic is_full, will_be_full, is_there, will_be_there;
  assign limit_gray    = taken_gray_there ^ (pointer_t'(3) << (LOG2_DEPTH - 1));
  assign is_full       = written_gray == limit_gray;
  assign will_be_full  = gray(after(written)) == limit_gray;
  assign is_there      = taken_gray != written_gray_there;
  assign will_be_there = gray(after(taken)) != written_gray_there;
  assign out           = memory[taken[LOG2_DEPTH-1:0]];

  always_ff @(posedge in_clk) begin
    if (in_valid && in_ready) memory[written[LOG2_DEPTH-1:0]] <= in;
    in_ready <= !in_rst && !(in_valid && in_ready ? will_be_full : is_full);
    if (in_rst) begin
      written      <= '0;
      written_gray <= '0;
    end else if (in_valid && in_ready) begin
      written      <= after(written);
      written_gray <= gray(after(written));
    end
  end

  always_ff @(posedge out_clk) begin
    out_valid <= !out_rst && (out_valid && out_ready ? will_be_there : is_there);
    if (out_rst) begin
      taken      <= '0;
      taken_gray <= '0;
    end else if (out_valid && out_ready) begin
      taken      <= after(taken);
      taken_gray <= gray(after(taken));
    end
  end

  for (genvar i = 0; i <= LOG2_DEPTH; i++) begin : g_pointer
    sync_bit sync_written (
        .clk (out_clk),
        .from(written_gray[i]),
        .to  (written_gray_there[i])
    );
    sync_bit sync_taken (
        .clk (in_clk),
        .from(taken_gray[i]),
        .to  (taken_gray_there[i])
    );
  end

`ifdef FORMAL
  // By induction: a pointer that crosses changes in one bit at most from clock to clock, but for a reset.
  pointer_t written_gray_before, taken_gray_before;
  logic written_follows, taken_follows;

  always_ff @(posedge in_clk) begin
    written_gray_before <= written_gray;
    written_follows <= !in_rst;
  end

  always_ff @(posedge out_clk) begin
    taken_gray_before <= taken_gray;
    taken_follows <= !out_rst;
  end

  always_comb begin
    assert (written_gray == gray(written));
    assert (taken_gray == gray(taken));
    if (written_follows) begin
      assert (written_gray_before == gray(written) || written_gray_before == gray(written - 1'b1));
      assert ($onehot0(written_gray ^ written_gray_before));
    end
    if (taken_follows) begin
      assert (taken_gray_before == gray(taken) || taken_gray_before == gray(taken - 1'b1));
      assert ($onehot0(taken_gray ^ taken_gray_before));
    end
  end
`endif

endmodule

`default_nettype wire
