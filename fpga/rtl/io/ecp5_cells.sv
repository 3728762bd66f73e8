// The ECP5's cells that Yosys must not look into, with all their parameters, for read_slang. Never for simulation.
`default_nettype none

// verilog_lint: waive-start explicit-parameter-storage-type
// verilog_lint: waive-start module-filename
(* blackbox *)
module ODDRX1F #(
    parameter GSR = "ENABLED"
) (
    input  wire SCLK,
    input  wire RST,
    input  wire D0,
    input  wire D1,
    output wire Q
);
endmodule

(* blackbox *)
module IDDRX1F #(
    parameter GSR = "ENABLED"
) (
    input  wire D,
    input  wire SCLK,
    input  wire RST,
    output wire Q0,
    output wire Q1
);
endmodule

(* blackbox *)
module DELAYF #(
    parameter     DEL_MODE  = "USER_DEFINED",
    parameter int DEL_VALUE = 0
) (
    input  wire A,
    input  wire LOADN,
    input  wire MOVE,
    input  wire DIRECTION,
    output wire Z,
    output wire CFLAG
);
endmodule

(* blackbox *)
module EHXPLLL #(
    parameter int CLKI_DIV         = 1,
    parameter int CLKFB_DIV        = 1,
    parameter int CLKOP_DIV        = 8,
    parameter int CLKOS_DIV        = 8,
    parameter int CLKOS2_DIV       = 8,
    parameter int CLKOS3_DIV       = 8,
    parameter     CLKOP_ENABLE     = "ENABLED",
    parameter     CLKOS_ENABLE     = "DISABLED",
    parameter     CLKOS2_ENABLE    = "DISABLED",
    parameter     CLKOS3_ENABLE    = "DISABLED",
    parameter int CLKOP_CPHASE     = 0,
    parameter int CLKOS_CPHASE     = 0,
    parameter int CLKOS2_CPHASE    = 0,
    parameter int CLKOS3_CPHASE    = 0,
    parameter int CLKOP_FPHASE     = 0,
    parameter int CLKOS_FPHASE     = 0,
    parameter int CLKOS2_FPHASE    = 0,
    parameter int CLKOS3_FPHASE    = 0,
    parameter     FEEDBK_PATH      = "CLKOP",
    parameter     CLKOP_TRIM_POL   = "RISING",
    parameter int CLKOP_TRIM_DELAY = 0,
    parameter     CLKOS_TRIM_POL   = "RISING",
    parameter int CLKOS_TRIM_DELAY = 0,
    parameter     OUTDIVIDER_MUXA  = "DIVA",
    parameter     OUTDIVIDER_MUXB  = "DIVB",
    parameter     OUTDIVIDER_MUXC  = "DIVC",
    parameter     OUTDIVIDER_MUXD  = "DIVD",
    parameter int PLL_LOCK_MODE    = 0,
    parameter int PLL_LOCK_DELAY   = 200,
    parameter     STDBY_ENABLE     = "DISABLED",
    parameter     REFIN_RESET      = "DISABLED",
    parameter     SYNC_ENABLE      = "DISABLED",
    parameter     INT_LOCK_STICKY  = "ENABLED",
    parameter     DPHASE_SOURCE    = "DISABLED",
    parameter     PLLRST_ENA       = "DISABLED",
    parameter     INTFB_WAKE       = "DISABLED"
) (
    input  wire CLKI,
    input  wire CLKFB,
    input  wire PHASESEL1,
    input  wire PHASESEL0,
    input  wire PHASEDIR,
    input  wire PHASESTEP,
    input  wire PHASELOADREG,
    input  wire STDBY,
    input  wire PLLWAKESYNC,
    input  wire RST,
    input  wire ENCLKOP,
    input  wire ENCLKOS,
    input  wire ENCLKOS2,
    input  wire ENCLKOS3,
    output wire CLKOP,
    output wire CLKOS,
    output wire CLKOS2,
    output wire CLKOS3,
    output wire LOCK,
    output wire INTLOCK,
    output wire REFCLK,
    output wire CLKINTFB
);
endmodule

(* blackbox *)
module JTAGG #(
    parameter ER1 = "ENABLED",
    parameter ER2 = "ENABLED"
) (
    input  wire JTDO2,
    input  wire JTDO1,
    output wire JTDI,
    output wire JTCK,
    output wire JRTI2,
    output wire JRTI1,
    output wire JSHIFT,
    output wire JUPDATE,
    output wire JRSTN,
    output wire JCE2,
    output wire JCE1
);
endmodule

(* blackbox *)
module TRELLIS_IO #(
    parameter DIR = "INPUT"
) (
    inout  wire B,
    input  wire I,
    input  wire T,
    output wire O
);
endmodule

(* blackbox *)
module OFS1P3DX #(
    parameter GSR = "ENABLED"
) (
    input  wire CD,
    input  wire D,
    input  wire SP,
    input  wire SCLK,
    output wire Q
);
endmodule

// verilog_lint: waive-stop explicit-parameter-storage-type
// verilog_lint: waive-stop module-filename

`default_nettype wire
