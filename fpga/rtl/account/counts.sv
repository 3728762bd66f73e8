// Counts what arrived and what became of it, all with one adder. Must never miss one: each source has its turn before it
// can have another thing to count, which what follows the turns' order says.
//
// The counts lie in look-up tables and are read one word at a time, 20 clocks late at most.
`default_nettype none

module counts
  import account_pkg::*;
(
    input  wire                  clk,
    input  wire                  rst,            // all counts are zero 20 clocks later; nothing may come till then
    input  wire class_t          kind,
    input  wire                  kind_valid,     // one in 16 clocks, as the next two
    input  wire verdict_t        verdict,
    input  wire                  verdict_valid,
    input  wire                  refused,        // by the queue before the tracker
    input  wire           [47:0] lost_first,
    input  wire           [47:0] lost_last,
    input  wire                  lost_valid,     // one in four clocks, as the next
    input  wire                  drop,
    output logic                 idle,           // all that came has been counted
    // one word of them, by its place in account_counts of registers.rdl; another may be asked for when it is answered
    input  wire                  asked,
    input  wire           [ 4:0] asked_word,
    output logic                 answered,
    output logic          [31:0] answer
);

  // The place of each count, the last of account_counts first.
  typedef enum logic [3:0] {
    COUNT_DROPPED    = 4'd0,
    COUNT_LOST       = 4'd1,
    COUNT_OTHER      = 4'd2,
    COUNT_FOREIGN    = 4'd3,
    COUNT_CORRUPT    = 4'd4,
    COUNT_UNTRACKED  = 4'd5,
    COUNT_LATE       = 4'd6,
    COUNT_REORDERED  = 4'd7,
    COUNT_DUPLICATED = 4'd8,
    COUNT_FIRST      = 4'd9,
    COUNT_RECEIVED   = 4'd10
  } count_t;

  // What waits for its turn.
  logic any_received, any_kind, any_verdict, any_reordered, any_refused, any_lost, any_drop;
  class_t its_kind;
  verdict_t its_verdict;
  logic [47:0] beyond;  // the numbers lost but one

  // Sixteen turns: DROPPED and LOST have each fourth, the others one.
  logic [3:0] turn;
  logic clearing;

  // 1: which count, and what is added to it. 2: the sum. Then it is written, four clocks before its next turn at least.
  logic [3:0] place_1, place_2;
  logic add_1, write_2;
  logic [47:0] beyond_1, sum_2;
  (* ram_style = "distributed" *)logic [47:0] memory [16];

  // The host's word has a turn of its own, and nothing is added to it.
  logic [ 3:0] wanted;
  logic waiting, upper, fetch_1, fetch_2;

  always_ff @(posedge clk) begin
    turn    <= turn + 1'b1;
    add_1   <= 1'b0;
    place_1 <= COUNT_DROPPED;
    unique case (turn)
      4'd0, 4'd4, 4'd8, 4'd12: begin
        add_1    <= any_drop;
        any_drop <= 1'b0;
      end
      4'd1, 4'd5, 4'd9, 4'd13: begin
        place_1  <= COUNT_LOST;
        add_1    <= any_lost;
        any_lost <= 1'b0;
      end
      4'd2: begin
        place_1      <= COUNT_RECEIVED;
        add_1        <= any_received;
        any_received <= 1'b0;
      end
      4'd3: begin
        unique case (its_kind)
          CLASS_FOREIGN: place_1 <= COUNT_FOREIGN;
          CLASS_OTHER:   place_1 <= COUNT_OTHER;
          default:       place_1 <= COUNT_CORRUPT;
        endcase
        add_1    <= any_kind;
        any_kind <= 1'b0;
      end
      4'd6: begin
        unique case (its_verdict)
          VERDICT_DUPLICATED: place_1 <= COUNT_DUPLICATED;
          VERDICT_LATE:       place_1 <= COUNT_LATE;
          default:            place_1 <= COUNT_FIRST;
        endcase
        add_1       <= any_verdict;
        any_verdict <= 1'b0;
      end
      4'd7: begin
        place_1       <= COUNT_REORDERED;
        add_1         <= any_reordered;
        any_reordered <= 1'b0;
      end
      4'd10: begin
        place_1     <= COUNT_UNTRACKED;
        add_1       <= any_refused;
        any_refused <= 1'b0;
      end
      4'd11:   place_1 <= wanted;
      default: ;
    endcase
    fetch_1 <= turn == 4'd11 && waiting && !clearing;
    if (turn == 4'd11 && !clearing) waiting <= 1'b0;
    if (asked) begin
      waiting <= 1'b1;
      wanted  <= COUNT_RECEIVED - asked_word[4:1];
      upper   <= asked_word[0];
    end
    fetch_2  <= fetch_1;
    answered <= fetch_2;
    if (fetch_2) answer <= upper ? 32'(sum_2[47:32]) : sum_2[31:0];

    beyond_1 <= beyond;
    if (turn[1:0] != 2'd1) beyond_1 <= '0;

    // A turn that comes with its source's next thing leaves that to the next turn.
    if (kind_valid) begin
      its_kind     <= kind;
      any_received <= 1'b1;
      any_kind     <= kind != CLASS_OURS;
    end
    if (verdict_valid) begin
      its_verdict   <= verdict;
      any_verdict   <= 1'b1;
      any_reordered <= verdict == VERDICT_REORDERED;
    end
    if (refused) any_refused <= 1'b1;
    if (lost_valid) begin
      beyond   <= lost_last - lost_first;
      any_lost <= 1'b1;
    end
    if (drop) any_drop <= 1'b1;

    // While all are cleared the turns are places.
    if (clearing) begin
      place_1 <= turn;
      if (&turn) clearing <= 1'b0;
    end
    if (rst || clearing) begin
      any_received  <= '0;
      any_kind      <= '0;
      any_verdict   <= '0;
      any_reordered <= '0;
      any_refused   <= '0;
      any_lost      <= '0;
      any_drop      <= '0;
    end

    place_2 <= place_1;
    write_2 <= add_1;
    sum_2   <= memory[place_1] + beyond_1 + 48'(add_1);
    if (clearing) sum_2 <= '0;

    if (rst) begin
      turn     <= '0;
      clearing <= 1'b1;
      write_2  <= 1'b0;
      waiting  <= 1'b0;
      fetch_1  <= 1'b0;
      fetch_2  <= 1'b0;
      answered <= 1'b0;
    end
  end

  assign idle = !(any_received || any_kind || any_verdict || any_reordered || any_refused || any_lost || any_drop ||
                  add_1 || write_2 || clearing);

  // Written also while clearing.
  logic write;
  assign write = write_2 || clearing;
  always_ff @(posedge clk) if (write) memory[place_2] <= sum_2;

endmodule

`default_nettype wire
