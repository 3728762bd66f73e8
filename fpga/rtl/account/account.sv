// The accounting of a port: takes every arrival and knows at any time what came, what did not, and how late.
// Must never lose an arrival or count one twice, whatever becomes of the events it tells.
`default_nettype none

module account
  import instrument_pkg::*;
  import account_pkg::*;
#(
    parameter int LOG2_WINDOW = 12,
    parameter int LOG2_QUEUE  = 9,
    parameter int LOG2_BINS   = 11,
    parameter int LOG2_EVENTS = 5
) (
    input  wire                         clk,
    input  wire                         rst,
    input  wire config_t                configuration,
    input  wire                         reset,             // begin a trial: forgets all; nothing is counted until !busy
    input  wire                         swap,              // of the banks of histogram and latency; done when !busy
    input  wire                         flush,             // end it: tells what is missing of `offered` frames
    input  wire           [       47:0] offered,
    output logic                        busy,
    output logic                        finished,          // the flush is done, and all that is lost has been counted
    output logic                        settled,           // every arrival has its verdict
    output logic                        bank,              // the one counted in
    output logic                        triggered,
    output logic          [       47:0] expected,          // one more than the greatest number that came
    output logic          [       43:0] last_16ns,         // when the last of the first arrivals came
    input  wire                         count_asked,       // a word of the counts
    input  wire           [        4:0] count_word,
    output logic                        count_answered,
    output logic          [       31:0] count_answer,
    input  wire                         latency_asked,     // a word of the idle bank's latencies
    input  wire           [        3:0] latency_word,
    output logic                        latency_answered,
    output logic          [       31:0] latency_answer,
    input  wire           [LOG2_BINS:0] read_bin,          // of the histogram; the highest bit is the bank
    input  wire                         read_valid,
    output logic          [       31:0] read_count,
    output logic                        read_done,
    input  wire arrival_t               arrival,
    input  wire                         arrival_valid,
    output logic                        arrival_ready,
    output event_t                      told,
    output logic                        told_valid,
    input  wire                         told_ready
);

  logic begin_trial;

  // Arrivals come one in sixteen clocks at most (the shortest frame on the wire has 17): time to count one and to tell
  // of a corrupt one. So do verdicts.
  logic [3:0] spacing, verdict_spacing;
  logic resetting, take;

  numbered_t classified, tracked, pending;
  logic [47:0] claim, claim_seen;  // what is told of a corrupt or changed frame beside its number: digest and latency
  logic claim_changed, changed;
  logic [15:0] header;
  logic [43:0] claimed_at;
  class_t kind;
  logic kind_valid, ours_valid, refused, crowded, empty;
  logic tracked_valid, tracked_ready;

  verdict_t verdict, pending_verdict;
  logic verdict_valid, skipped, able, accepted, first, counts_idle;
  logic flushing, flushed;
  logic [47:0] lost_first, lost_last;
  logic [43:0] lost_at;
  logic lost_valid, lost_ready;

  ns_t latency_ns;  // of the arrival that is tracked: it stands for longer than the verdict takes
  logic histogram_ready, histogram_busy, latency_ready, swapped;
  logic tell, drop;
  logic corrupt_pending, corrupt_taken, verdict_pending, verdict_taken, frame_pending, frame_taken;

  assign arrival_ready = spacing == '0;
  assign take = arrival_valid && arrival_ready;
  assign ours_valid = kind_valid && kind == CLASS_OURS;
  assign busy = histogram_busy || swapped || begin_trial;

  always_ff @(posedge clk) begin
    begin_trial <= rst || reset;
    spacing     <= take ? '1 : spacing - 4'(spacing != '0);
    if (rst) spacing <= '0;
  end

  classify classify_arrival (
      .clk          (clk),
      .rst          (begin_trial || resetting),
      .expectation  (configuration.expectation),
      .arrival      (arrival),
      .arrival_valid(take),
      .numbered     (classified),
      .kind         (kind),
      .changed      (changed),
      .header       (header),
      .valid        (kind_valid)
  );

  tracker_queue #(
      .WIDTH     ($bits(numbered_t)),
      .LOG2_DEPTH(LOG2_QUEUE)
  ) queue (
      .clk      (clk),
      .rst      (begin_trial),
      .in       (classified),
      .in_valid (ours_valid),
      .refused  (refused),
      .crowded  (crowded),
      .empty    (empty),
      .out      (tracked),
      .out_valid(tracked_valid),
      .out_ready(tracked_ready)
  );

  // A verdict is taken when all that it goes to is ready. A clock late is soon enough: the tracker needs five at least
  // for the next one.
  assign accepted = verdict_valid && able;
  always_ff @(posedge clk) begin
    able <= histogram_ready && latency_ready && !verdict_pending && !frame_pending && !accepted && !begin_trial &&
            verdict_spacing == '0;
    verdict_spacing <= accepted ? '1 : verdict_spacing - 4'(verdict_spacing != '0);
    if (rst) verdict_spacing <= '0;
  end
  assign tracked_ready = accepted;
  assign first = verdict == VERDICT_IN_ORDER || verdict == VERDICT_REORDERED;

  always_ff @(posedge clk) begin
    latency_ns <= tracked.latency_ns;
    if (accepted && first) last_16ns <= tracked.time_16ns;
  end

  always_ff @(posedge clk) begin
    // Spacing runs longer than classification, so an arrival is in the queue before it ends.
    settled  <= empty && spacing == '0 && !take && !ours_valid && counts_idle;
    flushing <= (flushing || flush) && !flushed;
    finished <= flushed && !lost_valid && counts_idle;
    if (begin_trial) begin
      finished <= '0;
      settled  <= '0;
      flushing <= '0;
    end
  end

  tracker #(
      .LOG2_WINDOW(LOG2_WINDOW)
  ) track (
      .clk          (clk),
      .rst          (begin_trial),
      .number       (tracked.number),
      .at           (tracked.time_16ns),
      .arrival_valid(tracked_valid),
      .verdict      (verdict),
      .skipped      (skipped),
      .verdict_valid(verdict_valid),
      .verdict_ready(accepted),
      .offered      (offered),
      .flush        (flushing && settled),
      .flushed      (flushed),
      .expected     (expected),
      .lost_first   (lost_first),
      .lost_last    (lost_last),
      .lost_at      (lost_at),
      .lost_valid   (lost_valid),
      .lost_ready   (lost_ready)
  );

  histogram #(
      .LOG2_BINS(LOG2_BINS)
  ) latency_histogram (
      .clk       (clk),
      .rst       (begin_trial),
      .latency_ns(latency_ns),
      .origin_ns (configuration.origin_ns),
      .shift     (configuration.shift),
      .valid     (accepted && first),
      .ready     (histogram_ready),
      .swap      (swap),
      .still     (latency_ready),
      .swapped   (swapped),
      .resetting (resetting),
      .busy      (histogram_busy),
      .bank      (bank),
      .read_bin  (read_bin),
      .read_valid(read_valid),
      .read_count(read_count),
      .read_done (read_done)
  );

  latency latency_sums (
      .clk       (clk),
      .rst       (begin_trial),
      .latency_ns(latency_ns),
      .origin_ns (configuration.origin_ns),
      .valid     (accepted && first),
      .ready     (latency_ready),
      .swap      (swapped),
      .asked     (latency_asked),
      .asked_word(latency_word),
      .answered  (latency_answered),
      .answer    (latency_answer)
  );

  sampling samples (
      .clk       (clk),
      .rst       (begin_trial),
      .choice    (configuration.choice),
      .latency_ns(latency_ns),
      .skipped   (skipped),
      .valid     (accepted),
      .tell      (tell),
      .triggered (triggered)
  );

  counts count (
      .clk          (clk),
      .rst          (begin_trial),
      .kind         (kind),
      .kind_valid   (kind_valid),
      .verdict      (verdict),
      .verdict_valid(accepted),
      .refused      (refused),
      .lost_first   (lost_first),
      .lost_last    (lost_last),
      .lost_valid   (lost_valid && lost_ready),
      .drop         (drop),
      .idle         (counts_idle),
      .asked        (count_asked),
      .asked_word   (count_word),
      .answered     (count_answered),
      .answer       (count_answer)
  );

  // What waits to be told: one of each kind, taken before the next can come.
  always_ff @(posedge clk) begin
    if (corrupt_taken) corrupt_pending <= 1'b0;
    if (kind_valid && (kind == CLASS_CORRUPT || kind == CLASS_OURS && changed)) begin
      corrupt_pending <= 1'b1;
      claim           <= classified.number;
      claimed_at      <= classified.time_16ns;
      claim_seen      <= {header, classified.latency_ns[31:0]};
      claim_changed   <= kind == CLASS_OURS;
    end
    if (verdict_taken) verdict_pending <= 1'b0;
    if (frame_taken) frame_pending <= 1'b0;
    if (accepted) begin
      pending         <= tracked;
      pending_verdict <= verdict;
      verdict_pending <= verdict != VERDICT_IN_ORDER;
    end
    if (tell) frame_pending <= 1'b1;
    if (begin_trial) begin
      corrupt_pending <= '0;
      verdict_pending <= '0;
      frame_pending   <= '0;
    end
  end

  events #(
      .LOG2_DEPTH(LOG2_EVENTS)
  ) tell_events (
      .clk          (clk),
      .rst          (begin_trial),
      .hurry        (crowded),
      .claim        (claim),
      .claimed_at   (claimed_at),
      .claim_seen   (claim_seen),
      .claim_changed(claim_changed),
      .corrupt_valid(corrupt_pending),
      .corrupt_ready(corrupt_taken),
      .numbered     (pending),
      .verdict      (pending_verdict),
      .verdict_valid(verdict_pending),
      .verdict_ready(verdict_taken),
      .frame_valid  (frame_pending),
      .frame_ready  (frame_taken),
      .lost_first   (lost_first),
      .lost_last    (lost_last),
      .lost_at      (lost_at),
      .lost_valid   (lost_valid),
      .lost_ready   (lost_ready),
      .drop         (drop),
      .out          (told),
      .out_valid    (told_valid),
      .out_ready    (told_ready)
  );

endmodule

`default_nettype wire
