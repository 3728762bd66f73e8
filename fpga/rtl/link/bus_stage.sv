// A register between the link and the map of the registers, whose decoder and multiplexer take a clock of their own.
// Must never drop or repeat a request: it holds one until the map takes it.
`default_nettype none

module bus_stage (
    input  wire         clk,
    input  wire         rst,
    // The link
    input  wire         req,
    input  wire         req_is_wr,
    input  wire  [19:0] addr,
    input  wire  [31:0] wr_data,
    output logic        stall,
    // The map
    output logic        map_req,
    output logic        map_req_is_wr,
    output logic [19:0] map_addr,
    output logic [31:0] map_wr_data,
    input  wire         map_stall_wr,
    input  wire         map_stall_rd
);

  assign stall = map_req;

  always_ff @(posedge clk) begin
    if (!map_req) begin
      map_req_is_wr <= req_is_wr;
      map_addr      <= addr;
      map_wr_data   <= wr_data;
    end
    if (rst) map_req <= 1'b0;
    else if (!map_req) map_req <= req;
    else map_req <= map_req_is_wr ? map_stall_wr : map_stall_rd;
  end

endmodule

`default_nettype wire
