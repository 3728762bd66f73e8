// Between GMII and the halves of a clock that RGMII 2.0 puts on its pins, at 10, 100 and 1000 Mb/s. Holds no cell of
// any vendor: ecp5_rgmii or behavioural_rgmii carry the halves to the pins.
//
// At 10 and 100 Mb/s a byte is two nibbles, each as long as a period of the transmit clock; the receive clock is as
// slow as the PHY makes it, and both halves hold the same nibble.
`default_nettype none

module rgmii_port (
    input wire clk,
    input wire rst,

    // GMII towards the wire. A byte begins with a clock in which tx_strobe is high and lasts until the next one:
    // 1, 10 or 100 clocks at 1000, 100 or 10 Mb/s.
    input wire [1:0] speed,      // 0: 10, 1: 100, 2: 1000 Mb/s
    input wire       tx_strobe,
    input wire [7:0] txd,
    input wire       tx_en,
    input wire       tx_er,
    input wire       tx_half,    // of this byte only the lower nibble is sent (10 and 100 Mb/s)

    // GMII from the wire, in rx_clk; below 1000 Mb/s a nibble a clock in rxd[3:0].
    input  wire        rx_clk,
    output logic [7:0] rxd,
    output logic       rx_dv,
    output logic       rx_er,

    // What the PHY says between frames (RGMII 2.0 §3.4.1), in clk.
    output logic       link_up,
    output logic [1:0] link_speed,
    output logic       full_duplex,

    // The two halves of a clock: {clock, control, data}, rising half first.
    output logic [5:0] tx_rise,
    output logic [5:0] tx_fall,
    input  wire  [4:0] rx_rise,
    input  wire  [4:0] rx_fall
);

  // --- Transmit ---
  logic [7:0] octet;
  logic enabled, error, half, gigabit, second;
  logic [5:0] place;  // clocks since the nibble began
  logic       last_place;

  // The slow clock rises 8 ns (100 Mb/s) or 80 ns (10 Mb/s) into a nibble and falls half a period later, so that the
  // nibble stands still around both edges whatever the PHY adds.
  logic clock_rise, clock_fall, late;

  always_ff @(posedge clk) begin
    gigabit <= speed[1];
    if (tx_strobe) begin
      octet   <= txd;
      enabled <= tx_en;
      error   <= tx_er;
      half    <= tx_half;
    end
    if (tx_strobe || last_place) place <= '0;
    else place <= place + 1'b1;
    last_place <= !tx_strobe && (speed[0] ? place == 6'd3 : place == 6'd48);
    if (tx_strobe) second <= 1'b0;
    else if (last_place) second <= 1'b1;

    if (speed[0]) begin
      clock_rise <= place inside {[6'd0 : 6'd2]};
      clock_fall <= place inside {[6'd0 : 6'd1]};
      late       <= place inside {[6'd1 : 6'd3]};
    end else begin
      clock_rise <= place inside {[6'd9 : 6'd33]};
      clock_fall <= place inside {[6'd9 : 6'd33]};
      late       <= place inside {[6'd19 : 6'd48]};
    end
  end

  wire slow_control = (enabled && !(half && second)) ^ (error && late);

  always_ff @(posedge clk) begin
    if (gigabit) begin
      tx_rise <= {1'b1, enabled, octet[3:0]};
      tx_fall <= {1'b0, enabled ^ error, octet[7:4]};
    end else begin
      tx_rise <= {clock_rise, slow_control, second ? octet[7:4] : octet[3:0]};
      tx_fall <= {clock_fall, slow_control, second ? octet[7:4] : octet[3:0]};
    end
  end

  // --- Receive ---
  always_ff @(posedge rx_clk) begin
    rxd   <= {rx_fall[3:0], rx_rise[3:0]};
    rx_dv <= rx_rise[4];
    rx_er <= rx_rise[4] ^ rx_fall[4];
  end

  // --- In-band status: believed after 16 equal clocks between frames, handed over by a pulse while it stands still ---
  logic rx_rst, status_ready, status_arrived;
  logic [3:0] status, held, quiet_clocks;

  sync_bit sync_rst (
      .clk (rx_clk),
      .from(rst),
      .to  (rx_rst)
  );

  always_ff @(posedge rx_clk) begin
    status       <= rxd[3:0];
    status_ready <= 1'b0;
    if (rx_rst || rx_dv || rx_er || rxd[3:0] != rxd[7:4] || rxd[3:0] != status) quiet_clocks <= '0;
    else begin
      quiet_clocks <= quiet_clocks + 1'b1;
      if (quiet_clocks == '1) begin
        held         <= status;
        status_ready <= 1'b1;
      end
    end
  end

  sync_pulse sync_status (
      .from_clk(rx_clk),
      .from_rst(rx_rst),
      .from    (status_ready),
      .to_clk  (clk),
      .to_rst  (rst),
      .to      (status_arrived)
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      link_up     <= 1'b0;
      link_speed  <= 2'd2;
      full_duplex <= 1'b0;
    end else if (status_arrived) begin
      {full_duplex, link_speed, link_up} <= held;
    end
  end

endmodule

`default_nettype wire
