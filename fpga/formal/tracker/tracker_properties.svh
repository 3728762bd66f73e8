// What is always true of the tracker, told as the fate of one watched number, which is any: included in the module under
// FORMAL only. Proved by induction over arrivals: what holds in some idle state, however it was reached, holds in the
// next one, and it holds after a reset. Must stay a reference of its own: it keeps what came, not how it is kept.

  logic f_started = 1'b0;
  number_t f_watched, f_offered, f_number, f_last_told;  // of the first two any value, but always the same
  logic f_seen;  // the watched number came while it could still be told apart
  logic f_told;  // it was told lost
  logic f_any_told;
  logic f_waits;
  logic f_done = 1'b0;  // idle again
  logic [NUMBER_BITS+1:0] f_next;  // one more than the greatest number that came

  logic f_in_lost, f_in_open, f_left, f_ahead;
  assign f_in_lost = lost_first <= f_watched && f_watched <= lost_last;
  assign f_in_open = open && open_first <= f_watched && f_watched <= open_last;
  assign f_ahead   = (NUMBER_BITS + 2)'(f_watched) >= f_next;
  assign f_left    = (NUMBER_BITS + 2)'(f_watched) + (NUMBER_BITS + 2)'(WINDOW) < f_next;

  always_ff @(posedge clk) begin
    f_started   <= 1'b1;
    f_watched   <= f_watched;
    f_offered   <= f_offered;
    f_waits     <= arrival_valid && !(verdict_valid && verdict_ready);
    f_number    <= number;
    f_done      <= f_done || f_started && state == STATE_IDLE;
    if (verdict_valid && verdict_ready && !flushed) begin
      if (number == f_watched && verdict != VERDICT_LATE) f_seen <= 1'b1;
      if ((NUMBER_BITS + 2)'(number) >= f_next) f_next <= (NUMBER_BITS + 2)'(number) + 1'b1;
    end
    if (lost_valid && lost_ready) begin
      f_any_told  <= 1'b1;
      f_last_told <= lost_last;
      if (f_in_lost) f_told <= 1'b1;
    end
    if (rst) begin
      f_next     <= '0;
      f_seen     <= '0;
      f_told     <= '0;
      f_any_told <= '0;
    end
  end

  // The state between two arrivals.
  logic f_holds;
  number_t f_before;  // the last of the number of all intervals that were told or are about to be
  logic f_any_before;
  assign f_any_before = f_any_told || lost_valid;
  assign f_before     = lost_valid ? lost_last : f_last_told;

  always_comb begin
    f_holds = (NUMBER_BITS + 2)'(expected) == f_next && expected <= f_offered;
    if (lost_valid) begin
      f_holds &= lost_first <= lost_last && lost_last < f_offered;
      if (f_any_told) f_holds &= lost_first > f_last_told && lost_first != f_last_told + 1'b1;
      if (f_in_lost) f_holds &= !f_seen && !f_told;
    end
    if (flushed) begin
      if (f_watched < f_offered) f_holds &= f_seen != (f_told || lost_valid && f_in_lost);
      else f_holds &= !f_told && !f_seen;
    end else begin
      f_holds &= leaving == $signed({1'b0, expected}) - signed_t'(WINDOW);
      if (open) f_holds &= open_first <= open_last && $signed({1'b0, open_last} + 1'b1) == leaving;
      // What was told ends below, and a number that came lies between.
      if (f_any_before) begin
        f_holds &= !leaving[NUMBER_BITS];
        f_holds &= (NUMBER_BITS + 1)'(f_before) + 1'b1 < (open ? {1'b0, open_first} : leaving);
      end
      if (f_ahead) f_holds &= !f_seen && !f_told && !(lost_valid && f_in_lost);
      else if (f_left) f_holds &= f_seen ? !f_told && !f_in_open && !(lost_valid && f_in_lost)
                                         : f_told + f_in_open + (lost_valid && f_in_lost) == 2'd1;
      else f_holds &= !f_told && !f_in_open && !(lost_valid && f_in_lost) && memory[f_watched[LOG2_WINDOW-1:0]] == f_seen;
    end
  end

  always_comb begin
    assume (offered == f_offered);
    assume ({1'b0, f_offered} <= (NUMBER_BITS + 1)'(2 ** NUMBER_BITS - WINDOW));
    if (arrival_valid) assume (number < f_offered);  // classification sees to it
    if (f_started && f_waits) assume (arrival_valid && number == f_number);
`ifdef AFTER_RESET
    assume (rst == !f_started);
    if (f_started && state == STATE_IDLE) assert (f_holds);
`else
    assume (!rst);
    // One arrival or the flush, at once; what follows is another step of the induction.
    if (!f_started) assume (state == STATE_IDLE && f_holds && (arrival_valid || flush));
    if (f_done || f_started && state == STATE_IDLE) assume (!arrival_valid && (!flush || flushed));
    if (f_started) begin
      if (state == STATE_IDLE) assert (f_holds);

      if (verdict_valid) begin
        if (flushed) assert (verdict == VERDICT_LATE);
        else if ((NUMBER_BITS + 2)'(number) >= f_next) assert (verdict == VERDICT_IN_ORDER);
        else if ((NUMBER_BITS + 2)'(number) + (NUMBER_BITS + 2)'(WINDOW) < f_next) assert (verdict == VERDICT_LATE);
        else if (number == f_watched) assert (verdict == (f_seen ? VERDICT_DUPLICATED : VERDICT_REORDERED));
        else assert (verdict == VERDICT_DUPLICATED || verdict == VERDICT_REORDERED);
        if (!flushed) assert (skipped == ((NUMBER_BITS + 2)'(number) > f_next));
      end
      if (lost_valid && f_in_lost) assert (!f_seen && !f_told);
      if (lost_valid) assert (lost_first <= lost_last && lost_last < f_offered);
    end
`endif
`ifdef COVER
    cover (f_started && state == STATE_IDLE && flushed && f_told);
    cover (f_started && verdict_valid && big && f_any_told);
    cover (f_started && verdict_valid && verdict == VERDICT_REORDERED && number == f_watched);
`endif
  end
