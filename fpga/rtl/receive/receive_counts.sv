// Counts the frames of a port by what they are, whoever sent them (as RMON does, RFC 2819). Never looks at signatures,
// and must never be given a frame while it is not ready: with one adder for all counts it takes five clocks for a frame,
// or eight.
//
// The counts lie in look-up tables and are read one word at a time, between frames.
`default_nettype none

module receive_counts
  import instrument_pkg::*;
(
    input  wire                      clk,
    input  wire                      rst,
    input  wire                      clear,
    input  wire frame_bytes_t        max_frame_bytes,
    // one frame
    input  wire                      valid,
    output logic                     ready,
    input  wire                      fcs_bad,
    input  wire                      misaligned,
    input  wire frame_bytes_t        frame_bytes,
    input  wire                      mailbox_missed,
    input  wire               [ 7:0] lost_before,
    // one word of them, by its place in receive_counts of registers.rdl; another may be asked for when it is answered
    input  wire                      asked,
    input  wire               [ 3:0] asked_word,
    output logic                     answered,
    output logic              [31:0] answer
);

  localparam frame_bytes_t MIN_FRAME_BYTES = 64;

  localparam logic [3:0] REST = '1;

  // The places of the counts in the order of their turns. Of the four that say what a frame's length is only one has a
  // turn, and only a frame of which there is more to say has the last three.
  typedef enum logic [3:0] {
    COUNT_FRAMES     = 4'd0,
    COUNT_BYTES      = 4'd1,
    COUNT_FCS_BAD    = 4'd2,
    COUNT_UNDERSIZE  = 4'd3,
    COUNT_MISALIGNED = 4'd4,
    COUNT_LOST       = 4'd5,
    COUNT_MISSED     = 4'd6,
    COUNT_OVERSIZE   = 4'd7,
    COUNT_FRAGMENTS  = 4'd8,
    COUNT_JABBERS    = 4'd9
  } count_t;

  // Of the frame that is being counted.
  logic bad, crooked, missed, more, is_small, is_large;
  frame_bytes_t its_bytes;
  logic [7:0] its_lost;

  // A turn a clock from 0 on. While all are cleared each place has one.
  logic [3:0] turn;
  logic clearing, rested;

  // 1: which count, and what is added to it. 2: the count. 3: the sum, which is then written.
  logic [3:0] place_1, place_2, place_3;
  logic write_1, write_2, write_3;
  frame_bytes_t add_1, add_2;
  logic [47:0] count_2, sum_3;
  (* ram_style = "distributed" *) logic [47:0] memory[16];

  // The host's word goes the same way as a sum to which nothing is added.
  count_t wanted;
  logic waiting, upper, fetch_1, fetch_2, fetch_3;

  assign rested = turn == REST;
  assign ready  = rested && !clearing;

  always_ff @(posedge clk) begin
    if (valid) begin
      bad       <= fcs_bad;
      crooked   <= misaligned;
      missed    <= mailbox_missed;
      more      <= misaligned || mailbox_missed || lost_before != '0;
      its_bytes <= frame_bytes;
      its_lost  <= lost_before;
    end
    // Their turn comes later.
    is_small <= its_bytes < MIN_FRAME_BYTES;
    is_large <= its_bytes > max_frame_bytes;

    turn    <= turn + 4'(!rested);
    place_1 <= turn;
    add_1   <= '0;
    write_1 <= clearing;
    if (!clearing) begin
      unique case (turn)
        COUNT_FRAMES: {write_1, add_1} <= {1'b1, 15'd1};
        COUNT_BYTES: {write_1, add_1} <= {1'b1, its_bytes};
        COUNT_FCS_BAD: {write_1, add_1} <= {bad, 15'd1};
        COUNT_MISALIGNED: {write_1, add_1} <= {crooked, 15'd1};
        COUNT_LOST: {write_1, add_1} <= {1'b1, 15'(its_lost)};
        COUNT_MISSED: begin
          {write_1, add_1} <= {missed, 15'd1};
          turn <= REST;
        end
        COUNT_UNDERSIZE: begin
          if (bad) place_1 <= is_small ? COUNT_FRAGMENTS : COUNT_JABBERS;
          else place_1 <= is_small ? COUNT_UNDERSIZE : COUNT_OVERSIZE;
          {write_1, add_1} <= {is_small || is_large, 15'd1};
          if (!more) turn <= REST;
        end
        default: ;
      endcase
    end

    place_2 <= place_1;
    write_2 <= write_1;
    add_2   <= add_1;
    count_2 <= memory[place_1];
    if (clearing) count_2 <= '0;

    place_3 <= place_2;
    write_3 <= write_2;
    sum_3   <= count_2 + 48'(add_2);
    if (write_3) memory[place_3] <= sum_3;

    if (asked) begin
      waiting <= 1'b1;
      upper   <= asked_word == 4'd1 || asked_word == 4'd3;
      unique case (asked_word)
        4'd0, 4'd1: wanted <= COUNT_FRAMES;
        4'd2, 4'd3: wanted <= COUNT_BYTES;
        4'd4: wanted <= COUNT_FCS_BAD;
        4'd5: wanted <= COUNT_MISALIGNED;
        4'd6: wanted <= COUNT_UNDERSIZE;
        4'd7: wanted <= COUNT_OVERSIZE;
        4'd8: wanted <= COUNT_FRAGMENTS;
        4'd9: wanted <= COUNT_JABBERS;
        4'd10: wanted <= COUNT_LOST;
        default: wanted <= COUNT_MISSED;
      endcase
    end
    fetch_1 <= 1'b0;
    if (waiting && ready) begin
      place_1 <= wanted;
      waiting <= 1'b0;
      fetch_1 <= 1'b1;
    end
    fetch_2  <= fetch_1;
    fetch_3  <= fetch_2;
    answered <= fetch_3;
    if (fetch_3) answer <= upper ? 32'(sum_3[47:32]) : sum_3[31:0];

    if (valid) turn <= '0;
    if (clearing && rested) clearing <= 1'b0;
    if (rst || clear) begin
      turn     <= '0;
      clearing <= 1'b1;
    end
    if (rst) begin
      waiting  <= 1'b0;
      fetch_1  <= 1'b0;
      fetch_2  <= 1'b0;
      fetch_3  <= 1'b0;
      answered <= 1'b0;
    end
  end

endmodule

`default_nettype wire
