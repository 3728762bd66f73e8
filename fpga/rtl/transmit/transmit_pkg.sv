// The words that the host writes for a generator, and the frames that its parts hand on. Holds no logic but sums.
`default_nettype none

package transmit_pkg;

  localparam int SIGNATURE_BYTES = 18;
  localparam logic [15:0] MAGIC = 16'h6B73;

  // An entry of the program: what one frame is like. The second word of the two stands in the upper half.
  typedef struct packed {
    logic [31:0] gap_bytes;     // from the end of this frame's FCS to the next preamble, 8 at least
    logic [1:0]  unused;
    logic        dribble;       // half a byte more after the FCS
    logic        bad_fcs;
    logic        marked;        // ends with a signature; else with 18 zero bytes
    logic [7:0]  header_bytes;  // 1 to 128, at the beginning of the slot
    logic [4:0]  slot;
    logic [13:0] frame_bytes;   // before the FCS
  } entry_t;

  // A 16-bit word of the header that depends on the length: constant + weight * frame_bytes in ones' complement.
  typedef struct packed {
    logic [2:0]  unused;
    logic        used;      // the patches of a slot stand first, with ascending offsets
    logic        zero;      // written as 0x0000, where the sum would be 0xFFFF: in checksums other than UDP's
    logic [6:0]  offset;
    logic [3:0]  weight;    // -8 to 7: that of a checksum is negative
    logic [15:0] constant;
  } patch_t;

  // A patch worked out for one frame.
  typedef struct packed {
    logic        used;
    logic [6:0]  offset;
    logic [15:0] value;
  } patched_t;

  // A frame ready to be sent.
  typedef struct packed {
    entry_t      entry;
    logic [13:0] body_bytes;   // of the filler, without the two bytes that balance it
    logic        has_body;
    logic        has_balance;
    logic        odd;          // the filler has an odd length
    logic        scheduled;    // has a start time of its own; else it follows after the gap
    logic        bank;         // of the patches
  } frame_t;

  // Ones' complement sum. Both results of the carry are made at once: one carry chain, not two in a row.
  function automatic logic [15:0] ones_sum(input logic [15:0] a, input logic [15:0] b);
    logic [16:0] plain;
    logic [15:0] more;
    plain = {1'b0, a} + {1'b0, b};
    more  = a + b + 16'd1;
    return plain[16] ? more : plain[15:0];
  endfunction

endpackage

`default_nettype wire
