// The frame check sequence of IEEE 802.3 §3.2.9, a byte at a time. Holds functions only.
`default_nettype none

package crc32_pkg;

  localparam logic [31:0] START = 32'hFFFF_FFFF;
  // What is left in the register after a frame and its own FCS, before the last inversion.
  localparam logic [31:0] RESIDUE = 32'hDEBB_20E3;
  localparam logic [31:0] POLYNOMIAL = 32'hEDB8_8320;  // bits in the order of the wire, least significant first

  function automatic logic [31:0] next(input logic [31:0] crc, input logic [7:0] octet);
    logic [31:0] left;
    left = crc ^ {24'b0, octet};
    for (int i = 0; i < 8; i++) left = (left >> 1) ^ (left[0] ? POLYNOMIAL : 32'b0);
    return left;
  endfunction

endpackage

`default_nettype wire
