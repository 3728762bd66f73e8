// The nanosecond count of the instrument, in ticks of 320/41 ns: k ticks after it was set it is
// floor((320 k + dither) / 41) more, with dither = 17 floor(k / 41) modulo 41. Must never be off by a nanosecond.
//
// The tick is not that of the ports on purpose: it slides along a frame's clock, so that stamps of many frames average.
// The dither does the same for the cut to whole nanoseconds, which would else fall alike on each frame of some periods.
`default_nettype none

module time_base
  import instrument_pkg::ns_t;
(
    input wire time_clk,
    input wire time_rst,
    input wire set,
    input wire ns_t set_ns,  // to stay for a tick after `set`
    output ns_t now_ns
);

  localparam int LOW = 24;  // the count is two halves, of which the second follows a tick later, with the carry

  typedef logic [LOW-1:0] low_t;
  typedef logic [47-LOW:0] high_t;

  // In 41 parts of a nanosecond: a tick is 7 of them whole and 33 parts. What is cut off by then is `fraction`. Where
  // the dither turns by 17, or by 17 - 41, the tick is 50 parts, or 9.
  logic [5:0] fraction, dither;
  logic [5:0] ticks;  // 0..40
  logic turns, grows;
  // What the dither will be once it turns, known a whole turn before.
  logic [5:0] next_dither;
  logic next_grows, last_tick;
  logic [1:0] more;  // nanoseconds beyond 7
  logic carry, setting;
  low_t low, low_shown;
  high_t high;

  assign now_ns = {high, low_shown};

  always_ff @(posedge time_clk) begin
    low_shown <= low;
    if (time_rst || set) begin
      fraction <= 6'd33;  // of the first tick, whose 7 are added while it is
      ticks <= 6'd1;
      last_tick <= '0;
      dither <= '0;
      turns <= '0;
      more <= '0;
      carry <= '0;
      low <= time_rst ? '0 : set_ns[LOW-1:0];
    end else begin
      ticks <= last_tick ? '0 : ticks + 1'b1;
      last_tick <= ticks == 6'd39;
      turns <= last_tick;
      if (last_tick) begin
        grows  <= next_grows;
        dither <= next_dither;
      end
      if (turns) begin
        fraction <= fraction >= 6'd32 ? fraction - 6'd32 : fraction + 6'd9;
        more <= 2'(fraction >= 6'd32) + 2'(grows);
      end else begin
        fraction <= fraction >= 6'd8 ? fraction - 6'd8 : fraction + 6'd33;
        more <= 2'(fraction >= 6'd8);
      end
      {carry, low} <= {1'b0, low} + (LOW + 1)'(7) + (LOW + 1)'(more);
    end
    next_grows <= dither < 6'd24;
    next_dither <= dither < 6'd24 ? dither + 6'd17 : dither - 6'd24;
    setting <= set && !time_rst;
    if (time_rst) high <= '0;
    else if (setting) high <= set_ns[47:LOW];
    else high <= high + high_t'(carry);
  end

endmodule

`default_nettype wire
