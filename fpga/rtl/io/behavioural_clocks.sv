// What ecp5_clocks does, without a PLL: for simulation only, with the same ports. The input clock only releases it.
`default_nettype none
`timescale 1ps / 1ps

module behavioural_clocks #(
    parameter int INPUT_DIV      = 1,
    parameter int TIME_INPUT_DIV = 8
) (
    input  wire  input_clk,
    output logic clk,
    output logic sdram_clk,
    output logic shifted_sdram_clk,
    output logic time_clk,
    output logic rst,
    output logic time_rst,
    output logic sdram_rst
);

  localparam int HalfPs = 4000;
  // 320 000 / 41 ps a period: halves of 3902 and 3903 ps, of which 18 in 41 are the longer.
  localparam int ShortHalfPs = 3902;
  localparam int Longer = 18;
  localparam int Of = 41;

  logic [3:0] inputs;
  logic [7:0] clocks, time_clocks, sdram_clocks;
  int rest;

  initial begin
    clk = 1'b0;
    forever #HalfPs clk = !clk;
  end

  initial begin
    sdram_clk = 1'b0;
    forever #(2 * HalfPs) sdram_clk = !sdram_clk;
  end

  assign shifted_sdram_clk = !sdram_clk;

  initial begin
    time_clk = 1'b0;
    rest = 0;
    forever begin
      rest = rest + Longer;
      if (rest >= Of) begin
        rest = rest - Of;
        #(ShortHalfPs + 1);
      end else #ShortHalfPs;
      time_clk = !time_clk;
    end
  end

  initial inputs = '0;
  always @(posedge input_clk) if (inputs != '1) inputs <= inputs + 1'b1;

  always_ff @(posedge clk) begin
    clocks <= inputs != '1 ? '0 : clocks + {7'b0, clocks != '1};
    rst    <= clocks != '1;
  end

  always_ff @(posedge time_clk) begin
    time_clocks <= inputs != '1 ? '0 : time_clocks + {7'b0, time_clocks != '1};
    time_rst    <= time_clocks != '1;
  end

  always_ff @(posedge sdram_clk) begin
    sdram_clocks <= inputs != '1 ? '0 : sdram_clocks + {7'b0, sdram_clocks != '1};
    sdram_rst    <= sdram_clocks != '1;
  end

  wire unused = INPUT_DIV == TIME_INPUT_DIV;

endmodule

`default_nettype wire
