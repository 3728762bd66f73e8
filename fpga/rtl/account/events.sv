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

  event_t chosen, picked;
  logic chosen_valid, chosen_ready, free;
  logic picked_valid, picked_lost;
  logic [47:0] dropped;
  logic [LOG2_PATIENCE-1:0] patience;
  logic impatient;

  // An event is taken every other clock at most, so that answers are registers and the queue's room is known.
  assign free = !chosen_valid && !corrupt_ready && !verdict_ready && !frame_ready && !lost_ready;

  always_comb begin
    picked_valid = 1'b1;
    picked_lost  = 1'b0;
    if (corrupt_valid) picked = corrupt;
    else if (verdict_valid) picked = verdict;
    else if (frame_valid) picked = frame;
    else begin
      picked       = lost;
      picked_lost  = 1'b1;
      picked_valid = lost_valid && (chosen_ready || impatient);
    end
  end

  always_ff @(posedge clk) begin
    corrupt_ready <= 1'b0;
    verdict_ready <= 1'b0;
    frame_ready   <= 1'b0;
    lost_ready    <= 1'b0;
    drop          <= 1'b0;
    impatient     <= hurry || &patience;

    if (!lost_valid || lost_ready) patience <= '0;
    else if (!(&patience)) patience <= patience + 1'b1;

    if (chosen_ready) chosen_valid <= 1'b0;
    if (free && dropped != '0 && chosen_ready) begin
      chosen.kind  <= EVENT_DROPPED;
      chosen.first <= '0;
      chosen.last  <= dropped;
      chosen_valid <= 1'b1;
      dropped      <= '0;
    end else if (free && picked_valid) begin
      chosen       <= picked;
      chosen_valid <= chosen_ready;
      drop         <= !chosen_ready;
      if (!chosen_ready) dropped <= dropped + 1'b1;
      corrupt_ready <= corrupt_valid;
      verdict_ready <= verdict_valid && !corrupt_valid;
      frame_ready   <= frame_valid && !verdict_valid && !corrupt_valid;
      lost_ready    <= picked_lost;
    end

    if (rst) begin
      corrupt_ready <= '0;
      verdict_ready <= '0;
      frame_ready   <= '0;
      lost_ready    <= '0;
      chosen_valid  <= '0;
      dropped       <= '0;
      patience      <= '0;
    end
  end

  sync_fifo #(
      .WIDTH($bits(event_t)),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) queue (
      .clk      (clk),
      .rst      (rst),
      .in       (chosen),
      .in_valid (chosen_valid),
      .in_ready (chosen_ready),
      .out      (out),
      .out_valid(out_valid),
      .out_ready(out_ready)
  );

endmodule

`default_nettype wire
