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
    output logic              bitmap_valid,
    input  wire               bitmap_ready,
    output logic              idle
);

  logic turn, holds, judged, taken;
  logic [1:0] presses;

  // The ports are looked at in turn: choosing between them in the clock of taking would be the longest path.
  assign happened_ready = {2{!holds}} & (2'b01 << turn);
  assign idle = !holds && happened_valid == '0;
  assign taken = (ring_valid && ring_ready) || (bitmap_valid && bitmap_ready);

  always_ff @(posedge clk) begin
    presses <= {2{nearly_full}} | crowded;
    if (rst) begin
      holds        <= '0;
      judged       <= '0;
      turn         <= '0;
      to_bitmap    <= '0;
      ring_valid   <= '0;
      bitmap_valid <= '0;
    end else if (!holds) begin
      routed      <= happened[turn];
      routed_port <= turn;
      holds       <= happened_valid[turn];
      judged      <= '0;
      turn        <= !turn;
    end else if (!judged) begin
      judged <= '1;
      if (!enable) holds <= '0;
      else if (routed.kind == EVENT_LOST && (presses[routed_port] || to_bitmap[routed_port])) begin
        to_bitmap[routed_port] <= '1;
        bitmap_valid           <= '1;
      end else ring_valid <= '1;
    end else if (taken) begin
      ring_valid   <= '0;
      bitmap_valid <= '0;
      holds        <= '0;
    end
  end

endmodule

`default_nettype wire
