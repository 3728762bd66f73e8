// Joins what is found of single frames into one stream of events with a short queue. A source holds its event until it
// is taken. LOST may wait for room as long as `hurry` does not say that frames would be missed for it; whatever else
// finds no room is dropped, counted, and told by one EVENT_DROPPED when there is room again. Never holds up a frame.
`default_nettype none

module events
  import instrument_pkg::*;
#(
    parameter int LOG2_DEPTH = 4,
    parameter int LOG2_PATIENCE = 12  // clocks that LOST waits for room
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         hurry,
    input  wire event_t corrupt,
    input  wire         corrupt_valid,
    output logic        corrupt_ready,
    input  wire event_t verdict,
    input  wire         verdict_valid,
    output logic        verdict_ready,
    input  wire event_t frame,
    input  wire         frame_valid,
    output logic        frame_ready,
    input  wire event_t lost,
    input  wire         lost_valid,
    output logic        lost_ready,
    output logic        drop,           // an event was dropped
    output event_t      out,
    output logic        out_valid,
    input  wire         out_ready
);

  // An event every fourth clock: look for room, choose, take, and let the source and the queue answer. So each answer is
  // a register. That is quick enough: a frame leads to three events at most.
  typedef enum logic [1:0] {
    STEP_LOOK,
    STEP_CHOOSE,
    STEP_TAKE,
    STEP_ANSWER
  } step_t;

  step_t  step;
  event_t chosen;
  logic chosen_valid, room;
  logic take_corrupt, take_verdict, take_frame, take_lost, take_dropped;
  logic [31:0] dropped;
  logic any_dropped;
  logic [LOG2_PATIENCE-1:0] patience;
  logic impatient;
  (* ram_style = "distributed" *) logic [$bits(event_t)-1:0] memory[2**LOG2_DEPTH];
  logic [LOG2_DEPTH:0] written, taken;

  always_ff @(posedge clk) begin
    step          <= step_t'(step + 1'b1);
    impatient     <= hurry || &patience;
    corrupt_ready <= 1'b0;
    verdict_ready <= 1'b0;
    frame_ready   <= 1'b0;
    lost_ready    <= 1'b0;
    chosen_valid  <= 1'b0;
    drop          <= 1'b0;

    if (!lost_valid || lost_ready) patience <= '0;
    else if (!(&patience)) patience <= patience + 1'b1;

    take_dropped <= room && any_dropped;
    take_corrupt <= corrupt_valid && !(room && any_dropped);
    take_verdict <= verdict_valid && !corrupt_valid && !(room && any_dropped);
    take_frame   <= frame_valid && !verdict_valid && !corrupt_valid && !(room && any_dropped);
    take_lost    <= lost_valid && !frame_valid && !verdict_valid && !corrupt_valid && (room ? !any_dropped : impatient);

    if (step == STEP_TAKE) begin
      if (take_corrupt) chosen <= corrupt;
      if (take_verdict) chosen <= verdict;
      if (take_frame) chosen <= frame;
      if (take_lost) chosen <= lost;
      if (take_dropped) begin
        // At the time of the last that was dropped.
        chosen.kind  <= EVENT_DROPPED;
        chosen.first <= '0;
        chosen.last  <= 48'(dropped);
        dropped      <= '0;
        any_dropped  <= 1'b0;
      end
      corrupt_ready <= take_corrupt;
      verdict_ready <= take_verdict;
      frame_ready   <= take_frame;
      lost_ready    <= take_lost;
      chosen_valid  <= room && (take_corrupt || take_verdict || take_frame || take_lost || take_dropped);
      drop          <= !room && (take_corrupt || take_verdict || take_frame || take_lost);
    end
    if (drop) begin
      dropped     <= dropped + 1'b1;
      any_dropped <= 1'b1;
    end

    if (rst) begin
      step          <= STEP_LOOK;
      corrupt_ready <= '0;
      verdict_ready <= '0;
      frame_ready   <= '0;
      lost_ready    <= '0;
      chosen_valid  <= '0;
      drop          <= '0;
      dropped       <= '0;
      any_dropped   <= '0;
      patience      <= '0;
    end
  end

  // The queue: of look-up tables, with registers at both ends so that neither a source nor the memory behind waits for
  // them. An event every other clock comes out.
  always_ff @(posedge clk) begin
    if (chosen_valid) memory[written[LOG2_DEPTH-1:0]] <= chosen;
    if (!out_valid) out <= memory[taken[LOG2_DEPTH-1:0]];
    room <= written - taken != (LOG2_DEPTH + 1)'(2 ** LOG2_DEPTH);

    if (chosen_valid) written <= written + 1'b1;
    if (out_valid) out_valid <= !out_ready;
    else if (written != taken) begin
      out_valid <= 1'b1;
      taken     <= taken + 1'b1;
    end

    if (rst) begin
      written   <= '0;
      taken     <= '0;
      out_valid <= '0;
    end
  end

endmodule

`default_nettype wire
