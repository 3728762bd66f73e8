// The generator of a port: program and headers in, GMII out. Its frames are as docs/signature/README.md wants them.
//
// Words of the host (`write_address` counts them): program from 0 (two a frame, entry_t), headers from 0x800 (32 a slot),
// mailbox from 0xC00, patches from 0xE00 (8 a slot, patch_t). They must stand still while they are used.
`default_nettype none

module generator
  import instrument_pkg::ns_t;
  import transmit_pkg::*;
(
    input  wire             clk,
    input  wire             rst,
    input  wire             ce,                 // a byte time ends: always at 1 Gb/s
    input  wire             write,
    input  wire      [11:0] write_address,
    input  wire      [31:0] write_word,
    input  wire             start,              // a pulse, ignored while running
    input  wire             stop,               // a pulse; a frame that has begun is finished
    input  wire             timed,              // with start: begin at start_ns, not at once
    input  wire ns_t        start_ns,
    input  wire      [ 9:0] last_entry,
    input  wire      [47:0] frame_limit,        // 0: until stopped
    input  wire      [31:0] burst_frames,       // frames to a scheduled start; 0: gaps alone
    input  wire      [31:0] interval_bytes,     // from one scheduled start to the next
    input  wire      [31:0] interval_fraction,
    input  wire      [15:0] stream,
    input  wire             mailbox_send,       // a pulse
    input  wire      [11:0] mailbox_bytes,      // before the FCS
    output logic            running,            // frames are still to come or on their way
    output logic            waiting,            // for start_ns
    output logic            mailbox_busy,
    output logic     [31:0] lag_bytes,
    output logic     [47:0] frames,
    output logic     [47:0] bytes,
    output logic     [47:0] numbers,            // signatures written: the next sequence number
    output ns_t             first_ns,
    output ns_t             last_ns,
    input  wire             time_clk,
    input  wire             time_rst,
    input  wire ns_t        now_ns,             // of time_clk
    output logic     [ 7:0] gmii_txd,
    output logic            gmii_tx_en,
    output logic            gmii_tx_er,
    output logic            gmii_half           // of this byte only the lower nibble is sent (10 and 100 Mb/s)
);

  logic restart, busy, armed, open, reached, reached_here, is_timed;
  logic write_valid;
  logic [11:0] written;
  logic [31:0] word;
  logic [9:0] entry_address, header_address;
  logic [8:0] mailbox_address;
  logic [7:0] patch_address;
  entry_t entry;
  patch_t patch;
  logic [31:0] header_word, mailbox_word;
  logic frame_valid, begin_frame, began_frame, begin_mailbox, in_gap, ending, fetch, last, sfd, sfd_toggle, stamped;
  logic patch_start, patch_done, patched_write, mailbox_sent, mailbox_sending, began_mailbox;
  logic [3:0] patched_address;
  patched_t patched;
  frame_t frame;
  logic [7:0] data;
  ns_t stamp_ns, sent_ns;
  logic [15:0] signature[9];

  assign restart = start && !busy;

  // Start, now or by the clock.
  always_ff @(posedge clk) begin
    if (restart) is_timed <= timed;
    armed   <= busy && is_timed && !restart;
    // The schedule begins with a first frame that is ready.
    open    <= busy && !restart && (open || (frame_valid && (!is_timed || (armed && reached_here))));
    waiting <= busy && !open;
    running <= busy || !in_gap;
    if (rst) begin
      is_timed <= 1'b0;
      armed    <= 1'b0;
      open     <= 1'b0;
    end
  end

  start_gate start_gate_i (
      .time_clk,
      .time_rst,
      .now_ns,
      .armed,
      .start_ns,
      .reached
  );

  sync_bit reached_sync (
      .clk,
      .from(reached),
      .to  (reached_here)
  );

  stamp stamp_i (
      .time_clk,
      .time_rst,
      .now_ns,
      .toggle(sfd_toggle),
      .stamp_ns
  );

  // One mailbox frame at a time.
  assign mailbox_sent = ce && ending && mailbox_sending;

  always_ff @(posedge clk) begin
    if (mailbox_send) mailbox_busy <= 1'b1;
    else if (mailbox_sent) mailbox_busy <= 1'b0;
    began_mailbox <= begin_mailbox;
    if (begin_mailbox) mailbox_sending <= 1'b1;
    else if (mailbox_sent) mailbox_sending <= 1'b0;
    if (rst) begin
      mailbox_busy    <= 1'b0;
      mailbox_sending <= 1'b0;
    end
  end

  // Memories.
  always_ff @(posedge clk) begin
    write_valid <= write;
    written     <= write_address;
    word        <= write_word;
  end

  for (genvar half = 0; half < 2; half++) begin : g_program
    table_ram #(
        .WIDTH(32),
        .LOG2_DEPTH(10)
    ) program_ram (
        .clk,
        .write(write_valid && !written[11] && written[0] == half),
        .write_address(written[10:1]),
        .write_word(word),
        .enable(1'b1),
        .address(entry_address),
        .word(entry[32*half+:32])
    );
  end

  table_ram #(
      .WIDTH(32),
      .LOG2_DEPTH(10)
  ) header_ram (
      .clk,
      .write(write_valid && written[11:10] == 2'b10),
      .write_address(written[9:0]),
      .write_word(word),
      .enable(ce),
      .address(header_address),
      .word(header_word)
  );

  table_ram #(
      .WIDTH(32),
      .LOG2_DEPTH(9)
  ) mailbox_ram (
      .clk,
      .write(write_valid && written[11:9] == 3'b110),
      .write_address(written[8:0]),
      .write_word(word),
      .enable(ce),
      .address(mailbox_address),
      .word(mailbox_word)
  );

  table_ram #(
      .WIDTH(32),
      .LOG2_DEPTH(8)
  ) patch_ram (
      .clk,
      .write(write_valid && written[11:8] == 4'b1110),
      .write_address(written[7:0]),
      .write_word(word),
      .enable(1'b1),
      .address(patch_address),
      .word(patch)
  );

  // The next frame, and when it begins.
  scheduler scheduler_i (
      .clk,
      .rst,
      .start  (restart),
      .stop,
      .last_entry,
      .frame_limit,
      .burst_frames,
      .running(busy),
      .entry_address,
      .entry,
      .patch_start,
      .patch_done,
      .frame_valid,
      .frame,
      .taken  (began_frame)
  );

  patcher patcher_i (
      .clk,
      .rst(rst || stop),
      .start(patch_start),
      .slot(frame.entry.slot),
      .frame_bytes(frame.entry.frame_bytes),
      .bank(frame.bank),
      .done(patch_done),
      .patch_address,
      .patch,
      .write(patched_write),
      .write_address(patched_address),
      .write_patched(patched)
  );

  pacer pacer_i (
      .clk,
      .rst,
      .ce,
      .restart,
      .open,
      .busy,
      .interval_bytes,
      .interval_fraction,
      .frame_valid,
      .scheduled(frame.scheduled),
      .gap_bytes(frame.entry.gap_bytes),
      .in_gap,
      .ending,
      .mailbox_valid(mailbox_busy && !mailbox_sending),
      .mailbox_bytes,
      .begin_frame,
      .begin_mailbox,
      .began_frame,
      .lag_bytes
  );

  // The frame itself.
  signer signer_i (
      .clk,
      .rst,
      .restart,
      .stream,
      .begin_frame(began_frame),
      .marked(frame.entry.marked),
      .sfd,
      .stamp_ns,
      .stamped,
      .sent_ns,
      .next_number(numbers),
      .words(signature)
  );

  frame_source frame_source_i (
      .clk,
      .rst,
      .ce,
      .begin_frame  (began_frame),
      .frame,
      .begin_mailbox(began_mailbox),
      .mailbox_bytes,
      .fetch,
      .header_address,
      .header_word,
      .mailbox_address,
      .mailbox_word,
      .patched_write,
      .patched_address,
      .patched,
      .signature,
      .data,
      .last
  );

  framer framer_i (
      .clk,
      .rst,
      .ce,
      .start  (begin_frame || begin_mailbox),
      .counted(begin_frame),
      .bad_fcs(begin_frame && frame.entry.bad_fcs),
      .dribble(begin_frame && frame.entry.dribble),
      .in_gap,
      .ending,
      .fetch,
      .data,
      .last,
      .gmii_txd,
      .gmii_tx_en,
      .gmii_tx_er,
      .gmii_half,
      .sfd_toggle,
      .sfd
  );

  sent_counts sent_counts_i (
      .clk,
      .rst,
      .restart,
      .begin_frame(began_frame),
      .frame_bytes(frame.entry.frame_bytes),
      .stamped,
      .sent_ns,
      .frames,
      .bytes,
      .first_ns,
      .last_ns
  );

endmodule

`default_nettype wire
