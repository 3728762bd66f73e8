// The instrument's memory in an SDRAM: takes requests in clk, hands them to LiteDRAM's controller (soc/sdram.py) at
// half the frequency, and brings back what was read. Never changes their order and never says `ready` before the chip
// is initialised.
`default_nettype none

module sdram (
    input wire clk,
    input wire rst,
    input wire sdram_clk,
    input wire sdram_rst,

    input  wire         valid,
    output wire         ready,
    input  wire         write,
    input  wire  [20:0] address,     // of words
    input  wire  [31:0] word,
    output logic [31:0] read_word,
    output logic        read_valid,
    output wire         initialised,

    // The chip's pins, in sdram_clk, before and after the registers beside the pins.
    output wire [10:0] chip_address,
    output wire [ 1:0] chip_bank,
    output wire        chip_ras_n,
    output wire        chip_cas_n,
    output wire        chip_we_n,
    output wire [31:0] chip_data_out,
    output wire        chip_drive,
    input  wire [31:0] chip_data_in
);

  wire there, ready_there, write_there, taken;
  wire [20:0] address_there;
  wire [31:0] data_there;

  async_fifo #(
      .WIDTH(54),
      .LOG2_DEPTH(4)
  ) requests (
      .in_clk   (clk),
      .in_rst   (rst),
      .in       ({write, address, word}),
      .in_valid (valid),
      .in_ready (ready),
      .out_clk  (sdram_clk),
      .out_rst  (sdram_rst),
      .out      ({write_there, address_there, data_there}),
      .out_valid(there),
      .out_ready(taken)
  );

  // LiteDRAM takes a write's word some clocks after its command: both leave the queue together.
  wire room, write_valid, write_ready;
  wire [31:0] write_data;

  assign taken = there && ready_there && (room || !write_there);

  sync_fifo #(
      .WIDTH(32),
      .LOG2_DEPTH(4)
  ) writes (
      .clk      (sdram_clk),
      .rst      (sdram_rst),
      .in       (data_there),
      .in_valid (taken && write_there),
      .in_ready (room),
      .out      (write_data),
      .out_valid(write_valid),
      .out_ready(write_ready)
  );

  wire [31:0] read_data;
  wire read_data_valid, initialised_there;

  sdram_controller controller (
      .sys_clk        (sdram_clk),
      .sys_rst        (sdram_rst),
      .command_valid  (there && (room || !write_there)),
      .command_ready  (ready_there),
      .command_write  (write_there),
      .command_address(address_there),
      .write_data     (write_data),
      .write_valid    (write_valid),
      .write_ready    (write_ready),
      .read_data      (read_data),
      .read_valid     (read_data_valid),
      .initialised    (initialised_there),
      .address        (chip_address),
      .bank           (chip_bank),
      .ras_n          (chip_ras_n),
      .cas_n          (chip_cas_n),
      .we_n           (chip_we_n),
      .data_out       (chip_data_out),
      .data_drive     (chip_drive),
      .data_in        (chip_data_in)
  );

  sync_bit sync_initialised (
      .clk,
      .from(initialised_there),
      .to  (initialised)
  );

  // Emptied at twice the speed at which it can be filled: its room need not be asked for.
  wire [31:0] answer;
  wire answer_valid;

  async_fifo #(
      .WIDTH(32),
      .LOG2_DEPTH(4)
  ) answers (
      .in_clk   (sdram_clk),
      .in_rst   (sdram_rst),
      .in       (read_data),
      .in_valid (read_data_valid),
      .in_ready (),
      .out_clk  (clk),
      .out_rst  (rst),
      .out      (answer),
      .out_valid(answer_valid),
      .out_ready(1'b1)
  );

  always_ff @(posedge clk) begin
    read_word  <= answer;
    read_valid <= answer_valid && !rst;
  end

endmodule

`default_nettype wire
