// The register file of one port's PHY and pins: link, speed, delays, and a door to the PHY's own registers by MDIO.
`default_nettype none

module phy_port (
    input wire clk,
    input wire rst,

    input  registers_pkg::phy_registers__out_t registers_out,
    output registers_pkg::phy_registers__in_t  registers_in,

    input  wire        rx_clk,
    input  wire        link_up,       // as the PHY says between frames
    input  wire  [1:0] link_speed,
    input  wire        full_duplex,
    output logic [1:0] speed,         // to run at: 0: 10, 1: 100, 2: 1000 Mb/s
    output logic [6:0] rx_taps,
    output logic [6:0] tx_taps,
    output logic [6:0] tx_clock_taps,

    output logic        mdio_pending,
    output logic [26:0] mdio_request,
    input  wire         mdio_done,
    input  wire  [15:0] mdio_answer,
    input  wire         mdio_no_answer
);

  logic [11:0] rx_clock;
  logic [15:0] answer;
  logic no_answer, started;

  clock_meter meter (
      .clk,
      .rst,
      .measured_clk(rx_clk),
      .count       (rx_clock)
  );

  always_ff @(posedge clk) begin
    // The PHY's fourth code is reserved: gigabit is what it most likely means.
    if (registers_out.control.follow.value) speed <= link_speed == 2'd3 ? 2'd2 : link_speed;
    else speed <= registers_out.control.speed.value == 2'd3 ? 2'd2 : registers_out.control.speed.value;
    rx_taps       <= registers_out.delays.rx.value;
    tx_taps       <= registers_out.delays.tx.value;
    tx_clock_taps <= registers_out.delays.tx_clock.value;
  end

  always_ff @(posedge clk) begin
    started <= registers_out.mdio.data.swmod;
    mdio_request <= {
      registers_out.mdio.write.value,
      registers_out.mdio.phy.value,
      registers_out.mdio.register.value,
      registers_out.mdio.data.value
    };
    if (rst) mdio_pending <= 1'b0;
    else if (mdio_done) mdio_pending <= 1'b0;
    else if (started) mdio_pending <= 1'b1;
    if (mdio_done) begin
      answer    <= mdio_answer;
      no_answer <= mdio_no_answer;
    end
  end

  always_comb begin
    registers_in = '{default: '0};
    registers_in.status.link.next = link_up;
    registers_in.status.speed.next = link_speed;
    registers_in.status.full_duplex.next = full_duplex;
    registers_in.status.running.next = speed;
    registers_in.rx_clock.count.next = rx_clock;
    registers_in.mdio_answer.data.next = answer;
    registers_in.mdio_answer.busy.next = mdio_pending || started || registers_out.mdio.data.swmod;
    registers_in.mdio_answer.missing.next = no_answer;
  end

endmodule

`default_nettype wire
