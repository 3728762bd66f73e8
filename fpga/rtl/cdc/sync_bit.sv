// Brings one bit into another clock's domain by two flip-flops. Never for buses: their bits would come apart.
`default_nettype none

module sync_bit (
    input  wire  clk,
    input  wire  from,
    output logic to
);

  (* keep, async_reg = "true" *) logic first;

  always_ff @(posedge clk) begin
    first <= from;
    to <= first;
  end

endmodule

`default_nettype wire
