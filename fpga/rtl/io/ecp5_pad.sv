// A pin of an ECP5 that is driven at times and listened to always.
`default_nettype none

module ecp5_pad (
    inout  wire pin,
    input  wire out,
    input  wire drive,
    output wire in
);

  TRELLIS_IO #(
      .DIR("BIDIR")
  ) pad (
      .B(pin),
      .I(out),
      .T(!drive),
      .O(in)
  );

endmodule

`default_nettype wire
