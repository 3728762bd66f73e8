// One bit for each number of a port, set if it is lost: what is left of the intervals when they come too fast or are
// too many for the ring. One walk, number by number, serves both ports in turn: two clocks a number are a fraction of
// the time in which a frame comes. Intervals of a port must come in ascending order; one that does not is dropped,
// never written.
`default_nettype none

module bitmap #(
    parameter int                   WORD_BITS = 21,
    parameter int                   AREA_BITS = WORD_BITS - 3,
    parameter logic [WORD_BITS-1:0] BASE      = 0               // port 0's area; that of port 1 follows
) (
    input  wire                        clk,
    input  wire                        rst,         // also ends the bitmaps
    input  wire                        origin,      // the port
    input  wire  [         47:0]       first,
    input  wire  [         47:0]       last,
    input  wire                        lost_valid,
    output logic                       lost_ready,
    output logic [          1:0][47:0] begins,      // first number that the bitmap tells of
    output logic [          1:0][47:0] ends,        // one after the last; it moves during a walk
    output logic [          1:0]       full,
    output logic                       dropped,     // one clock for each interval that has no place, or not a whole one
    output logic                       idle,        // all that is known is with the memory
    output logic [WORD_BITS-1:0]       address,
    output logic [         31:0]       word,
    output logic                       word_valid,
    input  wire                        word_ready
);

  typedef enum logic [2:0] {
    WAIT,
    FIRST,
    COMPARE,
    CHECK,
    LOOK,
    STEP,
    LEAVE,  // a word that the walk goes beyond
    SAVE  // the word that later intervals may still add to
  } state_t;

  state_t state;
  logic   port;
  logic [1:0] started, dirty;
  logic marking;  // the walk has come to the interval's first number
  logic is_done;  // and to its last
  logic [47:0] from, to;
  logic [47:0] at;  // that the walk has come to
  logic [1:0][31:0] words;
  logic [1:0][AREA_BITS:0] offsets;
  logic [AREA_BITS:0] offset;
  logic [3:0] like_first, like_last;  // each a quarter of `at`
  logic at_first, at_last, is_backward, is_empty;

  assign at_first = &like_first;
  assign at_last = &like_last;
  assign word = words[port];
  assign offset = offsets[port];
  assign lost_ready = state == WAIT;
  assign word_valid = state == LEAVE || state == SAVE;
  assign address = BASE | {WORD_BITS'(port) << AREA_BITS} | WORD_BITS'(offset[AREA_BITS-1:0]);
  assign full = {offsets[1][AREA_BITS], offsets[0][AREA_BITS]};

  always_ff @(posedge clk) begin
    idle        <= state == WAIT && dirty == '0 && !lost_valid;
    is_backward <= from < at;
    is_empty    <= to < from;
    for (int i = 0; i < 4; i++) begin
      like_first[i] <= at[12*i+:12] == from[12*i+:12];
      like_last[i]  <= at[12*i+:12] == to[12*i+:12];
    end
    dropped <= '0;
    if (rst) begin
      state   <= WAIT;
      started <= '0;
      dirty   <= '0;
      offsets <= '0;
      idle    <= '0;
    end else begin
      unique case (state)
        WAIT:
        if (lost_valid) begin
          from  <= first;
          to    <= last;
          port  <= origin;
          state <= FIRST;
        end else if (dirty != '0) begin
          port  <= !dirty[0];
          state <= SAVE;
        end

        FIRST: begin
          marking <= '0;
          started[port] <= '1;
          at <= started[port] ? ends[port] : from;
          if (!started[port]) begin
            begins[port] <= from;
            ends[port]   <= from;
            words[port]  <= '0;
          end
          state <= COMPARE;
        end

        COMPARE: state <= CHECK;

        CHECK: begin
          dropped <= full[port] || is_backward || is_empty;
          state   <= full[port] || is_backward || is_empty ? WAIT : LOOK;
        end

        // What was compared before belongs to the number before.
        LOOK: begin
          dropped <= full[port];
          state   <= full[port] ? WAIT : STEP;
        end

        STEP: begin
          marking    <= marking || at_first;
          is_done    <= at_last;
          at         <= at + 1'b1;
          ends[port] <= at + 1'b1;
          if (marking || at_first) begin
            words[port][at[4:0]] <= '1;
            dirty[port]          <= '1;
          end
          if (at[4:0] == '1) state <= LEAVE;
          else state <= at_last ? WAIT : LOOK;
        end

        LEAVE:
        if (word_ready) begin
          words[port]   <= '0;
          offsets[port] <= offset + 1'b1;
          dirty[port]   <= '0;
          state         <= is_done ? WAIT : LOOK;
        end

        SAVE:
        if (word_ready) begin
          dirty[port] <= '0;
          state       <= WAIT;
        end

        default: state <= WAIT;
      endcase
    end
  end

endmodule

`default_nettype wire
