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

  config_t  configuration;
  counts_t  counted;
  latency_t latencies;
  logic [47:0] offered, expected;
  logic [43:0] last_16ns;
  logic busy, finished, settled, bank, triggered, read_done, write_done;
  logic [31:0] read_count;

  // A clock later than the registers: they are far away.
  always_ff @(posedge clk) begin
    configuration.expectation.stream <= registers_out.stream.value.value;
    configuration.expectation.least_bytes <= registers_out.frame_bytes.least.value;
    configuration.expectation.most_bytes <= registers_out.frame_bytes.most.value;
    configuration.expectation.planned <= {
      registers_out.planned_high.value.value, registers_out.planned_low.value.value
    };
    configuration.origin_ns <= registers_out.origin_ns.value.value;
    configuration.shift <= registers_out.shift.value.value;
    configuration.choice.every <= registers_out.sample_every.value.value;
    configuration.choice.trigger_on_skip <= registers_out.trigger.on_skip.value;
    configuration.choice.trigger_on_latency <= registers_out.trigger.on_latency.value;
    configuration.choice.trigger_latency_ns <= registers_out.trigger_latency_ns.value.value;
    configuration.choice.trigger_frames <= registers_out.trigger_frames.value.value;
    offered <= {registers_out.offered_high.value.value, registers_out.offered_low.value.value};
  end

  account account_arrivals (
      .clk          (clk),
      .rst          (rst),
      .configuration(configuration),
      .reset        (registers_out.control.reset.value),
      .swap         (registers_out.control.swap.value),
      .flush        (registers_out.control.flush.value),
      .offered      (offered),
      .busy         (busy),
      .finished     (finished),
      .settled      (settled),
      .bank         (bank),
      .triggered    (triggered),
      .expected     (expected),
      .last_16ns    (last_16ns),
      .counted      (counted),
      .latencies    (latencies),
      .read_bin     (histogram_out.addr[13:2]),
      .read_valid   (histogram_out.req && !histogram_out.req_is_wr),
      .read_count   (read_count),
      .read_done    (read_done),
      .arrival      (arrival),
      .arrival_valid(arrival_valid),
      .arrival_ready(arrival_ready),
      .told         (told),
      .told_valid   (told_valid),
      .told_ready   (told_ready)
  );

  // The histogram is read only; a write is answered and does nothing.
  always_ff @(posedge clk) write_done <= histogram_out.req && histogram_out.req_is_wr && !rst;

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
    registers_in.received_low.value.next = counted.received[31:0];
    registers_in.received_high.value.next = 32'(counted.received[47:32]);
    registers_in.first_low.value.next = counted.first[31:0];
    registers_in.first_high.value.next = 32'(counted.first[47:32]);
    registers_in.duplicated_low.value.next = counted.duplicated[31:0];
    registers_in.duplicated_high.value.next = 32'(counted.duplicated[47:32]);
    registers_in.reordered_low.value.next = counted.reordered[31:0];
    registers_in.reordered_high.value.next = 32'(counted.reordered[47:32]);
    registers_in.late_low.value.next = counted.late[31:0];
    registers_in.late_high.value.next = 32'(counted.late[47:32]);
    registers_in.untracked_low.value.next = counted.untracked[31:0];
    registers_in.untracked_high.value.next = 32'(counted.untracked[47:32]);
    registers_in.corrupt_low.value.next = counted.corrupt[31:0];
    registers_in.corrupt_high.value.next = 32'(counted.corrupt[47:32]);
    registers_in.foreign_low.value.next = counted.foreign[31:0];
    registers_in.foreign_high.value.next = 32'(counted.foreign[47:32]);
    registers_in.other_low.value.next = counted.other[31:0];
    registers_in.other_high.value.next = 32'(counted.other[47:32]);
    registers_in.lost_low.value.next = counted.lost[31:0];
    registers_in.lost_high.value.next = 32'(counted.lost[47:32]);
    registers_in.dropped_low.value.next = counted.dropped[31:0];
    registers_in.dropped_high.value.next = 32'(counted.dropped[47:32]);
    registers_in.last_low.value.next = {last_16ns[27:0], 4'b0};
    registers_in.last_high.value.next = 32'(last_16ns[43:28]);
    registers_in.latency_count_low.value.next = latencies.count[31:0];
    registers_in.latency_count_high.value.next = 32'(latencies.count[47:32]);
    registers_in.latency_least_low.value.next = latencies.least_ns[31:0];
    registers_in.latency_least_high.value.next = 32'($signed(latencies.least_ns[47:32]));
    registers_in.latency_most_low.value.next = latencies.most_ns[31:0];
    registers_in.latency_most_high.value.next = 32'($signed(latencies.most_ns[47:32]));
    registers_in.latency_sum_low.value.next = latencies.sum_ns[31:0];
    registers_in.latency_sum_high.value.next = latencies.sum_ns[63:32];
    registers_in.latency_squares_low.value.next = latencies.squares[31:0];
    registers_in.latency_squares_middle.value.next = latencies.squares[63:32];
    registers_in.latency_squares_high.value.next = 32'(latencies.squares[79:64]);
  end

endmodule

`default_nettype wire
