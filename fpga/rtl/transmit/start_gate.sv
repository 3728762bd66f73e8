// Says that the time base has reached the start. `start_ns` must stand still from before `armed` rises until it falls.
`default_nettype none

module start_gate
  import instrument_pkg::ns_t;
(
    input  wire  time_clk,
    input  wire  time_rst,
    input  wire  ns_t now_ns,
    input  wire  armed,     // of another clock
    input  wire  ns_t start_ns,  // of another clock
    output logic reached    // stays until armed falls
);

  logic arm;
  // verilator lint_off UNUSEDSIGNAL
  ns_t  since_ns;  // only its sign counts
  // verilator lint_on UNUSEDSIGNAL

  sync_bit sync (
      .clk (time_clk),
      .from(armed),
      .to  (arm)
  );

  always_ff @(posedge time_clk) begin
    since_ns <= now_ns - start_ns;  // modulo 2^48: less than half of it is the past
    reached  <= !time_rst && arm && (reached || !since_ns[47]);
  end

endmodule

`default_nettype wire
