// The register block with the receiver of its first port: for simulation only. Holds no logic.
`default_nettype none

module receive_port_bench
  import instrument_pkg::*;
(
    input  wire             clk,
    input  wire             rst,
    input  wire             rx_clk,
    input  wire      [ 7:0] rxd,
    input  wire             rx_dv,
    input  wire             rx_er,
    input  wire             nibbles,
    input  wire             time_clk,
    input  wire             time_rst,
    input  wire ns_t        now_ns,
    output arrival_t        arrival,
    output logic            arrival_valid,
    input  wire             request,
    input  wire             request_is_write,
    input  wire      [19:0] address,
    input  wire      [31:0] write_data,
    output logic            read_ack,
    output logic     [31:0] read_data,
    output logic            write_ack
);

  // The other blocks' parts of these are not here; Verilator is told to leave them zero.
  /* verilator lint_off UNDRIVEN */
  /* verilator lint_off UNUSEDSIGNAL */
  registers_pkg::registers__in_t  to_registers;
  registers_pkg::registers__out_t from_registers;
  logic stall_write, stall_read, read_error, write_error;
  /* verilator lint_on UNUSEDSIGNAL */
  /* verilator lint_on UNDRIVEN */

  registers map (
      .clk,
      .rst,
      .s_cpuif_req(request),
      .s_cpuif_req_is_wr(request_is_write),
      .s_cpuif_addr(address),
      .s_cpuif_wr_data(write_data),
      .s_cpuif_wr_biten('1),
      .s_cpuif_req_stall_wr(stall_write),
      .s_cpuif_req_stall_rd(stall_read),
      .s_cpuif_rd_ack(read_ack),
      .s_cpuif_rd_err(read_error),
      .s_cpuif_rd_data(read_data),
      .s_cpuif_wr_ack(write_ack),
      .s_cpuif_wr_err(write_error),
      .hwif_in(to_registers),
      .hwif_out(from_registers)
  );

  receive_port port (
      .set(from_registers.port[0].receive),
      .shown(to_registers.port[0].receive),
      .mailbox_request(from_registers.mailbox_0),
      .mailbox_answer(to_registers.mailbox_0),
      .arrival_ready(1'b1),
      .*
  );

endmodule

`default_nettype wire
