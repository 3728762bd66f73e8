// The instrument on a Colorlight 5A-75B v8.0 or v8.2. Never touches R6, the reset of both PHYs: PHY 1 makes the clock.
`default_nettype none

module top #(
    parameter logic [31:0] BUILD = '0
) (
    input  wire        clk25,
    input  wire        key,           // KEY+ of J19: the host's serial line, or a reference of 1 Hz or 10 MHz
    output wire        led_n,         // DATA_LED- of J19: the serial line to the host
    input  wire [ 1:0] rgmii_rx_clk,
    input  wire [ 1:0] rgmii_rx_ctl,
    input  wire [ 7:0] rgmii_rxd,
    output wire [ 1:0] rgmii_tx_clk,
    output wire [ 1:0] rgmii_tx_ctl,
    output wire [ 7:0] rgmii_txd,
    output wire        mdc,
    inout  wire        mdio,
    output wire        sdram_clk,
    output wire [10:0] sdram_a,
    output wire [ 1:0] sdram_ba,
    output wire        sdram_ras_n,
    output wire        sdram_cas_n,
    output wire        sdram_we_n,
    inout  wire [31:0] sdram_dq
);

  wire clk, rst, time_clk, time_rst, half_clk, shifted_half_clk, half_rst;

  ecp5_clocks clocks (
      .input_clk        (clk25),
      .clk,
      .sdram_clk        (half_clk),
      .shifted_sdram_clk(shifted_half_clk),
      .time_clk,
      .rst,
      .time_rst,
      .sdram_rst        (half_rst)
  );

  wire [1:0][7:0] gmii_txd, gmii_rxd;
  wire [1:0] gmii_tx_en, gmii_tx_er, gmii_tx_half, gmii_tx_strobe, rx_clk, rx_rst, gmii_rx_dv, gmii_rx_er;
  wire [1:0] link_up, full_duplex;
  wire [1:0][1:0] link_speed, speed;
  wire [1:0][6:0] rx_taps, tx_taps, tx_clock_taps;
  wire [7:0] link_in, link_out;
  wire link_in_valid, link_in_ready, link_out_valid, link_out_ready;
  wire mdio_chosen, mdio_out, mdio_drive, mdio_in;
  wire memory_initialised, memory_valid, memory_ready, memory_write, memory_read_valid;
  wire [20:0] memory_address;
  wire [31:0] memory_word, memory_read_word;

  ecp5_ports ports (
      .pin_rx_clk (rgmii_rx_clk),
      .pin_rx_ctl (rgmii_rx_ctl),
      .pin_rxd    (rgmii_rxd),
      .pin_tx_clk (rgmii_tx_clk),
      .pin_tx_ctl (rgmii_tx_ctl),
      .pin_txd    (rgmii_txd),
      .pin_uart_rx(key),
      .pin_uart_tx(led_n),
      .*
  );

  instrument #(
      .BUILD(BUILD)
  ) instrument (
      .pps    (key),
      .ten_mhz(key),
      .*
  );

  ecp5_pad mdio_pad (
      .pin  (mdio),
      .out  (mdio_out),
      .drive(mdio_drive),
      .in   (mdio_in)
  );

  wire [10:0] chip_address;
  wire [ 1:0] chip_bank;
  wire chip_ras_n, chip_cas_n, chip_we_n, chip_drive;
  wire [31:0] chip_data_out, chip_data_in;

  sdram memory (
      .clk,
      .rst,
      .sdram_clk  (half_clk),
      .sdram_rst  (half_rst),
      .valid      (memory_valid),
      .ready      (memory_ready),
      .write      (memory_write),
      .address    (memory_address),
      .word       (memory_word),
      .read_word  (memory_read_word),
      .read_valid (memory_read_valid),
      .initialised(memory_initialised),
      .*
  );

  ecp5_sdram memory_pins (
      .sdram_clk  (half_clk),
      .shifted_clk(shifted_half_clk),
      .pin_clk    (sdram_clk),
      .pin_a      (sdram_a),
      .pin_ba     (sdram_ba),
      .pin_ras_n  (sdram_ras_n),
      .pin_cas_n  (sdram_cas_n),
      .pin_we_n   (sdram_we_n),
      .pin_dq     (sdram_dq),
      .*
  );

endmodule

`default_nettype wire
