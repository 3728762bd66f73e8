// A block RAM that the host writes and a generator reads, with a register after it: two enabled clocks from address
// to word. Never read a word while it is written: which one comes out is not defined.
`default_nettype none

module table_ram #(
    parameter int WIDTH = 32,
    parameter int LOG2_DEPTH = 8
) (
    input  wire                   clk,
    input  wire                   write,
    input  wire  [LOG2_DEPTH-1:0] write_address,
    input  wire  [     WIDTH-1:0] write_word,
    input  wire                   enable,
    input  wire  [LOG2_DEPTH-1:0] address,
    output logic [     WIDTH-1:0] word
);

  (* ram_style = "block", no_rw_check *)logic [WIDTH-1:0] memory  [2**LOG2_DEPTH];
  logic [WIDTH-1:0] fetched;

  always_ff @(posedge clk) begin
    if (write) memory[write_address] <= write_word;
  end

  always_ff @(posedge clk) begin
    if (enable) begin
      fetched <= memory[address];
      word    <= fetched;
    end
  end

endmodule

`default_nettype wire
