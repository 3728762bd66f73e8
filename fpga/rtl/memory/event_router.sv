// Takes the events of both ports in turn and sends them to the ring, or lost intervals to the port's bitmap once the
// ring has no room or no time for them. Once a port has turned to its bitmap its intervals must never go to the ring.
`default_nettype none

module event_router
  import instrument_pkg::*;
(
    input  wire               clk,
    input  wire               rst,             // also back to the ring
    input  wire               enable,          // otherwise events are discarded
    input  wire               nearly_full,     // the ring
    input  wire         [1:0] crowded,         // events of the port wait because the memory is too slow
    input  wire event_t [1:0] happened,
    input  wire         [1:0] happened_valid,
    output logic        [1:0] happened_ready,
    output logic        [1:0] to_bitmap,       // the port has turned to its bitmap
    output event_t            routed,
    output logic              routed_port,
    output logic              ring_valid,
    input  wire               ring_ready,
    output logic        [1:0] bitmap_valid,
    input  wire         [1:0] bitmap_ready,
    output logic              idle
);

  logic turn, valid, chosen, taken;
  logic is_lost, has_turned;

  // The port that did not come last, if it has something to tell.
  assign chosen = happened_valid[turn] ? turn : !turn;
  assign happened_ready = {2{!valid}} & (2'b01 << chosen);
  assign idle = !valid && happened_valid == '0;

  assign is_lost = routed.kind == EVENT_LOST;
  assign ring_valid = valid && enable && !(is_lost && has_turned);
  assign bitmap_valid = {2{valid && enable && is_lost && has_turned}} & (2'b01 << routed_port);
  assign taken = (ring_valid && ring_ready) || (bitmap_valid & bitmap_ready) != '0 || !enable;

  always_ff @(posedge clk) begin
    if (rst) begin
      valid      <= '0;
      turn       <= '0;
      has_turned <= '0;
      to_bitmap  <= '0;
    end else if (!valid) begin
      routed      <= happened[chosen];
      routed_port <= chosen;
      valid       <= happened_valid != '0;
      has_turned  <= to_bitmap[chosen];
      if (happened_valid != '0) begin
        turn <= !chosen;
        if (enable && happened[chosen].kind == EVENT_LOST && (nearly_full || crowded[chosen])) begin
          has_turned        <= '1;
          to_bitmap[chosen] <= '1;
        end
      end
    end else if (taken) valid <= '0;
  end

endmodule

`default_nettype wire
