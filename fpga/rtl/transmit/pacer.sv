// Says in which byte time the next frame begins. It must never let a frame begin before its gap is over.
//
// Counters run down to the moment and their signs tell that it has come; so there is no comparison in the way.
`default_nettype none

module pacer (
    input  wire         clk,
    input  wire         rst,
    input  wire         ce,
    input  wire         restart,            // a pulse before `open`
    input  wire         open,               // the program's time has begun
    input  wire         busy,               // the program still has frames
    input  wire  [31:0] interval_bytes,     // from one scheduled start to the next
    input  wire  [31:0] interval_fraction,  // of a byte time, over 2^32
    input  wire         frame_valid,
    input  wire         scheduled,          // of the next frame: it has a start of its own
    input  wire  [31:0] gap_bytes,          // after the next frame
    input  wire         in_gap,             // the framer can begin a frame
    input  wire         ending,             // it begins a gap with the next byte time
    input  wire         mailbox_valid,
    input  wire  [11:0] mailbox_bytes,
    // With ce: the preamble begins with the next byte time.
    output logic        begin_frame,
    output logic        begin_mailbox,
    output logic        began_frame,        // a clock later, for all that has time
    output logic [31:0] lag_bytes           // the most byte times that a frame was late
);

  // Preamble, FCS and two gaps of 12 around a mailbox frame, and what the comparison is behind.
  localparam logic [12:0] MAILBOX_COST = 13'(8 + 4 + 2 * 12 + 8);
  localparam logic [4:0] LEAST_GAP = 5'd12;  // around mailbox frames and between programs

  logic [32:0] gap_left, gap_after;
  logic [33:0] wait_left, wait_step;
  logic [12:0] mailbox_cost;
  logic [ 4:0] calm_left;
  logic [31:0] fraction, next_fraction, late;
  logic carry, mailbox_last, first, fits, late_valid, late_compared, late_more;
  logic gap_is_long, gap_is_short, wait_is_long, wait_is_short, begun, stepping;

  wire gap_over = gap_left[32];
  wire due = wait_left[33];
  wire calm = calm_left[4];
  wire gap_has_room = gap_is_long || !gap_is_short;
  wire wait_has_room = wait_is_long || !wait_is_short;

  assign begin_frame = ce && in_gap && open && frame_valid && gap_over && (due || !scheduled) &&
      (calm || !mailbox_last);
  assign begin_mailbox = ce && in_gap && mailbox_valid && fits && calm && !begin_frame;

  // The gap after the last frame of the program; a mailbox frame within it takes nothing from it.
  always_ff @(posedge clk) begin
    if (began_frame) gap_after <= {1'b0, gap_bytes} - 33'd2;
    if (ce) begin
      if (ending && !mailbox_last) gap_left <= gap_after;
      else if (gap_left[32:31] != 2'b10) gap_left <= gap_left - 1'b1;
      if (ending) calm_left <= LEAST_GAP - 5'd2;
      else if (!calm) calm_left <= calm_left - 1'b1;
    end
    if (begin_frame || begin_mailbox) mailbox_last <= begin_mailbox;
    if (restart) begin
      // Of the gap of another program only what every frame needs is kept.
      gap_after <= 33'(LEAST_GAP) - 33'd2;
      if (in_gap) gap_left <= {{28{calm_left[4]}}, calm_left};
      else if (ce && ending) gap_left <= 33'(LEAST_GAP) - 33'd2;
    end
    if (rst) begin
      gap_left     <= '1;
      calm_left    <= '1;
      mailbox_last <= 1'b0;
    end
  end

  // The next scheduled start. Fractions add up, so start k is at floor(k * interval).
  always_ff @(posedge clk) begin
    {carry, next_fraction} <= {1'b0, fraction} + {1'b0, interval_fraction};
    if (ce && open) begin
      // The interval is added two byte times after the start: early enough for the next and late enough for the logic.
      // One adder does both that and the counting.
      begun     <= begin_frame && scheduled;
      stepping  <= begun;
      wait_step <= begun ? {2'b0, interval_bytes} + {34{!carry}} : '1;
      if (begun) fraction <= next_fraction;
      if (stepping || wait_left[33:32] != 2'b10) wait_left <= wait_left + wait_step;
    end
    if (rst || restart) begin
      begun     <= 1'b0;
      stepping  <= 1'b0;
      wait_step <= '1;
      wait_left <= '1;
      fraction  <= '0;
    end
  end

  // A counter below zero says how late it is: -1 is just in time. Looked at in every clock and kept when a frame begins.
  always_ff @(posedge clk) begin
    began_frame <= begin_frame;
    if (!began_frame && !late_valid && !late_compared) late <= ~(scheduled ? wait_left[31:0] : gap_left[31:0]);
    if (began_frame) first <= 1'b0;
    late_valid    <= began_frame && !(first && !scheduled);
    late_compared <= late_valid;
    late_more     <= late > lag_bytes;
    if (late_compared && late_more) lag_bytes <= late;
    if (rst || restart) begin
      first         <= 1'b1;
      lag_bytes     <= '0;
      began_frame   <= 1'b0;
      late_valid    <= 1'b0;
      late_compared <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    mailbox_cost  <= 13'(mailbox_bytes) + MAILBOX_COST;
    gap_is_long   <= !gap_left[32] && gap_left[31:13] != '0;
    gap_is_short  <= gap_left[32] || gap_left[12:0] < mailbox_cost;
    wait_is_long  <= !wait_left[33] && wait_left[32:13] != '0;
    wait_is_short <= wait_left[33] || wait_left[12:0] < mailbox_cost;
    fits          <= !busy || (open && frame_valid && (gap_has_room || (scheduled && wait_has_room)));
  end

endmodule

`default_nettype wire
