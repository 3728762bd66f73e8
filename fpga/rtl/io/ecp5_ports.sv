// All that two RGMII ports, the host's JTAG and its serial line need around the instrument on an ECP5. Boards differ in
// what is outside of it: crystals, pins, memories. Never drives a PHY's reset.
`default_nettype none

module ecp5_ports (
    input wire clk,
    input wire rst,

    // The instrument
    input  wire  [1:0][7:0] gmii_txd,
    input  wire  [1:0]      gmii_tx_en,
    input  wire  [1:0]      gmii_tx_er,
    input  wire  [1:0]      gmii_tx_half,
    input  wire  [1:0]      gmii_tx_strobe,
    output wire  [1:0]      rx_clk,
    output logic [1:0]      rx_rst,
    output logic [1:0][7:0] gmii_rxd,
    output logic [1:0]      gmii_rx_dv,
    output logic [1:0]      gmii_rx_er,
    output logic [1:0]      link_up,
    output logic [1:0][1:0] link_speed,
    output logic [1:0]      full_duplex,
    input  wire  [1:0][1:0] speed,
    input  wire  [1:0][6:0] rx_taps,
    input  wire  [1:0][6:0] tx_taps,
    input  wire  [1:0][6:0] tx_clock_taps,
    output logic [7:0]      link_in,
    output logic            link_in_valid,
    input  wire             link_in_ready,
    input  wire  [7:0]      link_out,
    input  wire             link_out_valid,
    output logic            link_out_ready,

    // The pins
    input  wire [1:0]      pin_rx_clk,
    input  wire [1:0]      pin_rx_ctl,
    input  wire [1:0][3:0] pin_rxd,
    output wire [1:0]      pin_tx_clk,
    output wire [1:0]      pin_tx_ctl,
    output wire [1:0][3:0] pin_txd,
    input  wire            pin_uart_rx,
    output wire            pin_uart_tx
);

  for (genvar p = 0; p < 2; p++) begin : g_port
    wire [5:0] tx_rise, tx_fall;
    wire [4:0] rx_rise, rx_fall;

    sync_bit sync_rx_rst (
        .clk (rx_clk[p]),
        .from(rst),
        .to  (rx_rst[p])
    );

    rgmii_port port (
        .clk,
        .rst,
        .speed      (speed[p]),
        .tx_strobe  (gmii_tx_strobe[p]),
        .txd        (gmii_txd[p]),
        .tx_en      (gmii_tx_en[p]),
        .tx_er      (gmii_tx_er[p]),
        .tx_half    (gmii_tx_half[p]),
        .rx_clk     (rx_clk[p]),
        .rxd        (gmii_rxd[p]),
        .rx_dv      (gmii_rx_dv[p]),
        .rx_er      (gmii_rx_er[p]),
        .link_up    (link_up[p]),
        .link_speed (link_speed[p]),
        .full_duplex(full_duplex[p]),
        .tx_rise,
        .tx_fall,
        .rx_rise,
        .rx_fall
    );

    ecp5_rgmii pins (
        .clk,
        .rst,
        .tx_rise,
        .tx_fall,
        .rx_clk       (rx_clk[p]),
        .rx_rise,
        .rx_fall,
        .rx_taps      (rx_taps[p]),
        .tx_taps      (tx_taps[p]),
        .tx_clock_taps(tx_clock_taps[p]),
        .pin_rx_clk   (pin_rx_clk[p]),
        .pin_rx_ctl   (pin_rx_ctl[p]),
        .pin_rxd      (pin_rxd[p]),
        .pin_tx_clk   (pin_tx_clk[p]),
        .pin_tx_ctl   (pin_tx_ctl[p]),
        .pin_txd      (pin_txd[p])
    );
  end

  // The host by JTAG (0) or by the serial line (1).
  wire [1:0][7:0] from_host, to_host;
  wire [1:0] from_host_valid, from_host_ready, to_host_valid, to_host_ready;
  (* keep *) wire jtck;
  wire tck_rst, selected, shift, tdi, tdo;

  ecp5_jtag jtag (
      .tck(jtck),
      .tck_rst,
      .selected,
      .shift,
      .tdi,
      .tdo
  );

  jtag_user jtag_bytes (
      .tck           (jtck),
      .tck_rst,
      .selected,
      .shift,
      .tdi,
      .tdo,
      .clk,
      .rst,
      .received      (from_host[0]),
      .received_valid(from_host_valid[0]),
      .received_ready(from_host_ready[0]),
      .send          (to_host[0]),
      .send_valid    (to_host_valid[0]),
      .send_ready    (to_host_ready[0])
  );

  uart serial (
      .clk,
      .rst,
      .rx            (pin_uart_rx),
      .tx            (pin_uart_tx),
      .received      (from_host[1]),
      .received_valid(from_host_valid[1]),
      .received_ready(from_host_ready[1]),
      .send          (to_host[1]),
      .send_valid    (to_host_valid[1]),
      .send_ready    (to_host_ready[1])
  );

  link_choice choice (
      .clk,
      .rst,
      .in       (from_host),
      .in_valid (from_host_valid),
      .in_ready (from_host_ready),
      .out      (to_host),
      .out_valid(to_host_valid),
      .out_ready(to_host_ready),
      .link_in,
      .link_in_valid,
      .link_in_ready,
      .link_out,
      .link_out_valid,
      .link_out_ready
  );

endmodule

`default_nettype wire
