// The clocks of the instrument on an ECP5: 125 MHz for the frames, 128.125 MHz for the time, each from a PLL of its own.
// Never resets what the input clock hangs on: on these boards that is a PHY.
`default_nettype none

module ecp5_clocks #(
    // For an input of 25 MHz. VCOs run at 625 and 640.625 MHz; yowasp-ecppll finds the same.
    parameter int INPUT_DIV      = 1,  // input / INPUT_DIV = 25 MHz, times 5
    parameter int TIME_INPUT_DIV = 8   // input / TIME_INPUT_DIV = 3.125 MHz, times 41
) (
    input  wire  input_clk,
    output wire  clk,                // 125 MHz
    output wire  sdram_clk,          // 62.5 MHz
    output wire  shifted_sdram_clk,  // 62.5 MHz, half a period later
    output wire  time_clk,           // 128.125 MHz
    output logic rst,
    output logic time_rst,
    output logic sdram_rst
);

  wire locked, time_locked;
  logic waiting, time_waiting, sdram_waiting;

  EHXPLLL #(
      .CLKI_DIV     (INPUT_DIV),
      .CLKFB_DIV    (5),
      .CLKOP_DIV    (5),
      .CLKOP_CPHASE (2),
      .CLKOS_ENABLE ("ENABLED"),
      .CLKOS_DIV    (10),
      .CLKOS_CPHASE (2),
      .CLKOS2_ENABLE("ENABLED"),
      .CLKOS2_DIV   (10),
      .CLKOS2_CPHASE(7),
      .FEEDBK_PATH  ("CLKOP")
  ) pll (
      .CLKI        (input_clk),
      .CLKFB       (clk),
      .PHASESEL1   (1'b0),
      .PHASESEL0   (1'b0),
      .PHASEDIR    (1'b1),
      .PHASESTEP   (1'b1),
      .PHASELOADREG(1'b1),
      .STDBY       (1'b0),
      .PLLWAKESYNC (1'b0),
      .RST         (1'b0),
      .ENCLKOP     (1'b0),
      .ENCLKOS     (1'b0),
      .ENCLKOS2    (1'b0),
      .ENCLKOS3    (1'b0),
      .CLKOP       (clk),
      .CLKOS       (sdram_clk),
      .CLKOS2      (shifted_sdram_clk),
      .CLKOS3      (),
      .LOCK        (locked),
      .INTLOCK     (),
      .REFCLK      (),
      .CLKINTFB    ()
  );

  EHXPLLL #(
      .CLKI_DIV    (TIME_INPUT_DIV),
      .CLKFB_DIV   (41),
      .CLKOP_DIV   (5),
      .CLKOP_CPHASE(2),
      .FEEDBK_PATH ("CLKOP")
  ) time_pll (
      .CLKI        (input_clk),
      .CLKFB       (time_clk),
      .PHASESEL1   (1'b0),
      .PHASESEL0   (1'b0),
      .PHASEDIR    (1'b1),
      .PHASESTEP   (1'b1),
      .PHASELOADREG(1'b1),
      .STDBY       (1'b0),
      .PLLWAKESYNC (1'b0),
      .RST         (1'b0),
      .ENCLKOP     (1'b0),
      .ENCLKOS     (1'b0),
      .ENCLKOS2    (1'b0),
      .ENCLKOS3    (1'b0),
      .CLKOP       (time_clk),
      .CLKOS       (),
      .CLKOS2      (),
      .CLKOS3      (),
      .LOCK        (time_locked),
      .INTLOCK     (),
      .REFCLK      (),
      .CLKINTFB    ()
  );

  // The domains come out of reset only when both PLLs hold.
  sync_bit sync_locked (
      .clk,
      .from(!(locked && time_locked)),
      .to  (waiting)
  );

  sync_bit sync_time_locked (
      .clk (time_clk),
      .from(!(locked && time_locked)),
      .to  (time_waiting)
  );

  sync_bit sync_sdram_locked (
      .clk (sdram_clk),
      .from(!(locked && time_locked)),
      .to  (sdram_waiting)
  );

  logic [7:0] clocks, time_clocks, sdram_clocks;
  always_ff @(posedge clk) begin
    clocks <= waiting ? '0 : clocks + {7'b0, clocks != '1};
    rst    <= clocks != '1;
  end

  always_ff @(posedge time_clk) begin
    time_clocks <= time_waiting ? '0 : time_clocks + {7'b0, time_clocks != '1};
    time_rst    <= time_clocks != '1;
  end

  always_ff @(posedge sdram_clk) begin
    sdram_clocks <= sdram_waiting ? '0 : sdram_clocks + {7'b0, sdram_clocks != '1};
    sdram_rst    <= sdram_clocks != '1;
  end

endmodule

`default_nettype wire
