// The receiver of a port: from the GMII in the PHY's clock to one arrival_t for each frame in the host's clock. Never drops
// a frame without counting it. Holds no logic but the joining of its parts, each of which lives in one clock.
//
// Each frame has the stamp of its own SFD if at least 8 rx_clk lie between its SFD and the next, that is for every frame
// of 6 byte or more, whatever gap and preamble; of closer fragments only the stamp may be the neighbour's.
`default_nettype none

module receive
  import instrument_pkg::*;
(
    input  wire                      clk,
    input  wire                      rst,
    // GMII, or its half bytes at 10 and 100 Mb/s
    input  wire                      rx_clk,
    input  wire               [ 7:0] rxd,
    input  wire                      rx_dv,
    input  wire                      rx_er,
    input  wire                      nibbles,
    // time
    input  wire                      time_clk,
    input  wire                      time_rst,
    input  wire ns_t                 now_ns,
    // frames
    output arrival_t                 arrival,
    output logic                     arrival_valid,
    input  wire                      arrival_ready,
    // settings and counts
    input  wire               [ 7:0] checked_from,
    input  wire                      compare,
    input  wire               [31:0] expected_header,
    input  wire frame_bytes_t        max_frame_bytes,
    input  wire                      clear,
    input  wire                      count_asked,
    input  wire               [ 3:0] count_word,
    output logic                     count_answered,
    output logic              [31:0] count_answer,
    // mailbox
    input  wire                      mailbox_taken,
    output logic              [10:0] mailbox_bytes,
    input  wire                      mailbox_request,
    input  wire                      mailbox_request_is_write,
    input  wire               [ 8:0] mailbox_request_word,
    output logic                     mailbox_read_ack,
    output logic                     mailbox_write_ack,
    output logic              [31:0] mailbox_read_answer
);

  localparam int LOG2_SLOTS = 2;
  localparam int LOG2_ARRIVALS = 4;

  typedef struct packed {
    arrival_t arrival;
    logic missed;
    logic [7:0] lost_before;
  } passed_t;

  logic held, rx_rst;

  receive_reset resets (.*);

  // Settings, which do not change while frames arrive.
  logic rx_nibbles;
  logic [7:0] rx_checked_from;

  sync_bit sync_nibbles (
      .clk (rx_clk),
      .from(nibbles),
      .to  (rx_nibbles)
  );
  for (genvar i = 0; i < 8; i++) begin : g_checked_from
    sync_bit sync (
        .clk (rx_clk),
        .from(checked_from[i]),
        .to  (rx_checked_from[i])
    );
  end

  logic rx_compare;
  logic [31:0] rx_expected_header;

  sync_bit sync_compare (
      .clk (rx_clk),
      .from(compare),
      .to  (rx_compare)
  );
  for (genvar i = 0; i < 32; i++) begin : g_expected_header
    sync_bit sync (
        .clk (rx_clk),
        .from(expected_header[i]),
        .to  (rx_expected_header[i])
    );
  end

  logic toggle, start, octet_valid, stop, failed, misaligned;
  logic [7:0] octet;
  ns_t stamp_ns;

  gmii_decoder decoder (
      .clk(rx_clk),
      .rst(rx_rst),
      .nibbles(rx_nibbles),
      .*
  );

  stamp stamp_of_sfd (.*);

  logic body_start, body_valid, body_stop;
  logic [7:0] body;
  logic started, done, fcs_bad, cut, marked, sums_to_zero;
  logic changed;
  logic [15:0] header;
  frame_bytes_t frame_bytes;
  signature_t signature;

  frame_check check (
      .clk(rx_clk),
      .rst(rx_rst),
      .checked_from(rx_checked_from),
      .compare(rx_compare),
      .expected_header(rx_expected_header),
      .*
  );

  logic missed, write, full_valid, full_ready;
  logic [LOG2_SLOTS+8:0] write_word;
  logic [31:0] write_data;
  logic [10:0] full_bytes;

  mailbox_writer #(
      .LOG2_SLOTS(LOG2_SLOTS)
  ) writer (
      .clk(rx_clk),
      .rst(rx_rst),
      .*
  );

  passed_t in, out;
  logic in_valid, in_ready, out_valid, out_ready, outlet_ready, counts_ready;
  assign out_ready = outlet_ready && counts_ready;

  arrival_queue queue (
      .clk(rx_clk),
      .rst(rx_rst),
      .mailbox_missed(missed),
      .out_valid(in_valid),
      .out_ready(in_ready),
      .arrival(in.arrival),
      .missed(in.missed),
      .lost_before(in.lost_before),
      .*
  );

  async_fifo #(
      .WIDTH($bits(passed_t)),
      .LOG2_DEPTH(LOG2_ARRIVALS)
  ) arrivals (
      .in_clk (rx_clk),
      .in_rst (rx_rst),
      .out_clk(clk),
      .out_rst(held),
      .*
  );

  logic shown_valid, shown_ready;
  logic [10:0] shown_bytes;

  async_fifo #(
      .WIDTH(11),
      .LOG2_DEPTH(LOG2_SLOTS)
  ) slots (
      .in_clk(rx_clk),
      .in_rst(rx_rst),
      .in(full_bytes),
      .in_valid(full_valid),
      .in_ready(full_ready),
      .out_clk(clk),
      .out_rst(held),
      .out(shown_bytes),
      .out_valid(shown_valid),
      .out_ready(shown_ready)
  );

  logic [LOG2_SLOTS+8:0] read_word;
  logic [31:0] read_data;

  mailbox_memory #(
      .LOG2_WORDS(LOG2_SLOTS + 9)
  ) slot_memory (
      .write_clk(rx_clk),
      .read_clk (clk),
      .*
  );

  mailbox_reader #(
      .LOG2_SLOTS(LOG2_SLOTS)
  ) reader (
      .rst(held),
      .full_valid(shown_valid),
      .full_bytes(shown_bytes),
      .full_ready(shown_ready),
      .taken(mailbox_taken),
      .shown_bytes(mailbox_bytes),
      .request(mailbox_request),
      .request_is_write(mailbox_request_is_write),
      .request_word(mailbox_request_word),
      .read_ack(mailbox_read_ack),
      .write_ack(mailbox_write_ack),
      .read_answer(mailbox_read_answer),
      .*
  );

  arrival_output outlet (
      .rst(held),
      .in(out.arrival),
      .in_valid(out_valid && counts_ready),
      .in_ready(outlet_ready),
      .*
  );

  receive_counts counts (
      .rst(held),
      .valid(out_valid && out_ready),
      .ready(counts_ready),
      .fcs_bad(out.arrival.fcs_bad),
      .misaligned(out.arrival.misaligned),
      .frame_bytes(out.arrival.frame_bytes),
      .mailbox_missed(out.missed),
      .lost_before(out.lost_before),
      .asked(count_asked),
      .asked_word(count_word),
      .answered(count_answered),
      .answer(count_answer),
      .*
  );

endmodule

`default_nettype wire
