// Extremes, sum and sum of squares of latencies, twice: one bank is added to while the host reads the other.
// Must never let a frame into one figure and not into another: `swap` comes only while it is ready.
`default_nettype none

module latency
  import instrument_pkg::ns_t;
  import account_pkg::latency_t;
(
    input  wire             clk,
    input  wire             rst,
    input  wire ns_t        latency_ns,  // signed
    input  wire      [31:0] origin_ns,   // signed; squares are of the distance from it
    input  wire             valid,
    output logic            ready,
    input  wire             swap,        // what was added till now becomes `told`
    output latency_t        told
);

  localparam int DIGITS = 24;

  typedef enum logic [2:0] {
    STATE_IDLE,
    STATE_COMPARE,
    STATE_SUM,
    STATE_ROOT,
    STATE_SQUARE,
    STATE_LOW,
    STATE_HIGH
  } state_t;

  state_t state;
  latency_t open;
  ns_t sample_ns;
  logic fresh, less, more, carry, square_carry;
  logic signed [48:0] distance;
  logic [DIGITS-1:0] root, multiplier;
  logic [2*DIGITS-1:0] square;
  logic [4:0] bits;

  // The sign of a difference is one chain of carries and a register.
  /* verilator lint_off UNUSEDSIGNAL */  // only their signs are of use
  logic signed [48:0] below, above;
  /* verilator lint_on UNUSEDSIGNAL */
  assign below = $signed({sample_ns[47], sample_ns}) - $signed({open.least_ns[47], open.least_ns});
  assign above = $signed({open.most_ns[47], open.most_ns}) - $signed({sample_ns[47], sample_ns});

  assign ready = state == STATE_IDLE;

  always_ff @(posedge clk) begin
    less <= below[48];
    more <= above[48];

    unique case (state)
      STATE_IDLE: begin
        sample_ns <= latency_ns;
        distance  <= $signed({latency_ns[47], latency_ns}) - 49'($signed(origin_ns));
        if (valid) state <= STATE_COMPARE;
      end
      STATE_COMPARE: begin
        fresh      <= open.count == '0;
        open.count <= open.count + 1'b1;
        distance   <= distance[48] ? -distance : distance;
        state      <= STATE_SUM;
      end
      // Sums go in two halves: a carry over all of one is too long for a clock.
      STATE_SUM: begin
        if (less || fresh) open.least_ns <= sample_ns;
        if (more || fresh) open.most_ns <= sample_ns;
        {carry, open.sum_ns[31:0]} <= {1'b0, open.sum_ns[31:0]} + {1'b0, sample_ns[31:0]};
        state <= STATE_ROOT;
      end
      STATE_ROOT: begin
        open.sum_ns[63:32] <= open.sum_ns[63:32] + {{16{sample_ns[47]}}, sample_ns[47:32]} + 32'(carry);
        root               <= |distance[48:DIGITS] ? '1 : distance[DIGITS-1:0];
        multiplier         <= |distance[48:DIGITS] ? '1 : distance[DIGITS-1:0];
        square             <= '0;
        bits               <= 5'(DIGITS);
        state              <= STATE_SQUARE;
      end
      // A bit a clock, the highest first: no frame needs less than 68 of them.
      STATE_SQUARE: begin
        square     <= (square << 1) + (multiplier[DIGITS-1] ? (2 * DIGITS)'(root) : '0);
        multiplier <= multiplier << 1;
        bits       <= bits - 1'b1;
        if (bits == 1) state <= STATE_LOW;
      end
      STATE_LOW: begin
        {square_carry, open.squares[39:0]} <= {1'b0, open.squares[39:0]} + {1'b0, square[39:0]};
        state <= STATE_HIGH;
      end
      STATE_HIGH: begin
        open.squares[79:40] <= open.squares[79:40] + 40'(square[47:40]) + 40'(square_carry);
        state <= STATE_IDLE;
      end
      default: state <= STATE_IDLE;
    endcase

    if (swap) begin
      told <= open;
      open <= '0;
    end
    if (rst) begin
      state <= STATE_IDLE;
      open  <= '0;
      told  <= '0;
    end
  end

endmodule

`default_nettype wire
