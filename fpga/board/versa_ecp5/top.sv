// The instrument on a Lattice ECP5-5G Versa. Its memory is block RAM: the board's DDR3 is not used. The PHYs run from
// crystals of their own; their resets are held inactive and never anything else.
`default_nettype none

module top #(
    parameter logic [31:0] BUILD = '0
) (
    input  wire       clk100,
    input  wire       uart_rx,
    output wire       uart_tx,
    input  wire [1:0] rgmii_rx_clk,
    input  wire [1:0] rgmii_rx_ctl,
    input  wire [7:0] rgmii_rxd,
    output wire [1:0] rgmii_tx_clk,
    output wire [1:0] rgmii_tx_ctl,
    output wire [7:0] rgmii_txd,
    output wire [1:0] phy_reset_n,
    output wire [1:0] mdc_of,
    inout  wire [1:0] mdio_of
);

  localparam int WordBits = 14;  // 64 KiB

  wire clk, rst, time_clk, time_rst;

  assign phy_reset_n = '1;

  ecp5_clocks #(
      .INPUT_DIV     (4),
      .TIME_INPUT_DIV(32)
  ) clocks (
      .input_clk        (clk100),
      .clk,
      .sdram_clk        (),
      .shifted_sdram_clk(),
      .time_clk,
      .rst,
      .time_rst,
      .sdram_rst        ()
  );

  wire [1:0][7:0] gmii_txd, gmii_rxd;
  wire [1:0] gmii_tx_en, gmii_tx_er, gmii_tx_half, gmii_tx_strobe, rx_clk, rx_rst, gmii_rx_dv, gmii_rx_er;
  wire [1:0] link_up, full_duplex;
  wire [1:0][1:0] link_speed, speed;
  wire [1:0][6:0] rx_taps, tx_taps, tx_clock_taps;
  wire [7:0] link_in, link_out;
  wire link_in_valid, link_in_ready, link_out_valid, link_out_ready;
  wire mdio_chosen, mdc, mdio_out, mdio_drive, mdio_in;
  wire [1:0] mdio_ins;
  wire memory_initialised, memory_valid, memory_ready, memory_write, memory_read_valid;
  wire [WordBits-1:0] memory_address;
  wire [31:0] memory_word, memory_read_word;

  ecp5_ports ports (
      .pin_rx_clk (rgmii_rx_clk),
      .pin_rx_ctl (rgmii_rx_ctl),
      .pin_rxd    (rgmii_rxd),
      .pin_tx_clk (rgmii_tx_clk),
      .pin_tx_ctl (rgmii_tx_ctl),
      .pin_txd    (rgmii_txd),
      .pin_uart_rx(uart_rx),
      .pin_uart_tx(uart_tx),
      .*
  );

  instrument #(
      .BUILD    (BUILD),
      .WORD_BITS(WordBits)
  ) instrument (
      .pps    (1'b0),
      .ten_mhz(1'b0),
      .*
  );

  // Each PHY has pins of its own, the same clock, and hears only what is meant for its port.
  assign mdc_of  = {2{mdc}};
  assign mdio_in = mdio_ins[mdio_chosen];

  for (genvar p = 0; p < 2; p++) begin : g_mdio
    ecp5_pad pad (
        .pin  (mdio_of[p]),
        .out  (mdio_out),
        .drive(mdio_drive && mdio_chosen == 1'(p)),
        .in   (mdio_ins[p])
    );
  end

  block_memory #(
      .WORD_BITS(WordBits)
  ) memory (
      .clk,
      .rst,
      .valid      (memory_valid),
      .ready      (memory_ready),
      .write      (memory_write),
      .address    (memory_address),
      .word       (memory_word),
      .read_word  (memory_read_word),
      .read_valid (memory_read_valid),
      .initialised(memory_initialised)
  );

endmodule

`default_nettype wire
