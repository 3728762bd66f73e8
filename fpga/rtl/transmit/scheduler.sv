// Goes through the program and gets the next frame ready while one is sent. Decides which frame, never when.
`default_nettype none

module scheduler
  import transmit_pkg::*;
(
    input  wire                clk,
    input  wire                rst,
    // Commands are pulses; what they mean must stand still while `running`.
    input  wire                start,
    input  wire                stop,
    input  wire         [ 9:0] last_entry,
    input  wire         [47:0] frame_limit,    // 0: until stopped
    input  wire         [31:0] burst_frames,   // frames to a scheduled start; 0: none has one, gaps say it all
    output logic               running,        // frames are still to be taken
    // The program, two clocks after its address.
    output logic        [ 9:0] entry_address,
    input  wire entry_t        entry,
    // The patches of the frame.
    output logic               patch_start,
    input  wire                patch_done,
    // The next frame: it stays until it is taken.
    output logic               frame_valid,
    output frame_t             frame,
    input  wire                taken           // a clock after it began: long before another can begin
);

  typedef enum logic [2:0] {
    IDLE,
    FETCH,
    FETCHED,
    LOAD,
    PREPARE,
    READY
  } state_t;

  state_t state;
  logic endless, bursts, few, is_last, burst_is_last, last_frame, bank_sent;
  // With the next. Frames are so far apart that each has its comparison a clock later.
  logic [47:0] frames_left;
  logic [31:0] burst_left;
  logic [14:0] beyond_header;
  logic [14:0] filler;

  assign few = frames_left[47:1] == '0;
  assign last_frame = is_last && !endless;

  always_ff @(posedge clk) begin
    patch_start   <= 1'b0;
    beyond_header <= {1'b0, frame.entry.frame_bytes} - 15'(frame.entry.header_bytes);
    filler        <= beyond_header - 15'(SIGNATURE_BYTES);
    if (taken) bank_sent <= frame.bank;
    is_last <= few && frames_left[0];
    burst_is_last <= burst_left == 32'd1;
    bursts <= burst_frames != '0;
    case (state)
      IDLE: begin
        entry_address <= '0;
        frames_left   <= frame_limit;
        burst_left    <= burst_frames;
        frame.scheduled <= bursts;
        if (start) begin
          running <= 1'b1;
          state   <= FETCH;
        end
      end
      FETCH: begin
        endless <= few && !frames_left[0];
        state   <= FETCHED;
      end
      FETCHED: state <= LOAD;
      LOAD: begin
        frame.entry   <= entry;
        frame.bank    <= !bank_sent;  // the frame that was begun last may still need the other
        entry_address <= entry_address == last_entry ? '0 : entry_address + 1'b1;
        patch_start   <= 1'b1;
        state         <= PREPARE;
      end
      PREPARE: begin
        // Right from the third clock on, and patches take longer. A frame too short for headers and signature has no
        // filler: it is cut where it ends.
        frame.odd         <= filler[0];
        frame.has_balance <= !filler[14] && filler[13:1] != '0;
        frame.has_body    <= !filler[14] && filler[13:0] != '0 && filler[13:0] != 14'd2;
        frame.body_bytes  <= filler[13:1] == '0 ? filler[13:0] : filler[13:0] - 14'd2;
        if (patch_done) begin
          frame_valid <= 1'b1;
          state       <= READY;
        end
      end
      READY: begin
        if (taken) begin
          frame_valid     <= 1'b0;
          frames_left     <= frames_left - 1'b1;
          burst_left      <= burst_is_last ? burst_frames : burst_left - 1'b1;
          frame.scheduled <= bursts && burst_is_last;
          if (last_frame) running <= 1'b0;
          state <= last_frame ? IDLE : LOAD;  // the entry was fetched meanwhile
        end
      end
      default: state <= IDLE;
    endcase
    if (rst || stop) begin
      running     <= 1'b0;
      frame_valid <= 1'b0;
      state       <= IDLE;
    end
    if (rst) bank_sent <= 1'b0;
  end

endmodule

`default_nettype wire
