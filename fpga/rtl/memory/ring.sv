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

  localparam int PLACE_BITS = $clog2(RECORDS);

  typedef enum logic [1:0] {
    WAIT,
    DECIDE,
    WRITE,
    SETTLE   // until `full` counts the record
  } state_t;

  state_t                 state;
  logic                   is_report;  // the record being written tells of dropped events; the event comes after it
  logic                   has_unreported;
  logic    [        31:0] unreported;  // events dropped since the last record
  logic    [        43:0] dropped_time;
  record_t                record;
  logic    [         2:0] words_left;
  logic    [PLACE_BITS:0] records_left;  // before the last place of the ring: there when below zero
  logic    [        31:0] level;
  logic    [         1:0] delay;

  assign idle = state == WAIT && !happened_valid;
  assign word_valid = state == WRITE;

  // The event stays with its owner until its last word is written.
  always_comb begin
    record = '{origin: 4'(origin), serial: written[11:0], happened: happened};
    if (is_report)
      record.happened = '{kind: EVENT_DROPPED, time_16ns: dropped_time, first: '0, last: 48'(unreported)};
    unique case (words_left)
      3'd4: word = record[159:128];
      3'd3: word = record[127:96];
      3'd2: word = record[95:64];
      3'd1: word = record[63:32];
      default: word = record[31:0];
    endcase
  end

  always_ff @(posedge clk) begin
    level          <= written - taken;
    full           <= level >= 32'(RECORDS) && !overwrite;
    nearly_full    <= level >= 32'(RECORDS / 8 * 7) && !overwrite;
    dropped        <= '0;
    happened_ready <= '0;
    if (rst) begin
      state          <= WAIT;
      written        <= '0;
      address        <= '0;
      records_left   <= (PLACE_BITS + 1)'(RECORDS - 2);
      unreported     <= '0;
      has_unreported <= '0;
      full           <= '0;
      nearly_full    <= '0;
    end else begin
      unique case (state)
        WAIT: if (happened_valid) state <= DECIDE;

        DECIDE: begin
          words_left <= 3'(memory_pkg::WORDS - 1);
          is_report  <= has_unreported && !full;
          delay      <= 2'd2;
          if (full) begin
            state          <= SETTLE;
            happened_ready <= '1;
            dropped        <= '1;
            unreported     <= unreported + 1'b1;
            has_unreported <= '1;
            if (!has_unreported) dropped_time <= happened.time_16ns;
          end else state <= WRITE;
        end

        WRITE:
        if (word_ready) begin
          words_left <= words_left - 1'b1;
          address    <= address + 1'b1;
          delay      <= 2'd2;
          if (words_left == '0) begin
            written      <= written + 1'b1;
            records_left <= records_left - 1'b1;
            if (records_left[PLACE_BITS]) begin
              records_left <= (PLACE_BITS + 1)'(RECORDS - 2);
              address      <= '0;
            end
            happened_ready <= !is_report;
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
