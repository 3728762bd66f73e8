// The types that cross from one block of the instrument to another. Holds no logic.
`default_nettype none

package instrument_pkg;

  // Nanoseconds of the instrument's time base, modulo 2^48 as in docs/signature/README.md.
  typedef logic [47:0] ns_t;

  // Bytes of a frame with its FCS: 16 383 before the FCS at most.
  typedef logic [14:0] frame_bytes_t;

  // What a signature says (docs/signature/README.md), its magic and balance left out.
  typedef struct packed {
    logic [15:0] stream;
    logic [47:0] number;   // the field `sequence`, a word of the language
    ns_t         sent_ns;
  } signature_t;

  // All that a receiver says of a frame, at its end. One for each frame on the wire, good or bad.
  typedef struct packed {
    logic         changed;       // its header is not the expected one
    logic [15:0]  header;        // digest of its header
    logic         fcs_bad;       // also of a frame with rx_er, or cut in the middle of a byte
    logic         misaligned;    // at 10 and 100 Mb/s: ended in the middle of a byte
    logic         marked;        // the magic is in its place
    logic         sums_to_zero;  // the checked region and the signature are as they were sent
    frame_bytes_t frame_bytes;
    ns_t          received_ns;   // of its SFD
    signature_t   signature;     // of no meaning unless marked
  } arrival_t;

  // What accounting found worth telling of single frames; the host reads them in this order.
  typedef enum logic [3:0] {
    EVENT_LOST = 4'd0,  // [first, last] never came: left the window of sequence numbers
    EVENT_DUPLICATED = 4'd1,  // first came again
    EVENT_REORDERED = 4'd2,  // first came after a greater number
    EVENT_LATE = 4'd3,  // first came when it had left the window: reported as lost before, or a duplicate
    EVENT_CORRUPT = 4'd4,  // first is claimed by a frame with wrong bytes; last as in EVENT_CHANGED
    EVENT_FRAME = 4'd5,  // a sampled or triggered frame: first is its number, last its latency in ns
    EVENT_DROPPED = 4'd6,  // last events had no room in the memory
    EVENT_CHANGED = 4'd7  // first is intact behind another header; last is its digest and its latency in ns (32 bit)
  } event_kind_t;

  // 144 bits: 18 bytes in memory.
  typedef struct packed {
    event_kind_t kind;
    logic [43:0] time_16ns;  // received_ns / 16, so it wraps with ns_t: when it was found
    logic [47:0] first;
    logic [47:0] last;
  } event_t;

endpackage

`default_nettype wire
