// Counts what arrived and what became of it. Must never be slower than the wire: every count takes one a clock.
`default_nettype none

module counts
  import account_pkg::*;
(
    input  wire                  clk,
    input  wire                  rst,
    input  wire class_t          kind,
    input  wire                  kind_valid,
    input  wire verdict_t        verdict,
    input  wire                  verdict_valid,
    input  wire                  refused,        // by the queue before the tracker
    input  wire           [47:0] lost_first,
    input  wire           [47:0] lost_last,
    input  wire                  lost_valid,
    input  wire                  drop,
    output counts_t              told
);

  logic [47:0] beyond;
  logic lost;

  always_ff @(posedge clk) begin
    beyond <= lost_last - lost_first;
    lost   <= lost_valid && !rst;
    if (lost) told.lost <= told.lost + beyond + 1'b1;

    if (kind_valid) begin
      told.received <= told.received + 1'b1;
      unique case (kind)
        CLASS_FOREIGN: told.foreign <= told.foreign + 1'b1;
        CLASS_OTHER:   told.other <= told.other + 1'b1;
        CLASS_CORRUPT: told.corrupt <= told.corrupt + 1'b1;
        default:       ;
      endcase
    end
    if (verdict_valid) begin
      unique case (verdict)
        VERDICT_IN_ORDER:   told.first <= told.first + 1'b1;
        VERDICT_REORDERED: begin
          told.first     <= told.first + 1'b1;
          told.reordered <= told.reordered + 1'b1;
        end
        VERDICT_DUPLICATED: told.duplicated <= told.duplicated + 1'b1;
        default:            told.late <= told.late + 1'b1;
      endcase
    end
    if (refused) told.untracked <= told.untracked + 1'b1;
    if (drop) told.dropped <= told.dropped + 1'b1;

    if (rst) told <= '0;
  end

endmodule

`default_nettype wire
