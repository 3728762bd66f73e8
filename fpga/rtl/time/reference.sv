// Stamps the edges of a reference, PPS or 10 MHz, by the time base: from marks a known number of the reference's periods
// apart the host computes the frequency of the time base. Must never make a mark of a series in which an edge was
// missing without saying so: `mark_losses` then differs from that of the mark before.
`default_nettype none

module reference
  import instrument_pkg::ns_t;
(
    input  wire             time_clk,
    input  wire             time_rst,
    input  wire ns_t        now_ns,
    input  wire             level,        // of the reference, brought to this clock
    input  wire             restart,      // takes over what follows and begins again
    input  wire      [31:0] edges,        // from mark to mark; 0: off
    input  wire      [31:0] timeout,      // ticks without an edge by which the reference is lost
    output logic            present,
    output logic            mark,
    output logic     [31:0] mark_number,
    output logic     [15:0] mark_losses,
    output logic     [31:0] mark_ticks,   // since the mark before
    output ns_t             mark_ns
);

  logic level_then, high, enabled, rising;
  logic [31:0] period, limit;

  always_ff @(posedge time_clk) begin
    // What lasts a tick only is a bounce of a slow edge, and no edge.
    level_then <= level;
    if (level == level_then) high <= level;
    rising <= level && level_then && !high && enabled && !restart;
    if (restart) begin
      period <= edges - 1'b1;
      limit  <= timeout;
    end
    if (time_rst) enabled <= '0;
    else if (restart) enabled <= edges != '0;
  end

  // Edges are four ticks apart at least, so each of these may know its zero a tick later.
  logic [31:0] left, idle;
  logic last, expired, due;

  assign due = rising && (last || !present);

  always_ff @(posedge time_clk) begin
    last <= left == '0;
    if (rising) left <= due ? period : left - 1'b1;

    idle <= rising ? limit : idle - 1'b1;
    expired <= idle == '0 && !rising;
    if (time_rst || restart) present <= '0;
    else if (rising) present <= '1;
    else if (expired) present <= '0;
  end

  logic [31:0] number, ticks;
  logic [15:0] losses;
  logic full;
  // A mark is made a tick later: what is counted for it need not lie beside what counts edges.
  logic made;

  always_ff @(posedge time_clk) begin
    made <= due && !restart && !time_rst;
    if (time_rst || restart) ticks <= '1;  // of the first mark: not known
    else if (made) ticks <= 32'd1;
    else if (!full) ticks <= ticks + 1'b1;
    full <= &ticks[31:1] && !made && !restart;
    if (time_rst || restart) begin
      number <= '0;
      losses <= '0;
      mark   <= '0;
    end else begin
      if (made) number <= number + 1'b1;
      if (expired && present && !rising) losses <= losses + 1'b1;
      mark <= made;
    end
    if (made) begin
      mark_number <= number;
      mark_losses <= losses;
      mark_ticks  <= ticks;
      mark_ns     <= now_ns;
    end
  end

endmodule

`default_nettype wire
