// Knows of each number of a stream whether it has come: which are lost, twice there, overtaken. It keeps one bit for
// each of the last 2^LOG2_WINDOW numbers below the greatest one that has come, and tells what leaves that window unseen.
// Must never tell a number lost twice, nor forget one: LOST intervals ascend and with the first arrivals make up 0..n.
//
// A jump ahead costs a clock a number, 2^LOG2_WINDOW at most. A sender that needs 68 clocks for a frame can make no
// more such work than a 68th of the time, so a queue of 64 arrivals before it bridges every jump that is real.
// Reset takes no time: a bit of the window is not looked at before it has been written.
`default_nettype none

module tracker
  import account_pkg::*;
#(
    parameter int NUMBER_BITS = 48,  // numbers stay below 2^NUMBER_BITS - 2^LOG2_WINDOW
    parameter int LOG2_WINDOW = 12,
    parameter int TIME_BITS   = 44
) (
    input  wire                        clk,
    input  wire                        rst,
    // An arrival stays as it is until its verdict is taken, which takes the arrival, too.
    input  wire      [NUMBER_BITS-1:0] number,
    input  wire      [  TIME_BITS-1:0] at,
    input  wire                        arrival_valid,
    output verdict_t                   verdict,
    output logic                       skipped,        // numbers between it and the greatest before are missing
    output logic                       verdict_valid,
    input  wire                        verdict_ready,
    // All below `offered` that have not come are told; from then on every arrival is late.
    input  wire      [NUMBER_BITS-1:0] offered,
    input  wire                        flush,
    output logic                       flushed,
    output logic     [NUMBER_BITS-1:0] expected,       // one more than the greatest that came
    // The interval first..last left the window unseen, its first number when `lost_at` arrived.
    output logic     [NUMBER_BITS-1:0] lost_first,
    output logic     [NUMBER_BITS-1:0] lost_last,
    output logic     [  TIME_BITS-1:0] lost_at,
    output logic                       lost_valid,
    input  wire                        lost_ready
);

  localparam int WINDOW = 2 ** LOG2_WINDOW;

  typedef logic [NUMBER_BITS-1:0] number_t;
  typedef logic signed [NUMBER_BITS:0] signed_t;  // numbers, and down to -WINDOW
  typedef logic [LOG2_WINDOW-1:0] slot_t;

  typedef enum logic [3:0] {
    STATE_IDLE,
    STATE_MEASURE,
    STATE_WEIGH,
    STATE_JUDGE,
    STATE_LOOK,
    STATE_READ,
    STATE_FOUND,
    STATE_SWEEP,
    STATE_TAIL,
    STATE_CLOSE,
    STATE_VERDICT
  } state_t;

  state_t state;
  logic closing;  // the flush is under way
  logic [NUMBER_BITS:0] target;  // the greatest number of the window to be
  logic signed [NUMBER_BITS+1:0] ahead;
  logic big;  // the whole window is left behind
  logic near;  // no further behind than a window

  // The window, read through two registers: slot -> seen_read -> seen.
  (* ram_style = "block", no_rw_check *) logic memory[WINDOW];
  slot_t slot, slot_read;
  logic seen_read, seen;
  logic move, write, write_seen;
  slot_t write_slot;

  // The sweep: `left` slots are still to be read, the three bits follow them through the registers.
  logic [LOG2_WINDOW:0] left;
  logic reading, read, decide;
  signed_t leaving;  // the number whose slot is decided next: the least of the window
  signed_t last_leaving;  // in this clock, if one leaves
  signed_t next_leaving;  // after it

  // The missing numbers that left the window last, if none that came has left since.
  logic open;
  number_t open_first, open_last;
  logic [TIME_BITS-1:0] open_at;
  logic close;

  always_ff @(posedge clk) begin
    if (write) memory[write_slot] <= write_seen;
    if (move) begin
      seen_read <= memory[slot];
      seen      <= seen_read;
      slot_read <= slot;
    end
  end

  // An interval is told when a number that came leaves behind it. The sweep stands until it is taken.
  assign move = state != STATE_SWEEP || !lost_valid;
  assign close = state == STATE_SWEEP ? decide && open && seen : state == STATE_CLOSE && open;

  assign last_leaving = state == STATE_TAIL ? $signed(target - (NUMBER_BITS + 1)'(WINDOW)) : leaving;
  assign next_leaving = $signed(
      state == STATE_TAIL ? target : leaving
  ) + (state == STATE_TAIL ? signed_t'(1) - signed_t'(WINDOW) : signed_t'(1));

  // A slot is written one clock after it was read, never while.
  always_comb begin
    write      = '0;
    write_seen = 1'b1;
    write_slot = target[LOG2_WINDOW-1:0];
    unique case (state)
      STATE_SWEEP: begin
        write      = read;
        write_seen = 1'b0;
        write_slot = slot_read;
      end
      STATE_TAIL: write = !closing;
      STATE_FOUND: write = !seen;
      default: ;
    endcase
  end

  assign verdict_valid = state == STATE_VERDICT;

  always_ff @(posedge clk) begin
    if (lost_ready) lost_valid <= 1'b0;
    if (close && !lost_valid) begin
      lost_valid <= 1'b1;
      lost_first <= open_first;
      lost_last  <= open_last;
      lost_at    <= open_at;
      open       <= 1'b0;
    end

    // Whatever may be the first missing number, until one is.
    if (!open) begin
      open_first <= leaving[NUMBER_BITS-1:0];
      open_at    <= at;
    end

    unique case (state)
      STATE_IDLE: begin
        closing <= flush && !arrival_valid;
        target  <= arrival_valid ? {1'b0, number} : {1'b0, offered} + (NUMBER_BITS + 1)'(WINDOW - 1);
        verdict <= VERDICT_LATE;
        skipped <= 1'b0;
        if (arrival_valid) state <= flushed ? STATE_VERDICT : STATE_MEASURE;
        else if (flush && !flushed) state <= STATE_MEASURE;
      end

      STATE_MEASURE: begin
        ahead <= $signed({1'b0, target}) - $signed({2'b00, expected});
        state <= STATE_WEIGH;
      end

      STATE_WEIGH: begin
        big   <= |ahead[NUMBER_BITS+1:LOG2_WINDOW];
        near  <= &ahead[NUMBER_BITS:LOG2_WINDOW];
        state <= STATE_JUDGE;
      end

      STATE_JUDGE: begin
        left <= big ? (LOG2_WINDOW + 1)'(WINDOW) : {1'b0, ahead[LOG2_WINDOW-1:0]} + 1'b1;
        slot <= ahead[NUMBER_BITS+1] ? target[LOG2_WINDOW-1:0] : expected[LOG2_WINDOW-1:0];
        reading <= 1'b0;
        read <= 1'b0;
        decide <= 1'b0;
        if (!ahead[NUMBER_BITS+1]) begin
          verdict <= VERDICT_IN_ORDER;
          skipped <= big || |ahead[LOG2_WINDOW-1:0];
          reading <= 1'b1;
          state   <= STATE_SWEEP;
        end else if (closing) state <= STATE_CLOSE;
        else if (near) state <= STATE_LOOK;
        else state <= STATE_VERDICT;
      end

      // Smaller than the greatest, and in the window: its bit says which.
      STATE_LOOK: state <= STATE_READ;
      STATE_READ: state <= STATE_FOUND;
      STATE_FOUND: begin
        verdict <= seen ? VERDICT_DUPLICATED : VERDICT_REORDERED;
        state   <= STATE_VERDICT;
      end

      STATE_SWEEP: begin
        // Not asked whether the sweep stands: until it goes on nobody looks, and then it is the same number.
        if (decide && !seen && !leaving[NUMBER_BITS]) open_last <= last_leaving[NUMBER_BITS-1:0];
        if (move) begin
          slot <= slot + 1'b1;
          if (reading) left <= left - 1'b1;
          reading <= reading && left != 1;
          read    <= reading;
          decide  <= read;
          if (decide) begin
            leaving <= next_leaving;
            if (!seen && !leaving[NUMBER_BITS]) open <= 1'b1;
          end
          if (!reading && !read && !decide) state <= STATE_TAIL;
        end
      end

      // Numbers that the jump left behind without their ever having been in the window.
      STATE_TAIL: begin
        if (big) begin
          open      <= 1'b1;
          open_last <= last_leaving[NUMBER_BITS-1:0];
          leaving   <= next_leaving;
        end
        if (!closing) expected <= number_t'(target + 1'b1);
        state <= closing ? STATE_CLOSE : STATE_VERDICT;
      end

      STATE_CLOSE:
      if (!lost_valid) begin
        flushed <= 1'b1;
        state   <= STATE_IDLE;
      end

      STATE_VERDICT: if (verdict_ready) state <= STATE_IDLE;

      default: state <= STATE_IDLE;
    endcase

    if (rst) begin
      state      <= STATE_IDLE;
      closing    <= '0;
      expected   <= '0;
      leaving    <= -signed_t'(WINDOW);
      open       <= '0;
      flushed    <= '0;
      lost_valid <= '0;
    end
  end

`ifdef FORMAL
  `include "tracker_properties.svh"
`endif

endmodule

`default_nettype wire
