// The instrument with a cable from each port to the other. For tests only.
`default_nettype none

module instrument_loop (
    input  wire             clk,
    input  wire             rst,
    input  wire             time_clk,
    input  wire             time_rst,
    input  wire  [7:0]      link_in,
    input  wire             link_in_valid,
    output logic            link_in_ready,
    output logic [7:0]      link_out,
    output logic            link_out_valid,
    output logic [1:0][7:0] txd,
    output logic [1:0]      tx_en,
    output logic [1:0]      tx_er
);

  logic [1:0][7:0] rxd;
  logic [1:0] rx_dv, rx_er;

  always_ff @(posedge clk) begin
    rxd   <= {txd[0], txd[1]};
    rx_dv <= {tx_en[0], tx_en[1]};
    rx_er <= {tx_er[0], tx_er[1]};
  end

  instrument tested (
      .clk,
      .rst,
      .time_clk,
      .time_rst,
      .gmii_txd          (txd),
      .gmii_tx_en        (tx_en),
      .gmii_tx_er        (tx_er),
      .gmii_tx_half      (),
      .gmii_tx_strobe    (),
      .rx_clk            ({clk, clk}),
      .gmii_rxd          (rxd),
      .gmii_rx_dv        (rx_dv),
      .gmii_rx_er        (rx_er),
      .link_up           ('1),
      .link_speed        ({2'd2, 2'd2}),
      .full_duplex       ('1),
      .speed             (),
      .rx_taps           (),
      .tx_taps           (),
      .tx_clock_taps     (),
      .mdio_chosen       (),
      .mdc               (),
      .mdio_out          (),
      .mdio_drive        (),
      .mdio_in           ('1),
      .pps               ('0),
      .ten_mhz           ('0),
      .memory_initialised('1),
      .memory_valid      (),
      .memory_ready      ('1),
      .memory_write      (),
      .memory_address    (),
      .memory_word       (),
      .memory_read_valid ('0),
      .memory_read_word  ('0),
      .link_in,
      .link_in_valid,
      .link_in_ready,
      .link_out,
      .link_out_valid,
      .link_out_ready    ('1)
  );

endmodule

`default_nettype wire
