// What the program of a generator has sent since its start; mailbox frames are not among it.
`default_nettype none

module sent_counts
  import instrument_pkg::ns_t;
(
    input  wire             clk,
    input  wire             rst,
    input  wire             restart,
    input  wire             begin_frame,
    input  wire      [13:0] frame_bytes,  // with begin_frame, before the FCS
    input  wire             stamped,
    input  wire ns_t        sent_ns,
    output logic     [47:0] frames,
    output logic     [47:0] bytes,        // with FCS
    output ns_t             first_ns,
    output ns_t             last_ns
);

  localparam logic [14:0] FCS_BYTES = 15'd4;

  logic began, any;
  logic [14:0] began_bytes;

  always_ff @(posedge clk) begin
    began       <= begin_frame;
    began_bytes <= {1'b0, frame_bytes} + FCS_BYTES;
    if (began) begin
      frames <= frames + 1'b1;
      bytes  <= bytes + 48'(began_bytes);
    end
    if (stamped) begin
      any     <= 1'b1;
      last_ns <= sent_ns;
      if (!any) first_ns <= sent_ns;
    end
    if (rst || restart) begin
      began    <= 1'b0;
      any      <= 1'b0;
      frames   <= '0;
      bytes    <= '0;
      first_ns <= '0;
      last_ns  <= '0;
    end
  end

endmodule

`default_nettype wire
