// Brings pulses of one clock into another clock's domain. Pulses closer than three clocks of the receiver may be lost.
`default_nettype none

module sync_pulse (
    input  wire  from_clk,
    input  wire  from_rst,
    input  wire  from,
    input  wire  to_clk,
    input  wire  to_rst,
    output logic to
);

  logic toggle, arrived, seen;

  always_ff @(posedge from_clk) begin
    if (from_rst) toggle <= '0;
    else toggle <= toggle ^ from;
  end

  sync_bit sync (
      .clk (to_clk),
      .from(toggle),
      .to  (arrived)
  );

  always_ff @(posedge to_clk) begin
    if (to_rst) begin
      seen <= '0;
      to   <= '0;
    end else begin
      seen <= arrived;
      to   <= seen != arrived;
    end
  end

endmodule

`default_nettype wire
