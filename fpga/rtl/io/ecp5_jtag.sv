// The user register ER1 of the ECP5's own JTAG port (instruction 0x32), for link/jtag_user.sv. The pins are the ones
// that load the bitstream. Never uses ER2: debuggers look for theirs there.
`default_nettype none

module ecp5_jtag (
    output wire tck,
    output wire tck_rst,
    output wire selected,  // ER1 is scanned: capture or shift
    output wire shift,
    output wire tdi,
    input  wire tdo
);

  wire jrstn;

  assign tck_rst = !jrstn;

  JTAGG #(
      .ER1("ENABLED"),
      .ER2("DISABLED")
  ) jtagg (
      .JTDO1  (tdo),
      .JTDO2  (1'b0),
      .JTDI   (tdi),
      .JTCK   (tck),
      .JRTI1  (),
      .JRTI2  (),
      .JSHIFT (shift),
      .JUPDATE(),
      .JRSTN  (jrstn),
      .JCE1   (selected),
      .JCE2   ()
  );

endmodule

`default_nettype wire
