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

  logic above, skip, known, wanted, begun, due, following, over;
  logic [31:0] since;  // frames from the last sample on
  logic [31:0] followed;  // frames from the trigger on

  // The sign of a difference is one chain of carries and a register.
  /* verilator lint_off UNUSEDSIGNAL */  // only its sign is of use
  logic signed [48:0] margin;
  /* verilator lint_on UNUSEDSIGNAL */
  assign margin = 49'($signed(choice.trigger_latency_ns)) - $signed({latency_ns[47], latency_ns});

  always_ff @(posedge clk) begin
    above  <= margin[48];
    skip   <= skipped;
    known  <= valid && !rst;
    wanted <= choice.every != '0;
    // Frames are further apart than two clocks, so that these are known of the last one.
    due    <= wanted && (!begun || since == choice.every);
    over   <= followed == choice.trigger_frames;

    tell   <= 1'b0;
    if (known) begin
      tell  <= due || following && !over;
      begun <= 1'b1;
      since <= since + 1'b1;
      if (due) since <= 32'd1;
      followed <= followed + 1'b1;
      if (over) following <= 1'b0;
      if (!triggered && (choice.trigger_on_latency && above || choice.trigger_on_skip && skip)) begin
        triggered <= 1'b1;
        tell      <= 1'b1;
        following <= 1'b1;
      end
      if (!triggered) followed <= 32'd1;
    end

    if (rst) begin
      triggered <= '0;
      begun     <= '0;
      following <= '0;
    end
  end

endmodule

`default_nettype wire
