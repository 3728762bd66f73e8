// Judges frames as they pass, a byte a clock at most: FCS, length, signature, checked region (docs/signature). Never
// holds the line up, and never mixes two frames, whatever lies between them.
//
// What it says of a frame stands on the outputs during `done`, LATENCY clocks after its `stop`. `started` is `start` as
// late, so that a stamp which is read then is this frame's (see stamp.sv).
`default_nettype none

module frame_check
  import instrument_pkg::*;
(
    input  wire                 clk,
    input  wire                 rst,
    input  wire          [ 7:0] checked_from,
    input  wire                 compare,          // headers, with the expected one
    input  wire          [31:0] expected_header,
    // from the decoder
    input  wire                 start,
    input  wire                 octet_valid,
    input  wire          [ 7:0] octet,
    input  wire                 stop,
    input  wire                 failed,
    input  wire                 misaligned,
    // the frame without its FCS, for the mailbox
    output logic                body_start,
    output logic                body_valid,
    output logic         [ 7:0] body,
    output logic                body_stop,
    // the verdict
    output logic                started,
    output logic                done,
    output logic                fcs_bad,
    output logic                cut,              // ended in the middle of a byte
    output logic                marked,
    output logic                sums_to_zero,
    output frame_bytes_t        frame_bytes,      // no more than all ones
    output logic                changed,
    output logic         [15:0] header,
    output signature_t          signature
);

  localparam int LATENCY = 7;
  localparam int FCS_BYTES = 4;
  localparam int SIGNATURE_BYTES = 18;
  localparam int LAST_BYTES = FCS_BYTES + SIGNATURE_BYTES;
  localparam logic [15:0] MAGIC = 16'h6B73;

  // A ones' complement sum that brings its carry round a clock later, so that one addition is all a clock holds.
  typedef struct packed {
    logic        carry;
    logic [15:0] sum;
  } sum_t;

  function automatic sum_t added(input sum_t so_far, input logic [15:0] summand);
    return sum_t'({1'b0, so_far.sum} + {1'b0, summand} + {16'b0, so_far.carry});
  endfunction

  // Half of the words of a sum is swapped if they are counted from an odd byte, which does not matter to zero (RFC 1071).
  function automatic logic [15:0] placed(input logic upper, input logic [7:0] high, input logic [7:0] low);
    return upper ? {low, high} : {high, low};
  endfunction

  logic [LATENCY:1] start_at, stop_at;
  logic [3:1] valid_at;

  // 1: the last 22 bytes, FCS, length. Of them `entering` becomes part of where a signature would lie if the frame
  // ended now, and `leaving` was part of it.
  logic [LAST_BYTES-1:0][7:0] last;
  logic [31:0] crc;
  frame_bytes_t counted;
  logic filled;  // a signature may be there
  logic [8:0] skip;  // bytes to come until one of the region leaves
  logic [8:0] skip_first;
  logic [7:0] entering, leaving;
  logic in_region, upper_1, body_there;
  logic failed_1, misaligned_1;

  always_ff @(posedge clk) begin
    skip_first   <= {1'b0, checked_from} + 9'(LAST_BYTES);
    entering     <= last[FCS_BYTES-1];
    leaving      <= last[LAST_BYTES-1];
    in_region    <= skip == '0;
    body_valid   <= octet_valid && body_there;
    failed_1     <= failed;
    misaligned_1 <= misaligned;
    if (start) begin
      last       <= '0;
      crc        <= crc32_pkg::START;
      counted    <= '0;
      filled     <= 1'b0;
      skip       <= skip_first;
      upper_1    <= 1'b0;
      body_there <= 1'b0;
    end else if (octet_valid) begin
      last    <= {last[LAST_BYTES-2:0], octet};
      crc     <= crc32_pkg::next(crc, octet);
      upper_1 <= !upper_1;
      if (counted != '1) counted <= counted + 1'b1;
      if (counted[4:0] == 5'(LAST_BYTES - 1)) filled <= 1'b1;
      if (counted[2:0] == 3'(FCS_BYTES - 1)) body_there <= 1'b1;
      if (skip != '0) skip <= skip - 1'b1;
    end
  end

  header_check header_of_frame (
      .clk         (clk),
      .compare     (compare),
      .header_bytes(checked_from),
      .expected    (expected_header),
      .start       (start),
      .octet_valid (octet_valid),
      .stop        (stop),
      .counted     (counted),
      .crc         (crc),
      .changed     (changed),
      .header      (header)
  );

  assign body       = entering;
  assign body_start = start_at[1];
  assign body_stop  = stop_at[1];

  // 2: what the signature's sum gains and loses; what the region's gains.
  logic [8:0] change;
  logic [7:0] gain;
  logic upper_2;
  frame_bytes_t counted_2;
  logic fcs_bad_2, cut_2, marked_2;

  always_ff @(posedge clk) begin
    change    <= {1'b0, entering} + {1'b0, ~leaving};
    gain      <= in_region ? leaving : '0;
    upper_2   <= upper_1;
    counted_2 <= counted;
    fcs_bad_2 <= crc != crc32_pkg::RESIDUE || failed_1 || misaligned_1;
    cut_2     <= misaligned_1;
    marked_2  <= last[LAST_BYTES-1-:2] == MAGIC;
    // A fragment may follow before the verdict of a frame is out: it must not overwrite the frame's signature.
    if (stop_at[1] && filled) signature <= last[LAST_BYTES-3:FCS_BYTES+2];
  end

  // 3: these as summands of 16 bit. entering - leaving is change + 1 - 256; less than zero is its complement.
  logic [15:0] signature_summand, region_summand;

  always_ff @(posedge clk) begin
    signature_summand <= placed(upper_2, change[8] ? 8'h00 : 8'hFF, change[7:0] + {7'b0, change[8]});
    region_summand    <= placed(upper_2, 8'h00, gain);
  end

  // 4: the sums. 5: the last carry brought round. 6: are they zero, in either form?
  sum_t signature_sum, region_sum;
  logic [15:0] signature_folded, region_folded;
  logic signature_zero, region_zero;

  always_ff @(posedge clk) begin
    if (start_at[3]) begin
      signature_sum <= '0;
      region_sum    <= '0;
    end else if (valid_at[3]) begin
      signature_sum <= added(signature_sum, signature_summand);
      region_sum    <= added(region_sum, region_summand);
    end
    signature_folded <= signature_sum.sum + {15'b0, signature_sum.carry};
    region_folded    <= region_sum.sum + {15'b0, region_sum.carry};
    signature_zero   <= signature_folded == '0 || signature_folded == '1;
    region_zero      <= region_folded == '0 || region_folded == '1;
  end

  // What was known at 2 waits for the sums.
  typedef struct packed {
    logic fcs_bad;
    logic cut;
    logic marked;
    frame_bytes_t frame_bytes;
  } known_t;
  known_t known_3, known_4, known_5, known_6;

  always_ff @(posedge clk) begin
    known_3      <= '{fcs_bad: fcs_bad_2, cut: cut_2, marked: marked_2, frame_bytes: counted_2};
    known_4      <= known_3;
    known_5      <= known_4;
    known_6      <= known_5;
    fcs_bad      <= known_6.fcs_bad;
    cut          <= known_6.cut;
    marked       <= known_6.marked;
    frame_bytes  <= known_6.frame_bytes;
    sums_to_zero <= signature_zero && region_zero;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      start_at <= '0;
      stop_at  <= '0;
      valid_at <= '0;
    end else begin
      start_at <= {start_at[LATENCY-1:1], start};
      stop_at  <= {stop_at[LATENCY-1:1], stop};
      valid_at <= {valid_at[2:1], octet_valid};
    end
  end

  assign started = start_at[LATENCY];
  assign done    = stop_at[LATENCY];

endmodule

`default_nettype wire
