// Writes events as records of five words one after another into a ring of the memory, and counts those that had no
// room. It must never write over a record that the host has not taken, unless it is told to overwrite.
`default_nettype none

module ring
  import instrument_pkg::*;
  import memory_pkg::*;
#(
    parameter int WORD_BITS = 21,
    parameter int RECORDS   = ring_records(WORD_BITS)
) (
    input  wire                         clk,
    input  wire                         rst,             // also empties the ring
    input  wire                         overwrite,
    input  wire         [         31:0] taken,
    output logic        [         31:0] written,
    output logic                        full,
    output logic                        nearly_full,     // seven eighths
    output logic                        dropped,         // one clock for each event that had no room
    output logic                        idle,
    input  wire event_t                 happened,
    input  wire                         origin,
    input  wire                         happened_valid,
    output logic                        happened_ready,
    output logic        [WORD_BITS-1:0] address,
    output logic        [         31:0] word,
    output logic                        word_valid,
    input  wire                         word_ready
);

  typedef enum logic [1:0] {
    WAIT,
    DECIDE,
    WRITE,
    SETTLE   // until `full` counts the record
  } state_t;

  state_t         state;
  event_t         next;
  logic           next_origin;
  logic           is_report;  // the record being written tells of dropped events; the event comes after it
  logic           has_unreported;
  logic    [31:0] unreported;  // events dropped since the last record
  logic    [43:0] dropped_time;
  record_t        shifted;
  logic    [ 2:0] words_left;
  logic    [32:0] records_left;  // before the last place of the ring: there when below zero
  logic    [31:0] level;
  logic    [ 1:0] delay;

  assign happened_ready = state == WAIT;
  assign idle = state == WAIT && !happened_valid;
  assign word = shifted[$bits(record_t)-1-:32];
  assign word_valid = state == WRITE;

  always_ff @(posedge clk) begin
    level       <= written - taken;
    full        <= level >= 32'(RECORDS) && !overwrite;
    nearly_full <= level >= 32'(RECORDS / 8 * 7) && !overwrite;
    dropped     <= '0;
    if (rst) begin
      state          <= WAIT;
      written        <= '0;
      address        <= '0;
      records_left   <= 33'(RECORDS - 2);
      unreported     <= '0;
      has_unreported <= '0;
      full           <= '0;
      nearly_full    <= '0;
    end else begin
      unique case (state)
        WAIT: begin
          next        <= happened;
          next_origin <= origin;
          if (happened_valid) state <= DECIDE;
        end

        DECIDE: begin
          words_left <= 3'(memory_pkg::WORDS - 1);
          is_report  <= has_unreported;
          shifted    <= '{origin: 4'(next_origin), serial: written[11:0], happened: next};
          if (has_unreported)
            shifted.happened <= '{kind: EVENT_DROPPED, time_16ns: dropped_time, first: '0, last: 48'(unreported)};
          if (full) begin
            state          <= WAIT;
            dropped        <= '1;
            unreported     <= unreported + 1'b1;
            has_unreported <= '1;
            if (!has_unreported) dropped_time <= next.time_16ns;
          end else state <= WRITE;
        end

        WRITE:
        if (word_ready) begin
          shifted    <= shifted << 32;
          words_left <= words_left - 1'b1;
          address    <= address + 1'b1;
          delay      <= 2'd2;
          if (words_left == '0) begin
            written      <= written + 1'b1;
            records_left <= records_left - 1'b1;
            if (records_left[32]) begin
              records_left <= 33'(RECORDS - 2);
              address      <= '0;
            end
            if (is_report) begin
              unreported     <= '0;
              has_unreported <= '0;
            end
            state <= SETTLE;
          end
        end

        SETTLE: begin
          delay <= delay - 1'b1;
          if (delay == '0) state <= is_report ? DECIDE : WAIT;
        end
      endcase
    end
  end

endmodule

`default_nettype wire
