// How the memory is divided and what a record looks like (docs/fpga-link.md). Holds no logic.
`default_nettype none

package memory_pkg;

  localparam int WORDS = 5;

  // An event as it lies in memory, its first word at the lowest address.
  typedef struct packed {
    logic [3:0]             origin;    // the port
    logic [11:0]            serial;    // records written before this one, modulo 4096: tells a torn record
    instrument_pkg::event_t happened;
  } record_t;

  // Three quarters of the memory are the ring, an eighth is the bitmap of each port.
  function automatic int ring_records(input int word_bits);
    return (6 << (word_bits - 3)) / WORDS;
  endfunction

endpackage

`default_nettype wire
