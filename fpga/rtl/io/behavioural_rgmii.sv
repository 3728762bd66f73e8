// What ecp5_rgmii does, without a cell of the ECP5: for simulation only, with the same ports.
`default_nettype none

module behavioural_rgmii (
    input  wire        clk,
    input  wire        rst,
    input  wire  [5:0] tx_rise,
    input  wire  [5:0] tx_fall,
    output wire        rx_clk,
    output logic [4:0] rx_rise,
    output logic [4:0] rx_fall,
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

  wire [4:0] rx_pins = {pin_rx_ctl, pin_rxd};
  wire [4:0] rx_delayed;
  wire [5:0] tx_pins;
  wire [2:0] load_n, move, direction;  // rx, tx data, tx clock
  logic [5:0] rise, fall;
  logic [4:0] sampled_rise, sampled_fall;

  assign rx_clk = pin_rx_clk;
  assign {pin_tx_clk, pin_tx_ctl, pin_txd} = tx_pins;

  delay_line rx_line (
      .clk,
      .rst,
      .wanted   (rx_taps),
      .load_n   (load_n[0]),
      .move     (move[0]),
      .direction(direction[0])
  );

  delay_line tx_line (
      .clk,
      .rst,
      .wanted   (tx_taps),
      .load_n   (load_n[1]),
      .move     (move[1]),
      .direction(direction[1])
  );

  delay_line tx_clock_line (
      .clk,
      .rst,
      .wanted   (tx_clock_taps),
      .load_n   (load_n[2]),
      .move     (move[2]),
      .direction(direction[2])
  );

  always_ff @(posedge clk) begin
    rise <= tx_rise;
    fall <= tx_fall;
  end

  always_ff @(posedge pin_rx_clk) begin
    sampled_rise <= rx_delayed;
    rx_rise      <= sampled_rise;
    rx_fall      <= sampled_fall;
  end

  always_ff @(negedge pin_rx_clk) sampled_fall <= rx_delayed;

  for (genvar i = 0; i < 5; i++) begin : g_rx
    behavioural_delay delay (
        .load_n   (load_n[0]),
        .move     (move[0]),
        .direction(direction[0]),
        .a        (rx_pins[i]),
        .z        (rx_delayed[i])
    );
  end

  for (genvar i = 0; i < 6; i++) begin : g_tx
    behavioural_delay delay (
        .load_n   (load_n[1+i/5]),
        .move     (move[1+i/5]),
        .direction(direction[1+i/5]),
        .a        (clk ? rise[i] : fall[i]),
        .z        (tx_pins[i])
    );
  end

endmodule

`default_nettype wire
