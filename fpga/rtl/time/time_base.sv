// The nanosecond count of the instrument: k ticks of 128.125 MHz after it was set, exactly floor(k * 320 / 41) more.
// Must never skip or repeat: two stamps differ by what lay between their ticks. The tick is not that of the ports on
// purpose: it slides along a frame's clock by 1/41 of a period each time, so that stamps of many frames average.
`default_nettype none

module time_base
  import instrument_pkg::ns_t;
(
    input  wire  time_clk,
    input  wire  time_rst,
    input  wire  set,
    input  wire ns_t set_ns,  // to stay for a tick after `set`
    output ns_t  now_ns
);

  localparam int LOW = 24;  // the count is two halves, of which the second follows a tick later, with the carry

  typedef logic [LOW-1:0] low_t;
  typedef logic [47-LOW:0] high_t;

  logic [5:0] fraction;  // of a nanosecond, in 41 parts: a tick adds 7 and 33 of them
  logic long, carry, setting;
  low_t low, low_shown;
  high_t high;

  assign now_ns = {high, low_shown};

  always_ff @(posedge time_clk) begin
    low_shown <= low;
    if (time_rst || set) begin
      fraction <= 6'd33;
      long <= '0;
      carry <= '0;
      low <= time_rst ? '0 : set_ns[LOW-1:0];
    end else begin
      long <= fraction >= 6'd8;
      fraction <= fraction >= 6'd8 ? fraction - 6'd8 : fraction + 6'd33;
      {carry, low} <= {1'b0, low} + (LOW + 1)'(7) + (LOW + 1)'(long);
    end
    setting <= set && !time_rst;
    if (time_rst) high <= '0;
    else if (setting) high <= set_ns[47:LOW];
    else high <= high + high_t'(carry);
  end

endmodule

`default_nettype wire
