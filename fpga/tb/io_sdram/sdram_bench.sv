// The memory with LiteDRAM's controller and a model of the chip. For tests only.
`default_nettype none

module sdram_bench (
    input  wire         clk,
    input  wire         rst,
    input  wire         sdram_clk,
    input  wire         sdram_rst,
    input  wire         valid,
    output wire         ready,
    input  wire         write,
    input  wire  [20:0] address,
    input  wire  [31:0] word,
    output logic [31:0] read_word,
    output logic        read_valid,
    output wire         initialised,
    output logic [31:0] faults,
    output logic [31:0] refreshes
);

  wire [10:0] chip_address;
  wire [ 1:0] chip_bank;
  wire chip_ras_n, chip_cas_n, chip_we_n, chip_drive;
  wire [31:0] chip_data_out, chip_data_in;

  sdram memory (.*);

  behavioural_sdram chip (
      .shifted_clk(!sdram_clk),
      .*
  );

endmodule

`default_nettype wire
