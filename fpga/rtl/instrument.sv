// The instrument without anything of a vendor or a board: two ports on GMII, the host's link as bytes, a narrow port to
// the memory. Clocks and resets come from outside, and the pins' timing is the boards' business (rtl/io). It only joins
// blocks: no logic of its own.
`default_nettype none

module instrument
  import instrument_pkg::*;
#(
    parameter logic [31:0] BUILD = '0  // as the host reads it
) (
    input wire clk,       // 125 MHz
    input wire rst,
    input wire time_clk,  // 128.125 MHz, from the same crystal
    input wire time_rst,

    // GMII of each port. Sent bytes last from one strobe to the next; received ones are in rx_clk.
    output logic [1:0][7:0] gmii_txd,
    output logic [1:0]      gmii_tx_en,
    output logic [1:0]      gmii_tx_er,
    output logic [1:0]      gmii_tx_strobe,
    input  wire  [1:0]      rx_clk,
    input  wire  [1:0]      rx_rst,
    input  wire  [1:0][7:0] gmii_rxd,
    input  wire  [1:0]      gmii_rx_dv,
    input  wire  [1:0]      gmii_rx_er,

    // PHYs: what they say between frames, the speed to run at, delays of the pins, MDIO.
    input  wire  [1:0]      link_up,
    input  wire  [1:0][1:0] link_speed,
    input  wire  [1:0]      full_duplex,
    output logic [1:0][1:0] speed,          // 0: 10, 1: 100, 2: 1000 Mb/s
    output logic [1:0][6:0] rx_taps,
    output logic [1:0][6:0] tx_taps,
    output logic [1:0][6:0] tx_clock_taps,
    output logic            mdio_chosen,    // the port served, for boards with pins of their own for each PHY
    output logic            mdc,
    output logic            mdio_out,
    output logic            mdio_drive,
    input  wire             mdio_in,

    // Reference of the time base, asynchronous.
    input wire pps,
    input wire ten_mhz,

    // The host's bytes.
    input  wire  [7:0] link_in,
    input  wire        link_in_valid,
    output logic       link_in_ready,
    output logic [7:0] link_out,
    output logic       link_out_valid,
    input  wire        link_out_ready
);

endmodule

`default_nettype wire
