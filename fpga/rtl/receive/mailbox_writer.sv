// Puts frames that arrived whole and are foreign, or have another header than expected, into the slots of the mailbox.
// Never touches a slot that the host may be reading: such a frame is missed.
//
// Every frame is written while it arrives, if a slot is free, but handed over only when it is known to be one. A frame's
// first word comes ten clocks after its `start`, which is after the verdict on the frame before.
`default_nettype none

module mailbox_writer
  import instrument_pkg::*;
#(
    parameter int LOG2_SLOTS = 2
) (
    input  wire                                clk,
    input  wire                                rst,
    // from frame_check
    input  wire                                body_start,
    input  wire                                body_valid,
    input  wire               [           7:0] body,
    input  wire                                body_stop,
    input  wire                                started,
    input  wire                                done,
    input  wire                                fcs_bad,
    input  wire                                marked,
    input  wire                                changed,
    input  wire frame_bytes_t                  frame_bytes,
    // a clock after `done`
    output logic                               missed,       // this frame was for the mailbox, and found it full
    // to the memory: words of four bytes, the first byte lowest
    output logic                               write,
    output logic              [LOG2_SLOTS+8:0] write_word,
    output logic              [          31:0] write_data,
    // to the reader: the slots are used in turn, and as many may be handed over as there are
    output logic                               full_valid,
    output logic              [          10:0] full_bytes,   // without FCS
    input  wire                                full_ready
);

  localparam int FCS_BYTES = 4;
  localparam frame_bytes_t LEAST_BYTES = 64;
  localparam frame_bytes_t MOST_BYTES = 1518;

  logic [LOG2_SLOTS-1:0] slot;
  logic open;  // the slot is ours until this frame's verdict
  logic started_late, done_late, wanted;
  logic [8:0] word;
  logic [1:0] lane;
  logic [23:0] lower;
  logic beyond;  // the slot is full; the frame will turn out to be too long

  assign missed     = done_late && wanted && !open;
  assign full_valid = done_late && wanted && open;

  always_ff @(posedge clk) begin
    started_late <= started;
    done_late    <= done;
    wanted       <= !fcs_bad && (!marked || changed) && frame_bytes >= LEAST_BYTES && frame_bytes <= MOST_BYTES;
    full_bytes   <= frame_bytes[10:0] - 11'(FCS_BYTES);
    if (started_late) open <= full_ready;
    else if (done_late) open <= 1'b0;
    if (full_valid) slot <= slot + 1'b1;

    if (body_valid) begin
      lower <= {body, lower[23:8]};
      lane  <= lane + 1'b1;
    end
    // A last word of less than four bytes is written at the end, its other bytes zero.
    write      <= !beyond && (body_valid && lane == 2'd3 || body_stop && lane != 2'd0) && open;
    write_word <= {slot, word};
    unique case (lane)
      2'd1: write_data <= {24'b0, lower[23:16]};
      2'd2: write_data <= {16'b0, lower[23:8]};
      default: write_data <= {body_stop ? 8'b0 : body, lower};
    endcase
    if (body_valid && lane == 2'd3) begin
      word   <= word + 1'b1;
      beyond <= beyond || word == '1;
    end
    if (body_start) begin
      lane   <= '0;
      word   <= '0;
      beyond <= 1'b0;
    end
    if (rst) begin
      slot         <= '0;
      open         <= 1'b0;
      started_late <= 1'b0;
      done_late    <= 1'b0;
      write        <= 1'b0;
    end
  end

endmodule

`default_nettype wire
