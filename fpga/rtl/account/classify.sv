// Tells foreign frames, other streams, corrupt frames and ours apart, and takes their latency. Takes an arrival every
// clock; the answer comes two clocks later. Must never look at the number of a frame that is not intact.
`default_nettype none

module classify
  import instrument_pkg::*;
  import account_pkg::*;
(
    input  wire                      clk,
    input  wire                      rst,
    input  wire expectation_t        expectation,
    input  wire arrival_t            arrival,
    input  wire                      arrival_valid,
    output numbered_t                numbered,
    output class_t                   kind,
    output logic                     changed,
    output logic              [15:0] header,
    output logic                     valid
);

  // One comparison of each kind a clock: they are as wide as a clock allows.
  typedef struct packed {logic marked, same_stream, damaged, too_short, too_long, unplanned;} findings_t;

  findings_t found;
  numbered_t taken;
  logic found_valid, found_changed;
  logic [15:0] found_header;

  always_ff @(posedge clk) begin
    found.marked      <= arrival.marked;
    found.same_stream <= arrival.signature.stream == expectation.stream;
    found.damaged     <= arrival.fcs_bad || arrival.misaligned || !arrival.sums_to_zero;
    found.too_short   <= arrival.frame_bytes < expectation.least_bytes;
    found.too_long    <= arrival.frame_bytes > expectation.most_bytes;
    found.unplanned   <= arrival.signature.number >= expectation.planned;
    taken.number      <= arrival.signature.number;
    taken.latency_ns  <= arrival.received_ns - arrival.signature.sent_ns;
    taken.time_16ns   <= arrival.received_ns[47:4];

    found_changed     <= arrival.changed;
    found_header      <= arrival.header;

    numbered          <= taken;
    changed           <= found_changed;
    header            <= found_header;
    if (!found.marked) kind <= CLASS_FOREIGN;
    else if (!found.same_stream) kind <= CLASS_OTHER;
    else if (found.damaged || found.too_short || found.too_long) kind <= CLASS_CORRUPT;
    else if (found.unplanned) kind <= CLASS_FOREIGN;
    else kind <= CLASS_OURS;

    found_valid <= arrival_valid && !rst;
    valid       <= found_valid && !rst;
  end

endmodule

`default_nettype wire
