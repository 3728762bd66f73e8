// Resets both sides of a receiver so that the resets overlap, however slow the PHY's clock is. While that clock stands
// still, the host's side stays in reset: nothing can arrive.
`default_nettype none

module receive_reset (
    input  wire  clk,
    input  wire  rst,
    input  wire  rx_clk,
    output logic held,    // in clk
    output logic rx_rst   // in rx_clk
);

  // A clock of rx_clk after rx_rst everything there is as the reset wants it, and this side may see it.
  logic is_reset;
  logic seen;

  always_ff @(posedge rx_clk) is_reset <= rx_rst;

  always_ff @(posedge clk) begin
    if (rst) held <= 1'b1;
    else if (seen) held <= 1'b0;
  end

  sync_bit sync_there (
      .clk (rx_clk),
      .from(held),
      .to  (rx_rst)
  );
  sync_bit sync_back (
      .clk (clk),
      .from(is_reset),
      .to  (seen)
  );

endmodule

`default_nettype wire
