// What must be true of the tracker for every order of arrival: it is compared with one watched number's fate, and the
// watched number is any. Holds for formal tools only.
`default_nettype none

module tracker_formal
  import account_pkg::*;
#(
    parameter int NUMBER_BITS = 6,
    parameter int LOG2_WINDOW = 3
) (
    input wire                   clk,
    // Free in every clock.
    input wire [NUMBER_BITS-1:0] any_watched,
    input wire [NUMBER_BITS-1:0] any_offered,
    input wire [NUMBER_BITS-1:0] any_number,
    input wire                   any_arrival,
    input wire                   any_verdict_ready,
    input wire                   any_lost_ready,
    input wire                   any_flush
);

  localparam int WINDOW = 2 ** LOG2_WINDOW;
  typedef logic [NUMBER_BITS:0] wide_t;

  logic started = 1'b0;
  logic [NUMBER_BITS-1:0] watched, offered;  // any, but always the same
  logic [NUMBER_BITS-1:0] number;
  logic arrival, flush;
  verdict_t verdict;
  logic skipped, verdict_valid, flushed, lost_valid;
  logic [NUMBER_BITS-1:0] expected, lost_first, lost_last;
  logic [3:0] lost_at;

  // The reference.
  wide_t next;  // one more than the greatest number that came
  logic seen;  // the watched number came while it could be told
  logic told;  // it was told lost
  logic any_told;
  logic [NUMBER_BITS-1:0] last_told;

  always_ff @(posedge clk) begin
    started <= 1'b1;
    if (!arrival || verdict_valid && any_verdict_ready) begin
      arrival <= any_arrival;
      number  <= any_number;
    end
    if (any_flush) flush <= 1'b1;

    if (verdict_valid && any_verdict_ready && !flushed) begin
      if (number == watched && verdict != VERDICT_LATE) seen <= 1'b1;
      if (wide_t'(number) >= next) next <= wide_t'(number) + 1'b1;
    end
    if (lost_valid && any_lost_ready) begin
      any_told  <= 1'b1;
      last_told <= lost_last;
      if (lost_first <= watched && watched <= lost_last) told <= 1'b1;
    end

    if (!started) begin
      watched  <= any_watched;
      offered  <= any_offered;
      arrival  <= '0;
      flush    <= '0;
      next     <= '0;
      seen     <= '0;
      told     <= '0;
      any_told <= '0;
    end
  end

  tracker #(
      .NUMBER_BITS(NUMBER_BITS),
      .LOG2_WINDOW(LOG2_WINDOW),
      .TIME_BITS  (4)
  ) dut (
      .clk          (clk),
      .rst          (!started),
      .number       (number),
      .at           (4'd0),
      .arrival_valid(arrival),
      .verdict      (verdict),
      .skipped      (skipped),
      .verdict_valid(verdict_valid),
      .verdict_ready(any_verdict_ready),
      .offered      (offered),
      .flush        (flush),
      .flushed      (flushed),
      .expected     (expected),
      .lost_first   (lost_first),
      .lost_last    (lost_last),
      .lost_at      (lost_at),
      .lost_valid   (lost_valid),
      .lost_ready   (any_lost_ready)
  );

  always_comb begin
    // What classification sees to: no number that is not sent.
    if (arrival) assume (number < offered);
    assume (wide_t'(offered) <= wide_t'(2 ** NUMBER_BITS - WINDOW));

    if (started) begin
      // Every verdict, in the order of the rules.
      if (verdict_valid) begin
        if (flushed)
          assert (verdict == VERDICT_LATE);
          else if (wide_t'(number) >= next)
            assert (verdict == VERDICT_IN_ORDER);
            else if (wide_t'(number) + wide_t'(WINDOW) < next)
              assert (verdict == VERDICT_LATE);
              else assert (verdict == VERDICT_DUPLICATED || verdict == VERDICT_REORDERED);
        if (!flushed) assert (skipped == (wide_t'(number) > next));
        if (number == watched && verdict == VERDICT_DUPLICATED) assert (seen);
        if (number == watched && verdict != VERDICT_DUPLICATED && verdict != VERDICT_LATE) assert (!seen);
      end

      // Intervals ascend without touching, and hold only numbers that did not come and never will in time.
      if (lost_valid) begin
        assert (lost_first <= lost_last && lost_last < offered);
        if (any_told) assert (wide_t'(lost_first) > wide_t'(last_told) + 1'b1);
        if (lost_first <= watched && watched <= lost_last) assert (!seen && !told);
      end

      // At the end each number has come or was told lost, and not both.
      if (flushed && !lost_valid && watched < offered) assert (seen != told);
`ifdef COVER
      cover (flushed && !lost_valid && told);
      cover (flushed && seen && verdict_valid && verdict == VERDICT_LATE);
      cover (verdict_valid && verdict == VERDICT_REORDERED && any_told);
`endif
    end
  end

endmodule

`default_nettype wire
