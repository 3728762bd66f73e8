// Joins two byte streams to the host: requests come from either, answers go to the one that spoke last.
// Never mixes answers of the two: a host that speaks while the other waits is answered, and the other asks again.
`default_nettype none

module link_choice (
    input wire clk,
    input wire rst,

    input  wire  [1:0][7:0] in,
    input  wire  [1:0]      in_valid,
    output logic [1:0]      in_ready,
    output logic [1:0][7:0] out,
    output logic [1:0]      out_valid,
    input  wire  [1:0]      out_ready,

    // The instrument's side
    output logic [7:0] link_in,
    output logic       link_in_valid,
    input  wire        link_in_ready,
    input  wire  [7:0] link_out,
    input  wire        link_out_valid,
    output logic       link_out_ready
);

  logic chosen;

  always_ff @(posedge clk) begin
    if (rst) chosen <= 1'b0;
    else if (!in_valid[chosen] && in_valid[!chosen]) chosen <= !chosen;
  end

  always_comb begin
    link_in           = in[chosen];
    link_in_valid     = in_valid[chosen];
    in_ready          = '0;
    in_ready[chosen]  = link_in_ready;
    out               = {2{link_out}};
    out_valid         = '0;
    out_valid[chosen] = link_out_valid;
    link_out_ready    = out_ready[chosen];
  end

endmodule

`default_nettype wire
