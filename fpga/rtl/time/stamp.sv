// The time of an event of another clock's domain: the event is a change of `toggle`. The stamp stays as it is until
// the next change, so the other domain may read it eight of the slower clock's periods after its event.
`default_nettype none

module stamp
  import instrument_pkg::ns_t;
(
    input  wire      time_clk,
    input  wire      time_rst,
    input  wire ns_t now_ns,
    input  wire      toggle,
    output ns_t      stamp_ns
);

  logic arrived, seen;

  sync_bit sync (
      .clk (time_clk),
      .from(toggle),
      .to  (arrived)
  );

  always_ff @(posedge time_clk) begin
    seen <= time_rst ? 1'b0 : arrived;
    if (seen != arrived) stamp_ns <= now_ns;
  end

endmodule

`default_nettype wire
