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
  logic [LOG2_DEPTH-1:0] written, taken;
  logic [LOG2_DEPTH:0] held;
  logic full, put, take;

  assign in_ready = !full;
  assign put = in_valid && in_ready;
  assign take = out_valid && out_ready;
  assign out = memory[taken];

  // The flags are flip-flops, because both neighbours decide by them.
  always_ff @(posedge clk) begin
    if (put) memory[written] <= in;
    if (rst) begin
      written   <= '0;
      taken     <= '0;
      held      <= '0;
      full      <= '0;
      out_valid <= '0;
    end else begin
      if (put) written <= written + 1'b1;
      if (take) taken <= taken + 1'b1;
      if (put && !take) held <= held + 1'b1;
      if (take && !put) held <= held - 1'b1;
      if (put != take) begin
        full      <= put && held == (LOG2_DEPTH + 1)'(2 ** LOG2_DEPTH - 1);
        out_valid <= put || held != (LOG2_DEPTH + 1)'(1);
      end
    end
  end

`ifdef FORMAL
  // By induction: what was written at any one place is there until it has been taken from there.
  logic [LOG2_DEPTH-1:0] place, ahead;
  logic holds;
  logic [WIDTH-1:0] word;

  assign ahead = place - taken;

  always_ff @(posedge clk) begin
    place <= place;
    if (rst) holds <= '0;
    else if (put && written == place) holds <= '1;
    else if (take && taken == place) holds <= '0;
    if (put && written == place) word <= in;
    assert (held <= (LOG2_DEPTH + 1)'(2 ** LOG2_DEPTH));
    assert (held[LOG2_DEPTH-1:0] == LOG2_DEPTH'(written - taken));
    assert (full == (held == (LOG2_DEPTH + 1)'(2 ** LOG2_DEPTH)));
    assert (out_valid == (held != '0));
    assert (holds == ({1'b0, ahead} < held));
    if (holds) assert (memory[place] == word);
    if (out_valid && taken == place) assert (out == word);
  end
`endif

endmodule

`default_nettype wire
