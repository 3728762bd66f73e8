// The instrument's memory in block RAM, for boards without an SDRAM that we can drive. Ready at once; a word that is
// read comes three clocks after it was asked for.
`default_nettype none

module block_memory #(
    parameter int WORD_BITS = 14
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  valid,
    output wire                  ready,
    input  wire                  write,
    input  wire  [WORD_BITS-1:0] address,
    input  wire  [         31:0] word,
    output logic [         31:0] read_word,
    output logic                 read_valid,
    output wire                  initialised
);

  (* ram_style = "block", no_rw_check *) logic [31:0] memory[2**WORD_BITS];
  logic [31:0] raw, held_word;
  logic [WORD_BITS-1:0] held_address;
  logic reading, raw_valid, writing;

  assign ready = 1'b1;
  assign initialised = 1'b1;

  always_ff @(posedge clk) begin
    held_address <= address;
    held_word    <= word;
    writing      <= valid && write && !rst;
    reading      <= valid && !write && !rst;
    if (writing) memory[held_address] <= held_word;
    raw        <= memory[held_address];
    raw_valid  <= reading && !rst;
    read_word  <= raw;
    read_valid <= raw_valid && !rst;
  end

endmodule

`default_nettype wire
