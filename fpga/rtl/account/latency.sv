// Extremes, sum and sum of squares of latencies, twice: one bank is added to while the host reads the other.
// Must never let a frame into one figure and not into another: `swap` comes only while it is ready.
//
// The figures pass one adder of 16 bit, twice for each latency: first they are compared with it, then changed. In
// between a multiplier squares, a bit a clock. That takes 48 clocks; no frame needs less than 67 of them. They lie in
// look-up tables, and the host reads them in the clocks that are left.
`default_nettype none

module latency
  import instrument_pkg::ns_t;
(
    input  wire             clk,
    input  wire             rst,
    input  wire ns_t        latency_ns,  // signed
    input  wire      [31:0] origin_ns,   // signed; squares are of the distance from it
    input  wire             valid,
    output logic            ready,
    input  wire             swap,        // what was added till now is what the host reads
    // a word of it, by its place in account_latencies of registers.rdl; another may be asked for when it is answered
    input  wire             asked,
    input  wire      [ 3:0] asked_word,
    output logic            answered,
    output logic     [31:0] answer
);

  // The words of the figures in the order in which they pass the adder: squares (5), sum (4), most (3), least (3),
  // count (3), the lowest of each first.
  localparam logic [4:0] SUM = 5'd5;
  localparam logic [4:0] SIGN = 5'd8;
  localparam logic [4:0] MOST = 5'd9;
  localparam logic [4:0] LEAST = 5'd12;
  localparam logic [4:0] COUNT = 5'd15;
  localparam logic [4:0] LAST_STEP = 5'd18;
  localparam int DIGITS = 25;  // of a distance, with its sign
  localparam logic [4:0] LAST_DIGIT = 5'd27;

  // In the first round the multiplier works from step 3 to step 27, after which the second round begins.
  logic second;
  logic [4:0] step;

  (* ram_style = "distributed" *) logic [15:0] memory[64];
  logic bank;  // that is added to
  logic [4:0] place;  // of `figure`
  logic [2:0][15:0] sample;  // goes round with the figures that it belongs to
  logic negative;  // the sample is
  logic fresh, more, less;  // fresh: nothing has been added yet, whatever the table holds
  logic signed [48:0] distance;
  logic far;  // the distance is cut off
  logic [DIGITS-1:0] root, upper;
  logic [DIGITS-1:0] lower;
  logic minus;
  logic [DIGITS:0] addend, partial;

  // Word `step` - 1 of the figures, and what is added to it.
  logic [15:0] figure, other, operand, summand, result;
  logic [2:0] squares;
  logic sign;
  logic carry, carry_out, not_less;
  logic in_sum, in_most, in_least, in_others, replaced;  // others: to which nothing of the sample is added

  logic [4:0] wanted;
  logic waiting, fetched, half, single, is_signed;
  logic nothing;  // was added to the bank that the host reads

  logic [5:0] read_place;
  assign read_place = ready ? {!bank, wanted} : {bank, step};

  assign replaced = second && (in_most && more || in_least && less);

  assign {carry_out, result} = {1'b0, figure} + {1'b0, summand} + 17'(carry);
  assign not_less = carry_out ^ figure[15] ^ !summand[15];  // of figure - sample, at its highest word

  // The square's three words, the sample's sign, or a word of the sample.
  assign other = {16{squares[0]}} & lower[15:0] | {16{squares[1]}} & {upper[6:0], lower[24:16]} |
                 {16{squares[2]}} & upper[22:7] | {16{sign && negative}};
  assign operand = sign || squares != '0 ? other : sample[0] ^ {16{!second}};

  // A distance is squared with its sign: its highest digit counts below zero.
  assign root = distance[DIGITS-1:0];
  assign addend = (lower[0] ? {root[DIGITS-1], root} : '0) ^ {DIGITS + 1{minus}};
  assign partial = {upper[DIGITS-1], upper} + addend + (DIGITS + 1)'(minus);

  always_ff @(posedge clk) begin
    // The figures.
    figure <= memory[read_place];
    if (!ready && (replaced || fresh)) figure <= '0;
    place <= step;
    if (!ready && second && step != '0) memory[{bank, place}] <= result;
    if (!ready) begin
      summand <= operand;
      if (second && (in_others || (in_most || in_least) && !replaced)) summand <= '0;
      carry <= carry_out;
      if (step == 5'd0 || step == SUM) carry <= 1'b0;
      if (step == MOST || step == LEAST) carry <= !second;
      if (step == COUNT) carry <= 1'b1;
      if (in_sum && step != SIGN || in_most || in_least) sample <= {sample[0], sample[2:1]};
      if (!second && step == LEAST) more <= fresh || !not_less;
      if (!second && step == COUNT) less <= fresh || not_less;
    end

    // The square.
    far <= distance[48:DIGITS-1] != {(50 - DIGITS) {distance[48]}} || distance[48] && distance[DIGITS-2:0] == '0;
    if (!second) begin
      {upper, lower} <= {partial, lower[DIGITS-1:1]};
      if (step == 5'd2) {upper, lower} <= {DIGITS'(0), root};
      if (step == 5'd1 && far) distance[DIGITS-1:0] <= {1'b0, {DIGITS - 1{1'b1}}};
    end

    // A step ahead, because a word's choice is wide.
    squares <= {squares[1:0], !second && step == LAST_DIGIT};
    sign    <= step == SIGN - 5'd1;
    minus   <= step == LAST_DIGIT - 5'd1;
    in_sum    <= step >= SUM - 5'd1 && step < MOST - 5'd1;
    in_most   <= step >= MOST - 5'd1 && step < LEAST - 5'd1;
    in_least  <= step >= LEAST - 5'd1 && step < COUNT - 5'd1;
    in_others <= step >= 5'd2 && step < SUM - 5'd1 || step >= COUNT - 5'd1;

    step    <= step + 1'b1;
    if (!second && step == LAST_DIGIT) begin
      step      <= '0;
      second    <= 1'b1;
      in_others <= 1'b0;
    end
    if (second && step == LAST_STEP) begin
      ready <= 1'b1;
      fresh <= 1'b0;
    end
    if (ready) begin
      sample   <= latency_ns;
      negative <= latency_ns[47];
      distance <= $signed({latency_ns[47], latency_ns}) - 49'($signed(origin_ns));
      step     <= '0;
      second   <= 1'b0;
      if (valid) ready <= 1'b0;
      squares   <= '0;
      sign      <= 1'b0;
      in_sum    <= 1'b0;
      in_most   <= 1'b0;
      in_least  <= 1'b0;
      in_others <= 1'b0;
    end

    if (swap) begin
      bank    <= !bank;
      nothing <= fresh;
      fresh   <= 1'b1;
    end

    // The host's word: its lower half, then its upper one, each when `ready` has left the table to it.
    answered <= 1'b0;
    fetched  <= ready && waiting && !fetched;
    if (fetched) begin
      wanted <= wanted + 1'b1;
      answer <= {figure, answer[31:16]};
      if (half && single) answer[31:16] <= {16{is_signed && answer[31]}};
      if (nothing) answer <= '0;
      half <= !half;
      if (half) begin
        waiting  <= 1'b0;
        answered <= 1'b1;
      end
    end
    if (asked) begin
      waiting   <= 1'b1;
      half      <= 1'b0;
      single    <= asked_word inside {4'd1, 4'd3, 4'd5, 4'd10};
      is_signed <= asked_word inside {4'd3, 4'd5};
      unique case (asked_word)
        4'd0: wanted <= COUNT;
        4'd1: wanted <= COUNT + 5'd2;
        4'd2: wanted <= LEAST;
        4'd3: wanted <= LEAST + 5'd2;
        4'd4: wanted <= MOST;
        4'd5: wanted <= MOST + 5'd2;
        4'd6: wanted <= SUM;
        4'd7: wanted <= SUM + 5'd2;
        4'd8: wanted <= 5'd0;
        4'd9: wanted <= 5'd2;
        default: wanted <= 5'd4;
      endcase
    end

    if (rst) begin
      ready    <= 1'b1;
      bank     <= 1'b0;
      fresh    <= 1'b1;
      nothing  <= 1'b1;
      waiting  <= 1'b0;
      fetched  <= 1'b0;
      answered <= 1'b0;
    end
  end

endmodule

`default_nettype wire
