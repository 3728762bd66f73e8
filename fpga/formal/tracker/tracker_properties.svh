  // What is always true of the tracker, told as the fate of one watched number, which is any: included in the module
  // under FORMAL only. Proved by induction over arrivals: what holds in some idle state, however it was reached, holds
  // in the next one, and it holds after a reset. A reference of its own: it knows what came, not how that is kept.

  typedef logic [NUMBER_BITS+1:0] f_wide_t;

  logic f_started = 1'b0;
  logic f_done = 1'b0;  // idle again
  number_t f_watched, f_offered;  // any value, but always the same
  f_wide_t f_next;  // one more than the greatest number that came
  logic f_seen;  // the watched number came while it could still be told apart
  logic f_told;  // it was told lost
  logic f_any_told;
  logic f_taken, f_stood;
  number_t f_number, f_lost_first, f_lost_last;

  // The tracker tells an interval.
  logic f_tells, f_tells_watched, f_in_open;
  assign f_tells         = close && !lost_valid;
  assign f_in_open       = open && open_first <= f_watched && f_watched <= open_last;
  assign f_tells_watched = f_tells && f_in_open;

  always_ff @(posedge clk) begin
    f_started    <= 1'b1;
    f_done       <= f_done || f_started && state == STATE_IDLE;
    f_watched    <= f_watched;
    f_offered    <= f_offered;
    f_number     <= number;
    f_taken      <= verdict_valid && verdict_ready;
    f_stood      <= lost_valid && !lost_ready;
    f_lost_first <= lost_first;
    f_lost_last  <= lost_last;
    if (verdict_valid && verdict_ready && !flushed) begin
      if (number == f_watched && verdict != VERDICT_LATE) f_seen <= 1'b1;
      if (f_wide_t'(number) >= f_next) f_next <= f_wide_t'(number) + 1'b1;
    end
    if (f_tells) f_any_told <= 1'b1;
    if (f_tells_watched) f_told <= 1'b1;
    if (rst) begin
      f_next     <= '0;
      f_seen     <= '0;
      f_told     <= '0;
      f_any_told <= '0;
    end
  end

  // The state between two arrivals.
  logic f_holds;
  always_comb begin
    f_holds = f_wide_t'(expected) == f_next && expected <= f_offered && !(f_seen && f_told);
    if (lost_valid) f_holds &= f_any_told;
    if (f_watched >= f_offered) f_holds &= !f_seen && !f_told;
    if (flushed) begin
      if (f_watched < f_offered) f_holds &= f_seen != f_told;
    end else begin
      f_holds &= leaving == $signed({1'b0, expected}) - signed_t'(WINDOW);
      if (open) f_holds &= open_first <= open_last && $signed({1'b0, open_last} + 1'b1) == leaving;
      // A number that came lies between what was told and what may be told next.
      if (f_any_told) begin
        f_holds &= !leaving[NUMBER_BITS];
        f_holds &= {1'b0, lost_last} + 1'b1 < (open ? {1'b0, open_first} : leaving);
      end
      if (f_wide_t'(f_watched) >= f_next) f_holds &= !f_seen && !f_told;
      else if (f_wide_t'(f_watched) + f_wide_t'(WINDOW) < f_next) begin
        f_holds &= f_seen ? !f_in_open : f_told != f_in_open;
      end else f_holds &= !f_told && memory[f_watched[LOG2_WINDOW-1:0]] == f_seen;
    end
  end

  always_comb begin
    assume (offered == f_offered);
    assume ({1'b0, f_offered} <= (NUMBER_BITS + 1)'(2 ** NUMBER_BITS - WINDOW));
    if (arrival_valid) assume (number < f_offered);  // classification sees to it
`ifdef AFTER_RESET
    assume (rst == !f_started);
    if (f_started && !f_done) assert (f_holds);
`else
    assume (!rst);
    // One arrival, or the flush, at once; what follows is another step of the induction. The verdict is taken at once.
    assume (verdict_ready);
    if (!f_started) assume (state == STATE_IDLE && f_holds);
    else if (f_done || state == STATE_IDLE || f_taken) assume (!arrival_valid && (!flush || flushed));
`ifdef FLUSH
    else assume (!arrival_valid && flush);
    if (!f_started) assume (!arrival_valid && flush && !flushed);
`else
    else assume (arrival_valid && number == f_number);
    if (!f_started) assume (arrival_valid);
`ifdef AHEAD
    if (!f_started) assume (!flushed && f_wide_t'(number) == f_next + f_wide_t'(`AHEAD));
`elsif JUMP
    if (!f_started) assume (!flushed && f_wide_t'(number) >= f_next + f_wide_t'(WINDOW));
`else
    if (!f_started) assume (flushed || f_wide_t'(number) < f_next);
`endif
`endif
    if (f_started) begin
      if (state == STATE_IDLE) assert (f_holds);

      if (verdict_valid) begin
        if (flushed) assert (verdict == VERDICT_LATE);
        else if (f_wide_t'(number) >= f_next) assert (verdict == VERDICT_IN_ORDER);
        else if (f_wide_t'(number) + f_wide_t'(WINDOW) < f_next) assert (verdict == VERDICT_LATE);
        else if (number == f_watched) assert (verdict == (f_seen ? VERDICT_DUPLICATED : VERDICT_REORDERED));
        else assert (verdict == VERDICT_DUPLICATED || verdict == VERDICT_REORDERED);
        if (!flushed) assert (skipped == (f_wide_t'(number) > f_next));
      end

      // Told once, never after it came, in ascending order with something between; and it stands till it is taken.
      if (f_tells_watched) assert (!f_seen && !f_told);
      if (f_tells && f_any_told) assert ({1'b0, open_first} > {1'b0, lost_last} + 1'b1);
      if (f_tells) assert (open_first <= open_last && open_last < f_offered);
      if (f_stood) assert (lost_valid && lost_first == f_lost_first && lost_last == f_lost_last);
    end
`ifdef REACHED
    // To be refuted: the induction step ends, and it ends in time.
    assert (!f_done);
`endif
`endif
  end
