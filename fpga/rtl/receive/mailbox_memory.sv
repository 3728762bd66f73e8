// The block RAM between the receiver's clock and the host's: written by one, read by the other. Keeps no order between
// them; a slot is handed over through an async_fifo before it is read.
`default_nettype none

module mailbox_memory #(
    parameter int LOG2_WORDS = 11
) (
    input  wire                   write_clk,
    input  wire                   write,
    input  wire  [LOG2_WORDS-1:0] write_word,
    input  wire  [          31:0] write_data,
    input  wire                   read_clk,
    input  wire  [LOG2_WORDS-1:0] read_word,
    output logic [          31:0] read_data    // two clocks after read_word
);

  (* ram_style = "block", no_rw_check *)logic [31:0] memory[2**LOG2_WORDS];
  logic [31:0] read;

  always_ff @(posedge write_clk) begin
    if (write) memory[write_word] <= write_data;
  end

  always_ff @(posedge read_clk) begin
    read      <= memory[read_word];
    read_data <= read;
  end

endmodule

`default_nettype wire
