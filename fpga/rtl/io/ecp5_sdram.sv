// The SDRAM's pins on an ECP5. The chip's clock is half a period late: commands stand still for 8 ns on either side of
// its edge, and what the chip answers 6 ns after an edge is taken 16 ns after it. Never delays a pin.
`default_nettype none

module ecp5_sdram (
    input  wire         sdram_clk,
    input  wire         shifted_clk,    // sdram_clk, half a period later
    input  wire  [10:0] chip_address,
    input  wire  [ 1:0] chip_bank,
    input  wire         chip_ras_n,
    input  wire         chip_cas_n,
    input  wire         chip_we_n,
    input  wire  [31:0] chip_data_out,
    input  wire         chip_drive,
    output logic [31:0] chip_data_in,
    output wire         pin_clk,
    output wire  [10:0] pin_a,
    output wire  [ 1:0] pin_ba,
    output wire         pin_ras_n,
    output wire         pin_cas_n,
    output wire         pin_we_n,
    inout  wire  [31:0] pin_dq
);

  wire  [15:0] commands = {chip_address, chip_bank, chip_ras_n, chip_cas_n, chip_we_n};
  wire  [15:0] command_pins;
  logic [31:0] sampled;

  assign {pin_a, pin_ba, pin_ras_n, pin_cas_n, pin_we_n} = command_pins;

  ODDRX1F clock (
      .D0  (1'b1),
      .D1  (1'b0),
      .SCLK(shifted_clk),
      .RST (1'b0),
      .Q   (pin_clk)
  );

  for (genvar i = 0; i < 16; i++) begin : g_command
    OFS1P3DX out (
        .CD  (1'b0),
        .D   (commands[i]),
        .SP  (1'b1),
        .SCLK(sdram_clk),
        .Q   (command_pins[i])
    );
  end

  always_ff @(posedge sdram_clk) chip_data_in <= sampled;

  for (genvar i = 0; i < 32; i++) begin : g_data
    wire out_bit, released, in_bit;
    OFS1P3DX out (
        .CD  (1'b0),
        .D   (chip_data_out[i]),
        .SP  (1'b1),
        .SCLK(sdram_clk),
        .Q   (out_bit)
    );
    OFS1P3DX drive (
        .CD  (1'b0),
        .D   (!chip_drive),
        .SP  (1'b1),
        .SCLK(sdram_clk),
        .Q   (released)
    );
    TRELLIS_IO #(
        .DIR("BIDIR")
    ) pin (
        .B(pin_dq[i]),
        .I(out_bit),
        .T(released),
        .O(in_bit)
    );
    // Not beside the pin: there both directions have one clock.
    always_ff @(posedge shifted_clk) sampled[i] <= in_bit;
  end

endmodule

`default_nettype wire
