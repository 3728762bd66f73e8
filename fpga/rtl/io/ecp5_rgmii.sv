// The RGMII pins of one port on an ECP5: DDR registers and delay elements that the host sets while the link runs.
// Never drives the PHY's reset: on these boards the PHY makes the clock that we run from.
`default_nettype none

module ecp5_rgmii (
    input  wire       clk,
    input  wire       rst,
    input  wire [5:0] tx_rise,        // {clock, control, data}
    input  wire [5:0] tx_fall,
    output wire       rx_clk,
    output wire [4:0] rx_rise,        // {control, data}, in rx_clk
    output wire [4:0] rx_fall,
    input  wire [6:0] rx_taps,        // of about 25 ps, on control and data
    input  wire [6:0] tx_taps,        // on control and data
    input  wire [6:0] tx_clock_taps,
    input  wire       pin_rx_clk,
    input  wire       pin_rx_ctl,
    input  wire [3:0] pin_rxd,
    output wire       pin_tx_clk,
    output wire       pin_tx_ctl,
    output wire [3:0] pin_txd
);

  // DEL_VALUE must be an integer: anything else is silently something else.
  localparam int FirstTaps = 0;

  wire [4:0] rx_pins = {pin_rx_ctl, pin_rxd};
  wire [5:0] tx_pins;
  wire rx_load_n, rx_move, rx_direction;
  wire [1:0] tx_load_n, tx_move, tx_direction;  // data, clock

  assign rx_clk = pin_rx_clk;
  assign {pin_tx_clk, pin_tx_ctl, pin_txd} = tx_pins;

  delay_line rx_line (
      .clk,
      .rst,
      .wanted   (rx_taps),
      .load_n   (rx_load_n),
      .move     (rx_move),
      .direction(rx_direction)
  );

  delay_line tx_line (
      .clk,
      .rst,
      .wanted   (tx_taps),
      .load_n   (tx_load_n[0]),
      .move     (tx_move[0]),
      .direction(tx_direction[0])
  );

  delay_line tx_clock_line (
      .clk,
      .rst,
      .wanted   (tx_clock_taps),
      .load_n   (tx_load_n[1]),
      .move     (tx_move[1]),
      .direction(tx_direction[1])
  );

  for (genvar i = 0; i < 5; i++) begin : g_rx
    wire delayed;
    DELAYF #(
        .DEL_MODE ("USER_DEFINED"),
        .DEL_VALUE(FirstTaps)
    ) delay (
        .A        (rx_pins[i]),
        .LOADN    (rx_load_n),
        .MOVE     (rx_move),
        .DIRECTION(rx_direction),
        .Z        (delayed),
        .CFLAG    ()
    );
    IDDRX1F ddr (
        .D   (delayed),
        .SCLK(pin_rx_clk),
        .RST (1'b0),
        .Q0  (rx_rise[i]),
        .Q1  (rx_fall[i])
    );
  end

  for (genvar i = 0; i < 6; i++) begin : g_tx
    wire undelayed;
    ODDRX1F ddr (
        .D0  (tx_rise[i]),
        .D1  (tx_fall[i]),
        .SCLK(clk),
        .RST (1'b0),
        .Q   (undelayed)
    );
    DELAYF #(
        .DEL_MODE ("USER_DEFINED"),
        .DEL_VALUE(FirstTaps)
    ) delay (
        .A        (undelayed),
        .LOADN    (tx_load_n[i/5]),
        .MOVE     (tx_move[i/5]),
        .DIRECTION(tx_direction[i/5]),
        .Z        (tx_pins[i]),
        .CFLAG    ()
    );
  end

endmodule

`default_nettype wire
