// Plays a line from a file into a receiver and writes what it says of the frames into another: for simulation only, and
// only so that millions of clocks need no Python. Never judges.
//
// line.bin holds two bytes a clock of rx_clk: bit 0 rx_dv, bit 1 rx_er; then rxd. arrivals.txt gets a line for each
// arrival: the struct in hexadecimal. stamps.txt gets the time in ps of each clock that is named by bit 7 of the first.
`default_nettype none

module receive_bench
  import instrument_pkg::*;
(
    input  wire  [31:0] clk_ps,
    input  wire  [31:0] rx_ps,
    input  wire  [31:0] time_ps,
    input  wire         rst,
    input  wire         play,
    input  wire         nibbles,
    input  wire  [ 7:0] checked_from,
    input  wire         compare,
    input  wire  [31:0] expected_header,
    input  wire  [14:0] max_frame_bytes,
    input  wire         clear,
    input  wire         stalled,
    input  wire         mailbox_taken,
    output logic [10:0] mailbox_bytes,
    input  wire         mailbox_request,
    input  wire  [ 8:0] mailbox_request_word,
    output logic        mailbox_read_ack,
    output logic [31:0] mailbox_read_answer,
    output logic        mailbox_write_ack,
    output logic        played,
    output logic [47:0] frames,
    output logic [47:0] bytes,
    output logic [31:0] fcs_bad_frames,
    output logic [31:0] misaligned_frames,
    output logic [31:0] undersize_frames,
    output logic [31:0] oversize_frames,
    output logic [31:0] fragments,
    output logic [31:0] jabbers,
    output logic [31:0] lost_arrivals,
    output logic [31:0] mailbox_missed_frames
);

  logic clk, rx_clk, time_clk;

  // Made here and not by cocotb, which would be called back at each edge.
  initial begin
    clk = 1'b0;
    rx_clk = 1'b0;
    time_clk = 1'b0;
    #1;
    fork
      forever #(clk_ps / 2) clk = !clk;
      forever #(rx_ps / 2) rx_clk = !rx_clk;
      forever #(time_ps / 2) time_clk = !time_clk;
    join
  end

  logic [7:0] rxd;
  logic rx_dv, rx_er;
  ns_t now_ns;
  arrival_t arrival;
  logic arrival_valid, arrival_ready;

  assign arrival_ready = !stalled;

  // The time is simulation's own, seen at the edges of time_clk, as the instrument's counter would be.
  always_ff @(posedge time_clk) now_ns <= 48'($time / 1000);

  // verilator lint_off UNUSEDSIGNAL
  logic count_answered;
  logic [31:0] count_answer;
  // verilator lint_on UNUSEDSIGNAL

  receive dut (
      .time_rst(rst),
      .mailbox_request_is_write(1'b0),
      .count_asked(1'b0),
      .count_word('0),
      .*
  );

  // As the table has them, in the order of count_t of receive_counts.
  assign frames                = dut.counts.memory[0];
  assign bytes                 = dut.counts.memory[1];
  assign fcs_bad_frames        = dut.counts.memory[2][31:0];
  assign undersize_frames      = dut.counts.memory[3][31:0];
  assign misaligned_frames     = dut.counts.memory[4][31:0];
  assign lost_arrivals         = dut.counts.memory[5][31:0];
  assign mailbox_missed_frames = dut.counts.memory[6][31:0];
  assign oversize_frames       = dut.counts.memory[7][31:0];
  assign fragments             = dut.counts.memory[8][31:0];
  assign jabbers               = dut.counts.memory[9][31:0];

  int line, arrivals, stamps;
  logic playing;

  always_ff @(posedge rx_clk) begin
    automatic int flags = -1;
    automatic int data = 0;
    if (play && !playing) begin
      line     <= $fopen("line.bin", "rb");
      arrivals <= $fopen("arrivals.txt", "w");
      stamps   <= $fopen("stamps.txt", "w");
    end
    playing <= play;
    if (playing && play && !played) begin
      flags = $fgetc(line);
      data  = $fgetc(line);
      if (flags < 0) begin
        played <= 1'b1;
        $fclose(line);
      end else if (flags[7]) $fwrite(stamps, "%0d\n", $time);
    end
    if (!play) played <= 1'b0;
    if (!play && playing) begin
      $fclose(arrivals);
      $fclose(stamps);
    end
    rx_dv <= flags >= 0 && flags[0];
    rx_er <= flags >= 0 && flags[1];
    rxd   <= flags >= 0 ? data[7:0] : '0;
  end

  always_ff @(posedge clk) begin
    if (play && arrival_valid && arrival_ready) $fwrite(arrivals, "%h\n", arrival);
  end

endmodule

`default_nettype wire
