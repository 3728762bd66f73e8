// Figures of the byte protocol (docs/fpga-link.md) that more than one module of the link must know. Holds no logic.
`default_nettype none

package link_pkg;

  // Framing of RFC 1662 §4.2 and its Appendix C.3: octets between flags, ended by the FCS-32.
  localparam logic [7:0] FLAG = 8'h7E;
  localparam logic [7:0] ESCAPE = 8'h7D;
  localparam logic [7:0] ESCAPED = 8'h20;  // what an escaped octet is changed by

  function automatic logic must_escape(input logic [7:0] octet);
    return octet == FLAG || octet == ESCAPE;
  endfunction

  typedef enum logic [7:0] {
    STATUS_DONE    = 8'd0,
    STATUS_REFUSED = 8'd1,  // opcode, length or address that the protocol does not know: nothing was done
    STATUS_ERROR   = 8'd2,  // a block answered with an error
    STATUS_SILENT  = 8'd3   // a block did not answer
  } status_t;

endpackage

`default_nettype wire
