// One bit for each number of a port, set if it is lost: what is left of the intervals when they come too fast or are
// too many for the ring. Intervals must come in ascending order; one that does not is dropped, never written.
`default_nettype none

module bitmap #(
    parameter int                   WORD_BITS = 21,
    parameter int                   AREA_BITS = WORD_BITS - 3,
    parameter logic [WORD_BITS-1:0] BASE      = 0               // a multiple of the area
) (
    input  wire                  clk,
    input  wire                  rst,         // also ends the bitmap
    input  wire  [         47:0] first,
    input  wire  [         47:0] last,
    input  wire                  lost_valid,
    output logic                 lost_ready,
    output logic [         47:0] begins,      // first number that the bitmap tells of
    output logic [         47:0] ends,        // one after the last
    output logic                 full,
    output logic                 dropped,     // one clock for each interval that has no place, or not a whole one
    output logic                 idle,        // all that is known is with the memory
    output logic [WORD_BITS-1:0] address,
    output logic [         31:0] word,
    output logic                 word_valid,
    input  wire                  word_ready
);

  typedef enum logic [3:0] {
    WAIT,
    FIRST,
    MEASURE,
    COMPARE,
    LIMIT,
    CHECK,
    SKIP,    // words without a lost number
    MARK,
    LEAVE,   // a word that the interval goes beyond
    CUT,     // the area ended within the interval
    SAVE     // the word that later intervals may still add to
  } state_t;

  // Words to go, less one: done when below zero.
  typedef logic signed [AREA_BITS+1:0] count_t;

  state_t state;
  logic started, dirty;
  logic has_begun;  // the interval began before this word
  logic [47:0] from, to, after;
  logic [42:0] here;  // the word's place among all words of numbers
  logic [42:0] skip, span;
  logic is_far, is_long, is_wrong, is_backward, is_empty;
  count_t skips, spans;
  logic [AREA_BITS:0] offset;
  logic [31:0] from_on, up_to;

  assign lost_ready = state == WAIT;
  assign word_valid = (state == SKIP && skips >= 0 && !full) || state == LEAVE || state == SAVE;
  assign address = BASE | WORD_BITS'(offset[AREA_BITS-1:0]);
  assign full = offset[AREA_BITS];

  always_ff @(posedge clk) begin
    idle        <= state == WAIT && !dirty && !lost_valid;
    after       <= to + 1'b1;
    skip        <= from[47:5] - here;
    span        <= to[47:5] - from[47:5];
    is_backward <= from < ends;
    is_empty    <= to < from;
    is_far      <= skip[42:AREA_BITS] != '0;
    is_long     <= span[42:AREA_BITS] != '0;
    is_wrong    <= full || is_backward || is_empty;
    from_on     <= '1 << from[4:0];
    up_to       <= '1 >> ~to[4:0];
    dropped     <= '0;
    if (rst) begin
      state   <= WAIT;
      started <= '0;
      dirty   <= '0;
      offset  <= '0;
      begins  <= '0;
      ends    <= '0;
      idle    <= '0;
    end else begin
      unique case (state)
        WAIT:
        if (lost_valid) begin
          from      <= first;
          to        <= last;
          has_begun <= '0;
          state     <= started ? MEASURE : FIRST;
        end else if (dirty) state <= SAVE;

        FIRST: begin
          started <= '1;
          begins  <= from;
          ends    <= from;
          here    <= from[47:5];
          word    <= '0;
          state   <= MEASURE;
        end

        MEASURE: state <= COMPARE;
        COMPARE: state <= LIMIT;

        // Distances beyond the area are cut: the area ends before them.
        LIMIT: begin
          skips <= is_far ? {2'b01, AREA_BITS'(0)} : {2'b00, skip[AREA_BITS-1:0]} - 1'b1;
          spans <= is_long ? {2'b01, AREA_BITS'(0)} : {2'b00, span[AREA_BITS-1:0]} - 1'b1;
          state <= CHECK;
        end

        CHECK: begin
          dropped <= is_wrong;
          state   <= is_wrong ? WAIT : SKIP;
        end

        SKIP:
        if (full) state <= CUT;
        else if (skips < 0) state <= MARK;
        else if (word_ready) begin
          word   <= '0;
          here   <= here + 1'b1;
          offset <= offset + 1'b1;
          skips  <= skips - 1'b1;
        end

        MARK:
        if (full) state <= CUT;
        else begin
          word  <= word | ((has_begun ? '1 : from_on) & (spans < 0 ? up_to : '1));
          dirty <= '1;
          state <= LEAVE;
          if (spans < 0) begin
            ends  <= after;
            state <= WAIT;
          end
        end

        LEAVE:
        if (word_ready) begin
          word      <= '0;
          here      <= here + 1'b1;
          offset    <= offset + 1'b1;
          spans     <= spans - 1'b1;
          has_begun <= '1;
          state     <= MARK;
        end

        CUT: begin
          dropped <= '1;
          dirty   <= '0;
          ends    <= {here, 5'b0};
          state   <= WAIT;
        end

        SAVE:
        if (word_ready) begin
          dirty <= '0;
          state <= WAIT;
        end

        default: state <= WAIT;
      endcase
    end
  end

endmodule

`default_nettype wire
