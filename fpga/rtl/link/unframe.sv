// Takes the octets of frames out of a byte stream (RFC 1662 §4.2) and judges each frame by its FCS-32.
// After a frame it takes no more bytes until `resume`. It must never call a frame good whose FCS is wrong.
`default_nettype none

module unframe
  import link_pkg::*;
(
    input  wire        clk,
    input  wire        rst,
    input  wire  [7:0] in,
    input  wire        in_valid,
    output logic       in_ready,
    output logic [7:0] octet,        // of the frame, its FCS included
    output logic       octet_valid,
    output logic       ended,        // one clock, after the last octet
    output logic       good,         // valid with `ended`
    input  wire        resume
);

  logic [7:0] byte_in;
  logic byte_valid, byte_is_flag, byte_is_escape;
  logic escaped, some, holding, take;
  logic [31:0] crc;
  logic [ 7:0] plain;

  assign take = byte_valid && !holding;
  assign in_ready = !byte_valid || take;
  assign plain = byte_in ^ (escaped ? ESCAPED : 8'h00);

  always_ff @(posedge clk) begin
    if (in_ready) begin
      byte_in        <= in;
      byte_is_flag   <= in == FLAG;
      byte_is_escape <= in == ESCAPE;
    end
    octet <= plain;
    good  <= crc == crc32_pkg::RESIDUE && !escaped;  // an escape before a flag is RFC 1662's abort
    if (rst) begin
      byte_valid  <= '0;
      escaped     <= '0;
      some        <= '0;
      holding     <= '0;
      octet_valid <= '0;
      ended       <= '0;
      crc         <= crc32_pkg::START;
    end else begin
      if (in_ready) byte_valid <= in_valid;
      octet_valid <= '0;
      ended       <= '0;
      if (resume) holding <= '0;
      if (take) begin
        if (byte_is_flag) begin
          ended   <= some;
          holding <= some;
          some    <= '0;
          escaped <= '0;
          crc     <= crc32_pkg::START;
        end else if (byte_is_escape) begin
          escaped <= '1;
          some    <= '1;
        end else begin
          octet_valid <= '1;
          some        <= '1;
          escaped     <= '0;
          crc         <= crc32_pkg::next(crc, plain);
        end
      end
    end
  end

endmodule

`default_nettype wire
