// The time block with its registers' fields as ports, as cocotb cannot reach into the structs. For tests only.
`default_nettype none

module time_bench (
    input  wire         clk,
    input  wire         rst,
    input  wire         time_clk,
    input  wire         time_rst,
    input  wire         pps,
    input  wire         ten_mhz,
    input  wire         capture,
    input  wire         set,
    input  wire         restart,
    input  wire         take,
    input  wire         choose_ten_mhz,
    input  wire  [47:0] set_ns,
    input  wire  [31:0] edges,
    input  wire  [31:0] timeout,
    output logic        captured,
    output logic        present,
    output logic        mark,
    output logic [31:0] mark_number,
    output logic [15:0] mark_losses,
    output logic [31:0] mark_ticks,
    output logic [47:0] mark_ns,
    output logic [47:0] captured_ns,
    output logic [47:0] now_ns
);

  registers_pkg::time_registers__out_t registers_out;
  registers_pkg::time_registers__in_t  registers_in;

  assign registers_out.control.capture.value = capture;
  assign registers_out.control.set.value = set;
  assign registers_out.control.restart.value = restart;
  assign registers_out.control.take.value = take;
  assign registers_out.control.ten_mhz.value = choose_ten_mhz;
  assign registers_out.set_high.value.value = set_ns[47:32];
  assign registers_out.set_low.value.value = set_ns[31:0];
  assign registers_out.edges.value.value = edges;
  assign registers_out.timeout.value.value = timeout;
  assign captured = registers_in.status.captured.next;
  assign present = registers_in.status.present.next;
  assign mark = registers_in.status.mark.next;
  assign mark_number = registers_in.mark_number.value.next;
  assign mark_losses = registers_in.mark_losses.value.next;
  assign mark_ticks = registers_in.mark_ticks.value.next;
  assign mark_ns = {registers_in.mark_high.value.next, registers_in.mark_low.value.next};
  assign captured_ns = {registers_in.now_high.value.next, registers_in.now_low.value.next};

  time_block block (
      .clk,
      .rst,
      .time_clk,
      .time_rst,
      .pps,
      .ten_mhz,
      .registers_out,
      .registers_in,
      .now_ns
  );

endmodule

`default_nettype wire
