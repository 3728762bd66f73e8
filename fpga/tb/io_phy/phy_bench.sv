// The PHYs' registers of two ports with the MDIO that they share; what the host writes comes as plain signals.
// For tests only.
`default_nettype none

module phy_bench (
    input  wire              clk,
    input  wire              rst,
    input  wire  [1:0]       follow,
    input  wire  [1:0][ 1:0] wanted_speed,
    input  wire  [1:0][ 6:0] wanted_rx_taps,
    input  wire  [1:0]       ask,             // the register `mdio` is written
    input  wire  [1:0][26:0] asked,
    output logic [1:0][17:0] answered,        // {missing, busy, data}
    output logic [1:0][ 5:0] status,          // {running, full_duplex, speed, link}
    output logic [1:0][11:0] rx_clock,
    input  wire              rx_clk_0,
    input  wire              rx_clk_1,
    input  wire  [1:0]       link_up,
    input  wire  [1:0][ 1:0] link_speed,
    input  wire  [1:0]       full_duplex,
    output logic [1:0][ 1:0] speed,
    output logic [1:0][ 6:0] rx_taps,
    output logic [1:0][ 6:0] tx_taps,
    output logic [1:0][ 6:0] tx_clock_taps,
    output logic             mdio_chosen,
    output logic             mdc,
    output logic             mdio_out,
    output logic             mdio_drive,
    input  wire              mdio_in
);

  logic [1:0] pending, done;
  logic [1:0][26:0] request;
  logic [15:0] answer;
  logic no_answer;

  for (genvar p = 0; p < 2; p++) begin : g_port
    registers_pkg::phy_registers__in_t in;
    registers_pkg::phy_registers__out_t out;
    logic [26:0] written;

    // As in the register block: swmod comes with the write, the new value a clock later.
    always_ff @(posedge clk) if (ask[p]) written <= asked[p];

    always_comb begin
      out = '{default: '0};
      out.control.follow.value = follow[p];
      out.control.speed.value = wanted_speed[p];
      out.delays.rx.value = wanted_rx_taps[p];
      out.mdio.data.swmod = ask[p];
      {out.mdio.write.value, out.mdio.phy.value, out.mdio.register.value, out.mdio.data.value} = written;
    end

    assign answered[p] = {in.mdio_answer.missing.next, in.mdio_answer.busy.next, in.mdio_answer.data.next};
    assign status[p] = {in.status.running.next, in.status.full_duplex.next, in.status.speed.next, in.status.link.next};
    assign rx_clock[p] = in.rx_clock.count.next;

    phy_port phy (
        .clk,
        .rst,
        .registers_out (out),
        .registers_in  (in),
        .rx_clk        (p == 0 ? rx_clk_0 : rx_clk_1),
        .link_up       (link_up[p]),
        .link_speed    (link_speed[p]),
        .full_duplex   (full_duplex[p]),
        .speed         (speed[p]),
        .rx_taps       (rx_taps[p]),
        .tx_taps       (tx_taps[p]),
        .tx_clock_taps (tx_clock_taps[p]),
        .mdio_pending  (pending[p]),
        .mdio_request  (request[p]),
        .mdio_done     (done[p]),
        .mdio_answer   (answer),
        .mdio_no_answer(no_answer)
    );
  end

  mdio #(
      .PORTS(2)
  ) mdio (
      .clk,
      .rst,
      .pending,
      .request,
      .done,
      .answer,
      .no_answer,
      .chosen(mdio_chosen),
      .mdc,
      .mdio_out,
      .mdio_drive,
      .mdio_in
  );

endmodule

`default_nettype wire
