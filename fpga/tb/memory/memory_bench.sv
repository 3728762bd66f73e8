// The memory with its registers on the bus of the link, its structures taken apart for cocotb. Adds nothing.
`default_nettype none

module memory_bench
  import instrument_pkg::*;
#(
    parameter int WORD_BITS = 9
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  bus_req,
    input  wire                  bus_req_is_wr,
    input  wire  [         19:0] bus_addr,
    input  wire  [         31:0] bus_wr_data,
    output logic                 bus_req_stall_wr,
    output logic                 bus_req_stall_rd,
    output logic                 bus_rd_ack,
    output logic [         31:0] bus_rd_data,
    output logic                 bus_wr_ack,
    input  wire  [        143:0] event_0,
    input  wire  [        143:0] event_1,
    input  wire  [          1:0] event_valid,
    output logic [          1:0] event_ready,
    input  wire                  memory_initialised,
    output logic                 memory_valid,
    input  wire                  memory_ready,
    output logic                 memory_write,
    output logic [WORD_BITS-1:0] memory_address,
    output logic [         31:0] memory_word,
    input  wire                  memory_read_valid,
    input  wire  [         31:0] memory_read_word
);

  registers_pkg::registers__in_t  to_registers;
  registers_pkg::registers__out_t from_registers;

  registers registers (
      .clk,
      .rst,
      .s_cpuif_req         (bus_req),
      .s_cpuif_req_is_wr   (bus_req_is_wr),
      .s_cpuif_addr        (bus_addr),
      .s_cpuif_wr_data     (bus_wr_data),
      .s_cpuif_wr_biten    ('1),
      .s_cpuif_req_stall_wr(bus_req_stall_wr),
      .s_cpuif_req_stall_rd(bus_req_stall_rd),
      .s_cpuif_rd_ack      (bus_rd_ack),
      .s_cpuif_rd_err      (),
      .s_cpuif_rd_data     (bus_rd_data),
      .s_cpuif_wr_ack      (bus_wr_ack),
      .s_cpuif_wr_err      (),
      .hwif_in             (to_registers),
      .hwif_out            (from_registers)
  );

  memory #(
      .WORD_BITS(WORD_BITS)
  ) memory (
      .clk,
      .rst,
      .from_registers(from_registers.memory),
      .to_registers  (to_registers.memory),
      .from_window   (from_registers.window),
      .to_window     (to_registers.window),
      .happened      ({event_1, event_0}),
      .happened_valid(event_valid),
      .happened_ready(event_ready),
      .memory_initialised,
      .memory_valid,
      .memory_ready,
      .memory_write,
      .memory_address,
      .memory_word,
      .memory_read_valid,
      .memory_read_word
  );

endmodule

`default_nettype wire
