// A queue in block RAM between the wire and a consumer that now and then takes thousands of clocks for one entry.
// Never holds up who writes: what finds it full is refused and told by `refused`.
`default_nettype none

module tracker_queue #(
    parameter int WIDTH = 140,
    parameter int LOG2_DEPTH = 9
) (
    input  wire              clk,
    input  wire              rst,
    input  wire  [WIDTH-1:0] in,
    input  wire              in_valid,
    output logic             refused,
    output logic             crowded,    // three quarters full: the consumer must not dawdle
    output logic             empty,      // nothing in it, nothing shown, a clock ago
    output logic [WIDTH-1:0] out,
    output logic             out_valid,
    input  wire              out_ready
);

  typedef logic [LOG2_DEPTH:0] pointer_t;

  (* ram_style = "block", no_rw_check *)logic [WIDTH-1:0] memory[2**LOG2_DEPTH];
  logic [WIDTH-1:0] read;
  pointer_t written, taken, level;
  logic full, write, fetching, reading, fetched;
  logic waits;  // an entry that is not shown: a clock late, so it says nothing of the clock in which one is taken

  // An entry is shown one clock after it was written at the earliest. It stays in the memory while it is shown, so that
  // the memory's own register can show it.
  assign write = in_valid && !full;

  always_ff @(posedge clk) begin
    if (write) memory[written[LOG2_DEPTH-1:0]] <= in;
    read <= memory[taken[LOG2_DEPTH-1:0]];
    out  <= read;
  end

  always_ff @(posedge clk) begin
    level   <= written - taken;
    crowded <= level[LOG2_DEPTH] || &level[LOG2_DEPTH-1-:2];
    // A write or two under way may not have reached the level yet.
    full    <= level >= pointer_t'(2 ** LOG2_DEPTH - 4);
    refused <= in_valid && full && !rst;
    if (write) written <= written + 1'b1;
    waits    <= written != taken && !out_valid;
    fetching <= !fetching && !reading && !fetched && !out_valid && waits;
    empty    <= written == taken && !out_valid && !fetching && !reading && !fetched;
    reading  <= fetching;
    fetched  <= reading;
    if (fetched) out_valid <= 1'b1;
    else if (out_valid && out_ready) begin
      out_valid <= 1'b0;
      taken     <= taken + 1'b1;
    end
    if (rst) begin
      level     <= '0;
      full      <= '0;
      written   <= '0;
      taken     <= '0;
      waits     <= '0;
      empty     <= '0;
      fetching  <= '0;
      reading   <= '0;
      fetched   <= '0;
      out_valid <= '0;
    end
  end

endmodule

`default_nettype wire
