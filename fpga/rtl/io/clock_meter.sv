// Counts another clock against ours: its periods, in units of 64, within 2^17 of our clocks. Says 0 when it stands
// still. Tells 2.5, 25 and 125 MHz apart; never precise enough to correct a time by.
`default_nettype none

module clock_meter (
    input  wire         clk,
    input  wire         rst,
    input  wire         measured_clk,
    output logic [11:0] count          // 2048 for a clock as fast as ours
);

  logic measured_rst, unit, arrived;
  logic [5:0] periods;
  logic [16:0] window;
  logic [11:0] running;
  logic window_ends;

  sync_bit sync_rst (
      .clk (measured_clk),
      .from(rst),
      .to  (measured_rst)
  );

  always_ff @(posedge measured_clk) begin
    periods <= measured_rst ? '0 : periods + 1'b1;
    unit    <= periods == '1;
  end

  sync_pulse sync_unit (
      .from_clk(measured_clk),
      .from_rst(measured_rst),
      .from    (unit),
      .to_clk  (clk),
      .to_rst  (rst),
      .to      (arrived)
  );

  always_ff @(posedge clk) begin
    window_ends <= window == '1;
    if (rst) begin
      window  <= '0;
      running <= '0;
      count   <= '0;
    end else begin
      window <= window + 1'b1;
      if (window_ends) begin
        count   <= running;
        running <= {11'b0, arrived};
      end else running <= running + {11'b0, arrived};
    end
  end

endmodule

`default_nettype wire
