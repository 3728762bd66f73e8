// Marks byte times on a port's GMII: a clock each at 1 Gb/s, ten at 100 Mb/s, a hundred at 10 Mb/s. It may be told
// another speed only while no frame is sent.
`default_nettype none

module byte_strobe (
    input  wire        clk,
    input  wire        rst,
    input  wire  [1:0] speed,  // 0: 10, 1: 100, 2: 1000 Mb/s
    output logic       ends,   // the last clock of a byte time
    output logic       begins  // the first one
);

  logic [6:0] left;
  logic [6:0] clocks;

  always_ff @(posedge clk) begin
    clocks <= speed[1] ? 7'd0 : speed[0] ? 7'd9 : 7'd99;
    left   <= left == '0 ? clocks : left - 1'b1;
    ends   <= left == '0;
    begins <= ends;
    if (rst) begin
      left   <= '0;
      ends   <= '0;
      begins <= '0;
    end
  end

endmodule

`default_nettype wire
