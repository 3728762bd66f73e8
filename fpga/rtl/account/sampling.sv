// Chooses the frames that are told one by one: one in so many, and those that follow a trigger, itself included.
// The trigger fires once: on the first number skipped, or on the first latency above a limit. Must never hold up a frame.
`default_nettype none

module sampling
  import instrument_pkg::ns_t;
  import account_pkg::choice_t;
(
    input  wire          clk,
    input  wire          rst,
    input  wire choice_t choice,
    input  wire ns_t     latency_ns,  // signed
    input  wire          skipped,
    input  wire          valid,
    output logic         tell,        // two clocks after `valid`, once for each frame that is told
    output logic         triggered
);

  logic above, skip, known, due;
  logic [31:0] until_sample, left;

  // The sign of a difference is one chain of carries and a register.
  /* verilator lint_off UNUSEDSIGNAL */  // only its sign is of use
  logic signed [48:0] margin;
  /* verilator lint_on UNUSEDSIGNAL */
  assign margin = 49'($signed(choice.trigger_latency_ns)) - $signed({latency_ns[47], latency_ns});

  always_ff @(posedge clk) begin
    above <= margin[48];
    skip  <= skipped;
    known <= valid && !rst;
    due   <= until_sample == '0;

    tell  <= 1'b0;
    if (known) begin
      tell <= choice.every != '0 && due || left != '0;
      until_sample <= due ? choice.every - 1'b1 : until_sample - 1'b1;
      if (left != '0) left <= left - 1'b1;
      if (!triggered && (choice.trigger_on_latency && above || choice.trigger_on_skip && skip)) begin
        triggered <= 1'b1;
        tell      <= 1'b1;
        left      <= choice.trigger_frames - 1'b1;
      end
    end

    if (rst) begin
      triggered    <= '0;
      until_sample <= '0;
      left         <= '0;
    end
  end

endmodule

`default_nettype wire
