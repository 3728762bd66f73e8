// The time base with its registers: lets the host read and set it, and queues the marks of a reference. Must never let
// a word of the other clock be read while it changes: all that crosses stands still until the other side has it.
`default_nettype none

module time_block
  import instrument_pkg::ns_t;
(
    input  wire                                      clk,
    input  wire                                      rst,
    input  wire                                      time_clk,       // 128.125 MHz
    input  wire                                      time_rst,
    input  wire                                      pps,            // asynchronous
    input  wire                                      ten_mhz,        // asynchronous
    input  wire registers_pkg::time_registers__out_t registers_out,
    output registers_pkg::time_registers__in_t       registers_in,
    output ns_t                                      now_ns          // of time_clk
);

  // ---- Setting and reading. The words of the registers stand still while the pulse crosses: the host's link is slow.
  logic set;

  sync_pulse sync_set (
      .from_clk(clk),
      .from_rst(rst),
      .from    (registers_out.control.set.value),
      .to_clk  (time_clk),
      .to_rst  (time_rst),
      .to      (set)
  );

  // The reset comes from far away, and what it goes through in the count is deep.
  logic count_rst;
  always_ff @(posedge time_clk) count_rst <= time_rst;

  time_base count (
      .time_clk,
      .time_rst(count_rst),
      .set,
      .set_ns  ({registers_out.set_high.value.value, registers_out.set_low.value.value}),
      .now_ns
  );

  ns_t stamp_ns, captured_ns;
  logic [4:0] waits;  // clocks until the stamp has come and stands still
  logic ask, captured;

  stamp capture (
      .time_clk,
      .time_rst,
      .now_ns,
      .toggle(ask),
      .stamp_ns
  );

  always_ff @(posedge clk) begin
    if (rst) begin
      waits <= '0;
      ask <= '0;
      captured <= '0;
    end else if (waits != '0) begin
      waits <= waits - 1'b1;
      if (waits == 5'd1) captured <= !captured;
    end else if (registers_out.control.capture.value) begin
      waits <= '1;
      ask   <= !ask;
    end
    if (waits == 5'd1) captured_ns <= stamp_ns;
  end

  // ---- The reference.
  logic pps_level, ten_mhz_level, ten_mhz_chosen, restart, present, present_here;
  logic mark;
  logic [31:0] mark_number, mark_ticks;
  logic [15:0] mark_losses;
  ns_t mark_ns;

  sync_bit sync_pps (
      .clk (time_clk),
      .from(pps),
      .to  (pps_level)
  );
  sync_bit sync_ten_mhz (
      .clk (time_clk),
      .from(ten_mhz),
      .to  (ten_mhz_level)
  );
  sync_bit sync_chosen (
      .clk (time_clk),
      .from(registers_out.control.ten_mhz.value),
      .to  (ten_mhz_chosen)
  );
  sync_bit sync_present (
      .clk,
      .from(present),
      .to  (present_here)
  );
  sync_pulse sync_restart (
      .from_clk(clk),
      .from_rst(rst),
      .from    (registers_out.control.restart.value),
      .to_clk  (time_clk),
      .to_rst  (time_rst),
      .to      (restart)
  );

  reference marks (
      .time_clk,
      .time_rst,
      .now_ns,
      .level  (ten_mhz_chosen ? ten_mhz_level : pps_level),
      .restart,
      .edges  (registers_out.edges.value.value),
      .timeout(registers_out.timeout.value.value),
      .present,
      .mark,
      .mark_number,
      .mark_losses,
      .mark_ticks,
      .mark_ns
  );

  // A mark that finds no room is gone: its number is missing from the host's series.
  localparam int MARK_BITS = 32 + 16 + 32 + 48;

  logic [MARK_BITS-1:0] first, held;
  logic first_valid, held_valid, take;
  logic room;

  async_fifo #(
      .WIDTH(MARK_BITS),
      .LOG2_DEPTH(4)
  ) queue (
      .in_clk   (time_clk),
      .in_rst   (time_rst),
      .in       ({mark_number, mark_losses, mark_ticks, mark_ns}),
      .in_valid (mark && room),
      .in_ready (room),
      .out_clk  (clk),
      .out_rst  (rst),
      .out      (first),
      .out_valid(first_valid),
      .out_ready(take)
  );

  assign take = first_valid && !held_valid;

  always_ff @(posedge clk) begin
    if (rst) held_valid <= '0;
    else if (take) held_valid <= '1;
    else if (registers_out.control.take.value) held_valid <= '0;
    if (take) held <= first;
  end

  assign registers_in.status.mark.next = held_valid;
  assign registers_in.status.present.next = present_here;
  assign registers_in.status.captured.next = captured;
  assign {registers_in.now_high.value.next, registers_in.now_low.value.next} = captured_ns;
  assign {registers_in.mark_number.value.next, registers_in.mark_losses.value.next,
          registers_in.mark_ticks.value.next, registers_in.mark_high.value.next,
          registers_in.mark_low.value.next} = held;

endmodule

`default_nettype wire
