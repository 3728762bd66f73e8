// Joins what is found of single frames into one stream of events with a queue. A source holds its event until it
// is taken. LOST may wait for room as long as `hurry` does not say that frames would be missed for it; whatever else
// finds no room is dropped, counted, and told by one EVENT_DROPPED when there is room again. Never holds up a frame.
`default_nettype none

module events
  import instrument_pkg::*;
  import account_pkg::*;
#(
    parameter int LOG2_DEPTH = 5,
    parameter int LOG2_PATIENCE = 12  // clocks that LOST waits for room
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   hurry,
    // CORRUPT, or CHANGED
    input  wire            [47:0] claim,
    input  wire            [43:0] claimed_at,
    input  wire            [47:0] claim_seen,
    input  wire                   claim_changed,
    input  wire                   corrupt_valid,
    output logic                  corrupt_ready,
    // What came of a frame, and FRAME
    input  wire numbered_t        numbered,
    input  wire verdict_t         verdict,
    input  wire                   verdict_valid,
    output logic                  verdict_ready,
    input  wire                   frame_valid,
    output logic                  frame_ready,
    // LOST
    input  wire            [47:0] lost_first,
    input  wire            [47:0] lost_last,
    input  wire            [43:0] lost_at,
    input  wire                   lost_valid,
    output logic                  lost_ready,
    output logic                  drop,           // an event was dropped
    output event_t                out,
    output logic                  out_valid,
    input  wire                   out_ready
);

  // An event every fourth clock: look for room, choose, take, and let the source and the queue answer. So each answer is
  // a register. That is quick enough: a frame leads to three events at most. The event goes to the queue in three words,
  // one a clock from STEP_ANSWER on; a source that was taken shows it until then.
  typedef enum logic [1:0] {
    STEP_LOOK,
    STEP_CHOOSE,
    STEP_TAKE,
    STEP_ANSWER
  } step_t;

  typedef enum logic [3:0] {
    WORD_CLAIMED_AT,
    WORD_CLAIM,
    WORD_CLAIM_SEEN,
    WORD_TIME,
    WORD_NUMBER,
    WORD_LATENCY,
    WORD_LOST_AT,
    WORD_LOST_FIRST,
    WORD_LOST_LAST,
    WORD_DROPPED,
    WORD_ZERO
  } word_t;

  step_t step;
  word_t choice;
  logic [47:0] word;
  event_kind_t kind;
  logic room, stored;
  logic take_corrupt, take_verdict, take_frame, take_lost, take_dropped, take_any;
  logic [31:0] dropped;
  logic any_dropped;
  logic [LOG2_PATIENCE-1:0] patience;
  logic impatient;

  // The queue, four places for an event: its time, its kind with its first number, its last number, and nothing. The
  // place after the last event is always free: there the time of the last one that was dropped stays.
  (* ram_style = "block", no_rw_check *) logic [51:0] memory[2**(LOG2_DEPTH+2)];
  logic [51:0] read, held;
  logic [LOG2_DEPTH-1:0] written, taken, level;
  logic [1:0] place;
  logic [2:0] fetch;
  logic write;

  assign take_any = take_corrupt || take_verdict || take_frame || take_lost;
  assign level    = written - taken;

  always_ff @(posedge clk) begin
    step          <= step_t'(step + 1'b1);
    impatient     <= hurry || &patience;
    corrupt_ready <= 1'b0;
    verdict_ready <= 1'b0;
    frame_ready   <= 1'b0;
    lost_ready    <= 1'b0;
    drop          <= 1'b0;

    if (!lost_valid || lost_ready) patience <= '0;
    else if (!(&patience)) patience <= patience + 1'b1;

    if (drop) begin
      dropped     <= dropped + 1'b1;
      any_dropped <= 1'b1;
    end

    if (step == STEP_LOOK && take_dropped) dropped <= '0;

    unique case (step)
      STEP_LOOK: ;
      STEP_CHOOSE: begin
        take_dropped <= room && any_dropped;
        take_corrupt <= corrupt_valid && !(room && any_dropped);
        take_verdict <= verdict_valid && !corrupt_valid && !(room && any_dropped);
        take_frame <= frame_valid && !verdict_valid && !corrupt_valid && !(room && any_dropped);
        take_lost    <= lost_valid && !frame_valid && !verdict_valid && !corrupt_valid &&
                     (room ? !any_dropped : impatient);
        if (corrupt_valid) choice <= WORD_CLAIMED_AT;
        else if (verdict_valid || frame_valid) choice <= WORD_TIME;
        else choice <= WORD_LOST_AT;
      end
      STEP_TAKE: begin
        kind <= EVENT_LOST;
        if (take_corrupt) kind <= claim_changed ? EVENT_CHANGED : EVENT_CORRUPT;
        if (take_verdict) begin
          unique case (verdict)
            VERDICT_REORDERED:  kind <= EVENT_REORDERED;
            VERDICT_DUPLICATED: kind <= EVENT_DUPLICATED;
            default:            kind <= EVENT_LATE;
          endcase
        end
        if (take_frame) kind <= EVENT_FRAME;
        if (take_dropped) begin
          kind        <= EVENT_DROPPED;
          any_dropped <= 1'b0;
        end
        corrupt_ready <= take_corrupt;
        verdict_ready <= take_verdict;
        frame_ready   <= take_frame;
        lost_ready    <= take_lost;
        stored        <= room && take_any || take_dropped;
        drop          <= !room && take_any;
        choice        <= WORD_ZERO;
        if (take_corrupt) choice <= WORD_CLAIM;
        if (take_verdict || take_frame) choice <= WORD_NUMBER;
        if (take_lost) choice <= WORD_LOST_FIRST;
      end
      default: begin
        choice <= WORD_DROPPED;
        if (take_corrupt) choice <= WORD_CLAIM_SEEN;
        if (take_verdict) choice <= WORD_NUMBER;
        if (take_frame) choice <= WORD_LATENCY;
        if (take_lost) choice <= WORD_LOST_LAST;
      end
    endcase

    unique case (choice)
      WORD_CLAIMED_AT: word <= 48'(claimed_at);
      WORD_CLAIM:      word <= claim;
      WORD_CLAIM_SEEN: word <= claim_seen;
      WORD_TIME:       word <= 48'(numbered.time_16ns);
      WORD_NUMBER:     word <= numbered.number;
      WORD_LATENCY:    word <= numbered.latency_ns;
      WORD_LOST_AT:    word <= 48'(lost_at);
      WORD_LOST_FIRST: word <= lost_first;
      WORD_LOST_LAST:  word <= lost_last;
      default:         word <= 48'(dropped);
    endcase
    if (choice == WORD_ZERO) word <= '0;

    if (rst) begin
      step          <= STEP_LOOK;
      corrupt_ready <= '0;
      verdict_ready <= '0;
      frame_ready   <= '0;
      lost_ready    <= '0;
      take_dropped  <= '0;
      take_corrupt  <= '0;
      take_verdict  <= '0;
      take_frame    <= '0;
      take_lost     <= '0;
      stored        <= '0;
      drop          <= '0;
      dropped       <= '0;
      any_dropped   <= '0;
      patience      <= '0;
    end
  end

  // Its memory has registers at both ends, so that neither a source nor who takes the events waits for it. One may be on
  // its way that `room` does not know of.
  assign place = step + 2'd1;
  assign write = step == STEP_ANSWER ? take_any : step != STEP_TAKE;

  always_ff @(posedge clk) begin
    if (write) memory[{written, place}] <= {kind, word};
    read <= memory[{taken, fetch[1:0]}];
    held <= read;
    if (fetch == 3'd2) out.time_16ns <= held[43:0];
    if (fetch == 3'd3) {out.kind, out.first} <= {event_kind_t'(held[51:48]), held[47:0]};
    if (fetch == 3'd4) out.last <= held[47:0];
    room <= level < LOG2_DEPTH'(2 ** LOG2_DEPTH - 2);

    if (step == STEP_CHOOSE && stored) written <= written + 1'b1;
    if (out_valid) out_valid <= !out_ready;
    else if (fetch != 3'd0 || written != taken) fetch <= fetch + 1'b1;
    if (fetch == 3'd4) begin
      fetch     <= '0;
      out_valid <= 1'b1;
      taken     <= taken + 1'b1;
    end

    if (rst) begin
      written   <= '0;
      taken     <= '0;
      fetch     <= '0;
      out_valid <= '0;
    end
  end

endmodule

`default_nettype wire
