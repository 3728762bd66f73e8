// The accounting of a port behind its registers and the window of its histogram. Only wires: decides nothing itself.
`default_nettype none

module account_port
  import instrument_pkg::*;
  import account_pkg::*;
(
    input wire clk,
    input wire rst,

    input  registers_pkg::account_registers__out_t           registers_out,
    output registers_pkg::account_registers__in_t            registers_in,
    input  registers_pkg::account_histogram__external__out_t histogram_out,
    output registers_pkg::account_histogram__external__in_t  histogram_in,

    input  wire arrival_t arrival,
    input  wire           arrival_valid,
    output logic          arrival_ready,
    output event_t        told,
    output logic          told_valid,
    input  wire           told_ready
);

  config_t configuration;
  logic [47:0] offered, expected;
  logic [43:0] last_16ns;
  logic busy, finished, settled, bank, triggered, read_done, write_done, count_answered, count_written;
  logic latency_answered, latency_written;
  logic [31:0] read_count, count_answer, latency_answer;

  always_comb begin
    configuration.expectation.stream = registers_out.stream.value.value;
    configuration.expectation.least_bytes = registers_out.frame_bytes.least.value;
    configuration.expectation.most_bytes = registers_out.frame_bytes.most.value;
    configuration.expectation.planned = {registers_out.planned_high.value.value, registers_out.planned_low.value.value};
    configuration.origin_ns = registers_out.origin_ns.value.value;
    configuration.shift = registers_out.shift.value.value;
    configuration.choice.every = registers_out.sample_every.value.value;
    configuration.choice.trigger_on_skip = registers_out.trigger.on_skip.value;
    configuration.choice.trigger_on_latency = registers_out.trigger.on_latency.value;
    configuration.choice.trigger_latency_ns = registers_out.trigger_latency_ns.value.value;
    configuration.choice.trigger_frames = registers_out.trigger_frames.value.value;
    offered = {registers_out.offered_high.value.value, registers_out.offered_low.value.value};
  end

  account account_arrivals (
      .clk             (clk),
      .rst             (rst),
      .configuration   (configuration),
      .reset           (registers_out.control.reset.value),
      .swap            (registers_out.control.swap.value),
      .flush           (registers_out.control.flush.value),
      .offered         (offered),
      .busy            (busy),
      .finished        (finished),
      .settled         (settled),
      .bank            (bank),
      .triggered       (triggered),
      .expected        (expected),
      .last_16ns       (last_16ns),
      .count_asked     (registers_out.counts.req && !registers_out.counts.req_is_wr),
      .count_word      (registers_out.counts.addr[6:2]),
      .count_answered  (count_answered),
      .count_answer    (count_answer),
      .latency_asked   (registers_out.latencies.req && !registers_out.latencies.req_is_wr),
      .latency_word    (registers_out.latencies.addr[5:2]),
      .latency_answered(latency_answered),
      .latency_answer  (latency_answer),
      .read_bin        (histogram_out.addr[13:2]),
      .read_valid      (histogram_out.req && !histogram_out.req_is_wr),
      .read_count      (read_count),
      .read_done       (read_done),
      .arrival         (arrival),
      .arrival_valid   (arrival_valid),
      .arrival_ready   (arrival_ready),
      .told            (told),
      .told_valid      (told_valid),
      .told_ready      (told_ready)
  );

  // Histogram and figures are read only; a write is answered and does nothing.
  always_ff @(posedge clk) begin
    write_done    <= histogram_out.req && histogram_out.req_is_wr && !rst;
    count_written <= registers_out.counts.req && registers_out.counts.req_is_wr && !rst;
    latency_written <= registers_out.latencies.req && registers_out.latencies.req_is_wr && !rst;
  end

  always_comb begin
    histogram_in.rd_data = read_count;
    histogram_in.rd_ack = read_done;
    histogram_in.wr_ack = write_done;
    registers_in.status.busy.next = busy;
    registers_in.status.settled.next = settled;
    registers_in.status.finished.next = finished;
    registers_in.status.bank.next = bank;
    registers_in.status.triggered.next = triggered;
    registers_in.expected_low.value.next = expected[31:0];
    registers_in.expected_high.value.next = 32'(expected[47:32]);
    registers_in.counts.rd_data = count_answer;
    registers_in.counts.rd_ack = count_answered;
    registers_in.counts.wr_ack = count_written;
    registers_in.last_low.value.next = {last_16ns[27:0], 4'b0};
    registers_in.last_high.value.next = 32'(last_16ns[43:28]);
    registers_in.latencies.rd_data = latency_answer;
    registers_in.latencies.rd_ack = latency_answered;
    registers_in.latencies.wr_ack = latency_written;
  end

endmodule

`default_nettype wire
