// Two statements about crc32_pkg, each an output that is 1 for every input. For proofs only.
`default_nettype none

module crc32_proof (
    input  wire  [31:0] crc,
    input  wire  [ 7:0] octet,
    output logic        equal,   // a byte at a time is what IEEE 802.3 §3.2.9 says a bit at a time
    output logic        residue  // a frame's own FCS after it leaves the same in the register, whatever the frame
);

  // The generating polynomial as the standard writes it, x^32 left out; the register's highest bit goes first.
  localparam logic [31:0] STANDARD = 32'b0000_0100_1100_0001_0001_1101_1011_0111;

  function automatic logic [31:0] reversed(input logic [31:0] word);
    for (int i = 0; i < 32; i++) reversed[i] = word[31-i];
  endfunction

  logic [31:0] serial, frame_end;

  always_comb begin
    serial = reversed(crc);
    for (int i = 0; i < 8; i++)  // the wire carries an octet's lowest bit first
    serial = {serial[30:0], 1'b0} ^ (serial[31] != octet[i] ? STANDARD : 32'b0);
    equal = crc32_pkg::next(crc, octet) == reversed(serial);

    frame_end = crc;
    for (int i = 0; i < 4; i++) frame_end = crc32_pkg::next(frame_end, ~crc[8*i+:8]);
    residue = frame_end == crc32_pkg::RESIDUE;
  end

endmodule

`default_nettype wire
