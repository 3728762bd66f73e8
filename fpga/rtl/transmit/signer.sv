// The signature of each marked frame (docs/signature/README.md): its number, its time and what balances them. Reads
// the stamp twelve clocks after the SFD, when it is certain and before its first byte can be due.
`default_nettype none

module signer
  import instrument_pkg::ns_t;
  import transmit_pkg::*;
(
    input  wire             clk,
    input  wire             rst,
    input  wire             restart,        // numbers from 0
    input  wire      [15:0] stream,
    input  wire             begin_frame,
    input  wire             marked,         // with begin_frame
    input  wire             sfd,
    input  wire ns_t        stamp_ns,       // of another clock, but it stands still when it is read
    output logic            stamped,        // a pulse: sent_ns is that of the frame
    output ns_t             sent_ns,
    output logic     [47:0] next_number,
    output logic     [15:0] words      [9]  // in the order of the wire
);

  localparam logic [3:0] STAMP_CLOCKS = 4'd12;

  logic [47:0] number;
  logic [15:0] sum, chosen, addend;
  logic [3:0] clocks_left;
  logic [2:0] term;
  logic choosing, adding, waiting;

  always_comb begin
    case (term)
      3'd0:    chosen = stream;
      3'd1:    chosen = number[47:32];
      3'd2:    chosen = number[31:16];
      3'd3:    chosen = number[15:0];
      3'd4:    chosen = sent_ns[47:32];
      3'd5:    chosen = sent_ns[31:16];
      3'd6:    chosen = sent_ns[15:0];
      default: chosen = '0;
    endcase
  end

  assign words[0] = MAGIC;
  assign words[1] = stream;
  assign words[2] = number[47:32];
  assign words[3] = number[31:16];
  assign words[4] = number[15:0];
  assign words[5] = sent_ns[47:32];
  assign words[6] = sent_ns[31:16];
  assign words[7] = sent_ns[15:0];
  assign words[8] = ~sum;

  always_ff @(posedge clk) begin
    stamped <= 1'b0;
    if (waiting) begin
      clocks_left <= clocks_left - 1'b1;
      if (clocks_left == '0) begin
        waiting  <= 1'b0;
        stamped  <= 1'b1;
        sent_ns  <= stamp_ns;
        choosing <= 1'b1;
      end
    end
    addend <= chosen;
    adding <= choosing;
    if (adding) sum <= ones_sum(sum, addend);
    if (choosing) begin
      term <= term + 1'b1;
      if (term == 3'd3 || term == 3'd6) choosing <= 1'b0;
    end
    if (sfd) begin
      clocks_left <= STAMP_CLOCKS;
      waiting     <= 1'b1;
    end
    if (begin_frame) begin
      sum    <= MAGIC;
      term   <= '0;
      adding <= 1'b0;
      choosing <= 1'b1;
      if (marked) begin
        number      <= next_number;
        next_number <= next_number + 1'b1;
      end
    end
    if (restart) next_number <= '0;
    if (rst) begin
      next_number <= '0;
      choosing    <= 1'b0;
      waiting     <= 1'b0;
      stamped     <= 1'b0;
    end
  end

endmodule

`default_nettype wire
