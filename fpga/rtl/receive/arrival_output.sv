// A register between the queue's memory and accounting. Never changes what it offers until that is taken.
`default_nettype none

module arrival_output
  import instrument_pkg::arrival_t;
(
    input  wire           clk,
    input  wire           rst,
    input  wire arrival_t in,
    input  wire           in_valid,
    output logic          in_ready,
    output arrival_t      arrival,
    output logic          arrival_valid,
    input  wire           arrival_ready
);

  // Arrivals are so far apart that the next one may wait a clock longer.
  assign in_ready = !arrival_valid;

  always_ff @(posedge clk) begin
    if (in_ready) arrival <= in;
    if (rst) arrival_valid <= 1'b0;
    else arrival_valid <= in_ready ? in_valid : !arrival_ready;
  end

endmodule

`default_nettype wire
