// Joins what is known of a frame at its end and puts it on its way to the host's clock. A frame that finds the way full is
// never forgotten: the next one tells how many went before it.
`default_nettype none

module arrival_queue
  import instrument_pkg::*;
(
    input  wire                      clk,
    input  wire                      rst,
    input  wire ns_t                 stamp_ns,        // of the last SFD; held, of another clock
    // from frame_check
    input  wire                      started,
    input  wire                      done,
    input  wire                      fcs_bad,
    input  wire                      cut,
    input  wire                      marked,
    input  wire                      sums_to_zero,
    input  wire frame_bytes_t        frame_bytes,
    input  wire                      changed,
    input  wire               [15:0] header,
    input  wire signature_t          signature,
    input  wire                      mailbox_missed,  // a clock after done
    // to the async_fifo
    output logic                     out_valid,
    input  wire                      out_ready,
    output arrival_t                 arrival,
    output logic                     missed,
    output logic              [ 7:0] lost_before      // no more than all ones
);

  // Of the frame that is told: the next one's come later than a clock after `done`, so these need no copy.
  ns_t received_ns;
  logic told_fcs_bad, told_cut, told_marked, told_sums_to_zero, told_changed;
  frame_bytes_t told_bytes;

  assign missed = mailbox_missed;
  assign arrival = '{
          changed: told_changed,
          header: header,
          fcs_bad: told_fcs_bad,
          misaligned: told_cut,
          marked: told_marked,
          sums_to_zero: told_sums_to_zero,
          frame_bytes: told_bytes,
          received_ns: received_ns,
          signature: signature
      };

  always_ff @(posedge clk) begin
    if (started) received_ns <= stamp_ns;
    out_valid         <= done;
    told_fcs_bad      <= fcs_bad;
    told_cut          <= cut;
    told_marked       <= marked;
    told_sums_to_zero <= sums_to_zero;
    told_bytes        <= frame_bytes;
    told_changed      <= changed;
    if (out_valid && out_ready) lost_before <= '0;
    else if (out_valid && lost_before != '1) lost_before <= lost_before + 1'b1;
    if (rst) begin
      out_valid   <= 1'b0;
      lost_before <= '0;
    end
  end

endmodule

`default_nettype wire
