// The register files of two PHYs behind the host's bus, with the MDIO that they share. For tests only.
`default_nettype none

module phy_bench (
    input  wire               clk,
    input  wire               rst,
    input  wire               bus_req,
    input  wire               bus_req_is_wr,
    input  wire        [19:0] bus_addr,
    input  wire        [31:0] bus_wr_data,
    output logic              bus_rd_ack,
    output logic       [31:0] bus_rd_data,
    output logic              bus_wr_ack,
    input  wire               rx_clk_0,
    input  wire               rx_clk_1,
    input  wire        [ 1:0] link_up,
    input  wire   [1:0][ 1:0] link_speed,
    input  wire        [ 1:0] full_duplex,
    output logic  [1:0][ 1:0] speed,
    output logic  [1:0][ 6:0] rx_taps,
    output logic  [1:0][ 6:0] tx_taps,
    output logic  [1:0][ 6:0] tx_clock_taps,
    output logic              mdio_chosen,
    output logic              mdc,
    output logic              mdio_out,
    output logic              mdio_drive,
    input  wire               mdio_in
);

  registers_pkg::registers__in_t to_registers;
  registers_pkg::registers__out_t from_registers;
  registers_pkg::phy_registers__in_t phy_in[2];
  logic [1:0] pending, done;
  logic [1:0][26:0] request;
  logic [15:0] answer;
  logic no_answer;
  // verilator lint_off UNUSEDSIGNAL
  logic stall_wr, stall_rd, rd_err, wr_err;
  // verilator lint_on UNUSEDSIGNAL

  always_comb begin
    to_registers = '{default: '0};
    to_registers.port[0].phy = phy_in[0];
    to_registers.port[1].phy = phy_in[1];
  end

  registers map (
      .clk,
      .rst,
      .s_cpuif_req         (bus_req),
      .s_cpuif_req_is_wr   (bus_req_is_wr),
      .s_cpuif_addr        (bus_addr),
      .s_cpuif_wr_data     (bus_wr_data),
      .s_cpuif_wr_biten    ('1),
      .s_cpuif_req_stall_wr(stall_wr),
      .s_cpuif_req_stall_rd(stall_rd),
      .s_cpuif_rd_ack      (bus_rd_ack),
      .s_cpuif_rd_err      (rd_err),
      .s_cpuif_rd_data     (bus_rd_data),
      .s_cpuif_wr_ack      (bus_wr_ack),
      .s_cpuif_wr_err      (wr_err),
      .hwif_in             (to_registers),
      .hwif_out            (from_registers)
  );

  for (genvar p = 0; p < 2; p++) begin : g_port
    phy_port phy (
        .clk,
        .rst,
        .registers_out  (from_registers.port[p].phy),
        .registers_in   (phy_in[p]),
        .rx_clk         (p == 0 ? rx_clk_0 : rx_clk_1),
        .link_up        (link_up[p]),
        .link_speed     (link_speed[p]),
        .full_duplex    (full_duplex[p]),
        .speed          (speed[p]),
        .rx_taps        (rx_taps[p]),
        .tx_taps        (tx_taps[p]),
        .tx_clock_taps  (tx_clock_taps[p]),
        .mdio_pending   (pending[p]),
        .mdio_request   (request[p]),
        .mdio_done      (done[p]),
        .mdio_answer    (answer),
        .mdio_no_answer (no_answer)
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
