// A generator with clock strobe and time base, whose frames are written to gmii.log: a line each of the time of the
// SFD in ps, byte times since the end of the frame before, 1 if the last byte is half of one, and all bytes.
`default_nettype none

module bench
  import instrument_pkg::ns_t;
(
    input  wire         clk,
    input  wire         rst,
    input  wire         time_clk,
    input  wire         time_rst,
    input  wire  [ 6:0] divider,            // clocks of a byte time
    input  wire         write,
    input  wire  [11:0] write_address,
    input  wire  [31:0] write_word,
    input  wire         start,
    input  wire         stop,
    input  wire         timed,
    input  wire  [47:0] start_ns,
    input  wire  [ 9:0] last_entry,
    input  wire  [47:0] frame_limit,
    input  wire  [31:0] burst_frames,
    input  wire  [31:0] interval_bytes,
    input  wire  [31:0] interval_fraction,
    input  wire  [15:0] stream,
    input  wire         mailbox_send,
    input  wire  [11:0] mailbox_bytes,
    output logic        running,
    output logic        waiting,
    output logic        mailbox_busy,
    output logic [31:0] lag_bytes,
    output logic [47:0] frames,
    output logic [47:0] bytes,
    output logic [47:0] numbers,
    output logic [47:0] first_ns,
    output logic [47:0] last_ns,
    output logic [47:0] now_ns
);

  logic ce;
  logic [6:0] clocks;
  logic [5:0] fraction;
  logic [7:0] gmii_txd;
  logic gmii_tx_en, gmii_tx_er, gmii_half;

  generator generator_i (.*);

  always_ff @(posedge clk) begin
    ce     <= clocks == 7'd1 || divider == 7'd1;
    clocks <= clocks <= 7'd1 ? divider : clocks - 1'b1;
    if (rst) clocks <= 7'd1;
  end

  // 128.125 MHz: 7 + 33/41 ns.
  always_ff @(posedge time_clk) begin
    fraction <= fraction >= 6'd8 ? fraction - 6'd8 : fraction + 6'd33;
    now_ns   <= now_ns + (fraction >= 6'd8 ? 48'd8 : 48'd7);
    if (time_rst) begin
      fraction <= '0;
      now_ns   <= '0;
    end
  end

  int log;
  longint gap;
  logic was_enabled, was_half, after_sfd;

  initial log = $fopen("gmii.log", "w");

  always @(posedge clk) begin
    if (rst) begin
      gap         <= 0;
      was_enabled <= 1'b0;
    end else if (ce) begin
      was_enabled <= gmii_tx_en;
      was_half    <= gmii_half;
      if (gmii_tx_en) begin
        if (!was_enabled) begin
          $fwrite(log, "%0d ", gap);
          gap <= 0;
          after_sfd <= 1'b0;
        end
        $fwrite(log, "%02x", gmii_txd);
        if (!after_sfd && gmii_txd == 8'hD5) begin
          $fwrite(log, " %0d ", $time);
          after_sfd <= 1'b1;
        end
        if (gmii_tx_er) $fwrite(log, "!");
      end else begin
        if (was_enabled) begin
          $fwrite(log, " %0d\n", was_half);
          $fflush(log);
        end
        gap <= gap + 1;
      end
    end
  end

endmodule

`default_nettype wire
