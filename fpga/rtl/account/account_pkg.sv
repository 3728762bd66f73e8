// The types within the accounting of a port. Holds no logic.
`default_nettype none

package account_pkg;
  import instrument_pkg::ns_t;
  import instrument_pkg::frame_bytes_t;

  // What arrived, by docs/signature/README.md, "How a receiver classifies a frame".
  typedef enum logic [1:0] {
    CLASS_FOREIGN = 2'd0,  // no magic, or a number that the trial does not send
    CLASS_OTHER   = 2'd1,  // magic, but another stream
    CLASS_CORRUPT = 2'd2,  // ours, with wrong bytes or a wrong length: its number is only a claim
    CLASS_OURS    = 2'd3   // intact
  } class_t;

  // What the number of an intact frame says, in the order of arrival.
  typedef enum logic [1:0] {
    VERDICT_IN_ORDER   = 2'd0,  // greater than all before
    VERDICT_REORDERED  = 2'd1,  // smaller, and missing till now
    VERDICT_DUPLICATED = 2'd2,  // smaller, and seen
    VERDICT_LATE       = 2'd3   // too old to tell which of the two
  } verdict_t;

  // What of an arrival accounting needs after it has been classified.
  typedef struct packed {
    logic [47:0] number;
    ns_t         latency_ns;  // signed: clocks of two ports may disagree by a step
    logic [43:0] time_16ns;
  } numbered_t;

  // What the host says of a trial; it may change only between trials.
  typedef struct packed {
    logic [15:0]  stream;
    frame_bytes_t least_bytes;
    frame_bytes_t most_bytes;
    logic [47:0]  planned;      // frames that the trial may send: greater numbers are foreign
  } expectation_t;

  typedef struct packed {
    logic [31:0] every;               // one frame in so many; 0: none
    logic        trigger_on_skip;
    logic        trigger_on_latency;
    logic [31:0] trigger_latency_ns;  // signed
    logic [31:0] trigger_frames;      // that many from the trigger on, at least 1
  } choice_t;

  typedef struct packed {
    expectation_t expectation;
    logic [31:0]  origin_ns;    // signed: the latency of the least bin
    logic [4:0]   shift;        // a bin is 2^shift ns wide
    choice_t      choice;
  } config_t;

endpackage

`default_nettype wire
