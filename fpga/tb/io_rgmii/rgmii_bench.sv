// A port at its pins: rgmii_port with the model of the ECP5's cells. For tests only.
`default_nettype none

module rgmii_bench (
    input  wire        clk,
    input  wire        rst,
    input  wire  [1:0] speed,
    input  wire        tx_strobe,
    input  wire  [7:0] txd,
    input  wire        tx_en,
    input  wire        tx_er,
    input  wire        tx_half,
    output wire        rx_clk,
    output logic [7:0] rxd,
    output logic       rx_dv,
    output logic       rx_er,
    output logic       link_up,
    output logic [1:0] link_speed,
    output logic       full_duplex,
    input  wire  [6:0] rx_taps,
    input  wire  [6:0] tx_taps,
    input  wire  [6:0] tx_clock_taps,
    input  wire        pin_rx_clk,
    input  wire        pin_rx_ctl,
    input  wire  [3:0] pin_rxd,
    output wire        pin_tx_clk,
    output wire        pin_tx_ctl,
    output wire  [3:0] pin_txd
);

  wire [5:0] tx_rise, tx_fall;
  wire [4:0] rx_rise, rx_fall;

  rgmii_port port (.*);
  behavioural_rgmii pins (.*);

endmodule

`default_nettype wire
