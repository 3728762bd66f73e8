// One bit for each number of a port, set if it is lost: what is left of the intervals when they come too fast or are
// too many for the ring. Intervals must come in ascending order; one that does not is dropped, never written.
`default_nettype none

module bitmap #(
    parameter int WORD_BITS = 21,
    parameter int AREA_BITS = WORD_BITS - 3,
    parameter logic [WORD_BITS-1:0] BASE = 0
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
    output logic                 idle,        // all that is known is in the memory
    output logic [WORD_BITS-1:0] address,
    output logic [         31:0] word,
    output logic                 word_valid,
    input  wire                  word_ready
);

  typedef enum logic [2:0] {
    WAIT,
    MEASURE,
    CHECK,
    SKIP,    // words without a lost number
    MARK,
    LEAVE,   // a word that the interval goes beyond
    SAVE     // the word that later intervals may still add to
  } state_t;

  state_t state;
  logic started, dirty, whole;
  logic [47:0] from, to, after;
  logic [42:0] here;  // the word's place among all words of numbers
  logic [42:0] skip, span;  // words
  logic is_backward, is_empty;
  logic [AREA_BITS:0] skips, spans, offset;
  logic [31:0] from_on, up_to;

  assign lost_ready = state == WAIT;
  assign idle = state == WAIT && !dirty && !lost_valid;
  assign word_valid = (state == SKIP && skips != '0) || state == LEAVE || state == SAVE;
  assign address = BASE + WORD_BITS'(offset[AREA_BITS-1:0]);
  assign full = offset[AREA_BITS];

  always_ff @(posedge clk) begin
    dropped <= '0;
    after   <= to + 1'b1;
    skip    <= from[47:5] - here;
    span    <= to[47:5] - from[47:5];
    is_backward <= from < ends;
    is_empty <= to < from;
    from_on <= '1 << from[4:0];
    up_to   <= '1 >> ~to[4:0];
    if (rst) begin
      state   <= WAIT;
      started <= '0;
      dirty   <= '0;
      offset  <= '0;
      begins  <= '0;
      ends    <= '0;
    end else begin
      unique case (state)
        WAIT:
        if (lost_valid) begin
          from  <= first;
          to    <= last;
          whole <= '0;
          if (!started) begin
            started <= '1;
            begins  <= first;
            ends    <= first;
            here    <= first[47:5];
            word    <= '0;
          end
          state <= MEASURE;
        end else if (dirty) state <= SAVE;

        MEASURE: state <= CHECK;

        // Distances beyond the area are cut: the area ends before them.
        CHECK: begin
          skips <= skip[42:AREA_BITS] != '0 ? {1'b1, AREA_BITS'(0)} : {1'b0, skip[AREA_BITS-1:0]};
          spans <= span[42:AREA_BITS] != '0 ? {1'b1, AREA_BITS'(0)} : {1'b0, span[AREA_BITS-1:0]};
          state <= SKIP;
          if (full || is_backward || is_empty) begin
            dropped <= '1;
            state   <= WAIT;
          end
        end

        SKIP:
        if (skips == '0) state <= MARK;
        else if (word_ready) begin
          word   <= '0;
          here   <= here + 1'b1;
          offset <= offset + 1'b1;
          skips  <= skips - 1'b1;
          if (&offset[AREA_BITS-1:0]) begin
            dropped <= '1;
            dirty   <= '0;
            ends    <= {here + 1'b1, 5'b0};
            state   <= WAIT;
          end
        end

        MARK: begin
          word  <= word | ((whole ? '1 : from_on) & (spans == '0 ? up_to : '1));
          dirty <= '1;
          ends  <= after;
          state <= spans == '0 ? WAIT : LEAVE;
        end

        LEAVE:
        if (word_ready) begin
          word   <= '0;
          here   <= here + 1'b1;
          offset <= offset + 1'b1;
          spans  <= spans - 1'b1;
          whole  <= '1;  // the interval has begun before the next word
          state  <= MARK;
          if (&offset[AREA_BITS-1:0]) begin
            dropped <= '1;
            dirty   <= '0;
            ends    <= {here + 1'b1, 5'b0};
            state   <= WAIT;
          end
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
