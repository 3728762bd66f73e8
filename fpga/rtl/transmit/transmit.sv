// The generator of a port behind the register map. Holds wires only.
`default_nettype none

module transmit
  import instrument_pkg::ns_t;
(
    input wire clk,
    input wire rst,
    input wire ce,  // a byte time ends: always at 1 Gb/s
    input registers_pkg::transmit_registers__out_t registers,
    output registers_pkg::transmit_registers__in_t status,
    input registers_pkg::transmit_memory__external__out_t memory,
    output registers_pkg::transmit_memory__external__in_t memory_done,
    input wire time_clk,
    input wire time_rst,
    input wire ns_t now_ns,  // of time_clk
    output logic [7:0] gmii_txd,
    output logic gmii_tx_en,
    output logic gmii_tx_er,
    output logic gmii_half  // only the lower nibble of this byte is sent
);

  logic [47:0] frames, bytes, numbers;
  ns_t first_ns, last_ns;

  // A write takes one clock; what is read is zero.
  assign memory_done.wr_ack = memory.req && memory.req_is_wr;
  assign memory_done.rd_ack = memory.req && !memory.req_is_wr;
  assign memory_done.rd_data = '0;

  assign {status.sent_frames_high.value.next, status.sent_frames_low.value.next} = frames;
  assign {status.sent_bytes_high.value.next, status.sent_bytes_low.value.next} = bytes;
  assign {status.signed_high.value.next, status.signed_low.value.next} = numbers;
  assign {status.first_high.value.next, status.first_low.value.next} = first_ns;
  assign {status.last_high.value.next, status.last_low.value.next} = last_ns;

  generator generator_i (
      .clk,
      .rst,
      .ce,
      .write(memory.req && memory.req_is_wr),
      .write_address(memory.addr[13:2]),
      .write_word(memory.wr_data),
      .start(registers.control.start.value),
      .stop(registers.control.stop.value),
      .timed(registers.control.timed.value),
      .start_ns({registers.start_high.value.value, registers.start_low.value.value}),
      .last_entry(registers.last_entry.value.value),
      .frame_limit({registers.frames_high.value.value, registers.frames_low.value.value}),
      .burst_frames(registers.burst_frames.value.value),
      .interval_bytes(registers.interval_bytes.value.value),
      .interval_fraction(registers.interval_fraction.value.value),
      .stream(registers.stream.value.value),
      .mailbox_send(registers.control.mailbox_send.value),
      .mailbox_bytes(registers.mailbox_bytes.value.value),
      .running(status.status.running.next),
      .waiting(status.status.waiting.next),
      .mailbox_busy(status.status.mailbox_busy.next),
      .lag_bytes(status.lag.value.next),
      .frames,
      .bytes,
      .numbers,
      .first_ns,
      .last_ns,
      .time_clk,
      .time_rst,
      .now_ns,
      .gmii_txd,
      .gmii_tx_en,
      .gmii_tx_er,
      .gmii_half
  );

endmodule

`default_nettype wire
