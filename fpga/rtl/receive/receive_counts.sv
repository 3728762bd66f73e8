// Counts the frames of a port by what they are, whoever sent them (as RMON does, RFC 2819). Never looks at signatures.
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
    input  wire                      fcs_bad,
    input  wire                      misaligned,
    input  wire frame_bytes_t        frame_bytes,
    input  wire                      mailbox_missed,
    input  wire               [ 7:0] lost_before,
    // all of them
    output logic              [47:0] frames,
    output logic              [47:0] bytes,
    output logic              [31:0] fcs_bad_frames,
    output logic              [31:0] misaligned_frames,
    output logic              [31:0] undersize_frames,
    output logic              [31:0] oversize_frames,
    output logic              [31:0] fragments,
    output logic              [31:0] jabbers,
    output logic              [31:0] lost_arrivals,
    output logic              [31:0] mailbox_missed_frames
);

  localparam frame_bytes_t MIN_FRAME_BYTES = 64;

  // Compared in one clock, told apart in the next, counted in the third.
  logic valid_1, bad_1, misaligned_1, missed_1, small_1, large_1;
  logic valid_2, bad_2, misaligned_2, missed_2, undersize_2, oversize_2, fragment_2, jabber_2;
  frame_bytes_t bytes_1, bytes_2;
  logic [7:0] lost_1, lost_2;

  always_ff @(posedge clk) begin
    valid_1      <= valid;
    bad_1        <= valid && fcs_bad;
    misaligned_1 <= valid && misaligned;
    missed_1     <= valid && mailbox_missed;
    small_1      <= valid && frame_bytes < MIN_FRAME_BYTES;
    large_1      <= valid && frame_bytes > max_frame_bytes;
    bytes_1      <= valid ? frame_bytes : '0;
    lost_1       <= valid ? lost_before : '0;

    valid_2      <= valid_1;
    bad_2        <= bad_1;
    misaligned_2 <= misaligned_1;
    missed_2     <= missed_1;
    undersize_2  <= small_1 && !bad_1;
    oversize_2   <= large_1 && !bad_1;
    fragment_2   <= small_1 && bad_1;
    jabber_2     <= large_1 && bad_1;
    bytes_2      <= bytes_1;
    lost_2       <= lost_1;
  end

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      frames                <= '0;
      bytes                 <= '0;
      fcs_bad_frames        <= '0;
      misaligned_frames     <= '0;
      undersize_frames      <= '0;
      oversize_frames       <= '0;
      fragments             <= '0;
      jabbers               <= '0;
      lost_arrivals         <= '0;
      mailbox_missed_frames <= '0;
    end else begin
      frames                <= frames + 48'(valid_2);
      bytes                 <= bytes + 48'(bytes_2);
      fcs_bad_frames        <= fcs_bad_frames + 32'(bad_2);
      misaligned_frames     <= misaligned_frames + 32'(misaligned_2);
      undersize_frames      <= undersize_frames + 32'(undersize_2);
      oversize_frames       <= oversize_frames + 32'(oversize_2);
      fragments             <= fragments + 32'(fragment_2);
      jabbers               <= jabbers + 32'(jabber_2);
      lost_arrivals         <= lost_arrivals + 32'(lost_2);
      mailbox_missed_frames <= mailbox_missed_frames + 32'(missed_2);
    end
  end

endmodule

`default_nettype wire
