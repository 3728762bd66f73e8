// The receiver of a port with its registers and its mailbox on the bus. Holds no logic.
`default_nettype none

module receive_port
  import instrument_pkg::*;
(
    input  wire                                                  clk,
    input  wire                                                  rst,
    input  wire                                                  rx_clk,
    input  wire                                            [7:0] rxd,
    input  wire                                                  rx_dv,
    input  wire                                                  rx_er,
    input  wire                                                  nibbles,
    input  wire                                                  time_clk,
    input  wire                                                  time_rst,
    input  wire ns_t                                             now_ns,
    output arrival_t                                             arrival,
    output logic                                                 arrival_valid,
    input  wire                                                  arrival_ready,
    input  registers_pkg::receive_registers__out_t               set,
    output registers_pkg::receive_registers__in_t                shown,
    input  registers_pkg::receive_mailbox__external__out_t       mailbox_request,
    output registers_pkg::receive_mailbox__external__in_t        mailbox_answer
);

  // What is written is forgotten.
  assign shown.counts.wr_ack = set.counts.req && set.counts.req_is_wr;

  receive receiver (
      .checked_from(set.checked_from.bytes.value),
      .compare(set.headers.compare.value),
      .expected_header(set.expected_header.digest.value),
      .max_frame_bytes(set.max_frame_bytes.bytes.value),
      .clear(set.control.clear.value),
      .count_asked(set.counts.req && !set.counts.req_is_wr),
      .count_word(set.counts.addr[5:2]),
      .count_answered(shown.counts.rd_ack),
      .count_answer(shown.counts.rd_data),
      .mailbox_taken(set.control.taken.value),
      .mailbox_bytes(shown.mailbox.bytes.next),
      .mailbox_request(mailbox_request.req),
      .mailbox_request_is_write(mailbox_request.req_is_wr),
      .mailbox_request_word(mailbox_request.addr[10:2]),
      .mailbox_read_ack(mailbox_answer.rd_ack),
      .mailbox_write_ack(mailbox_answer.wr_ack),
      .mailbox_read_answer(mailbox_answer.rd_data),
      .*
  );

endmodule

`default_nettype wire
