// The instrument's part of the SDRAM: a ring of events, two bitmaps of lost numbers, and the host's window.
// The memory is seen through one port: an access is taken in a clock with valid and ready; words that were read
// come later in order. Must never hold an event back for good: what has no room is dropped and counted.
`default_nettype none

module memory
  import instrument_pkg::*;
  import memory_pkg::*;
#(
    parameter int WORD_BITS = 21,                       // 8 MiB
    parameter int RECORDS   = ring_records(WORD_BITS),
    parameter int AREA_BITS = WORD_BITS - 3             // of a bitmap
) (
    input  wire                                                          clk,
    input  wire                                                          rst,
    input  registers_pkg::memory_registers__out_t                        from_registers,
    output registers_pkg::memory_registers__in_t                         to_registers,
    input  registers_pkg::window_memory__external__out_t                 from_window,
    output registers_pkg::window_memory__external__in_t                  to_window,
    input  wire event_t                                  [          1:0] happened,
    input  wire                                          [          1:0] happened_valid,
    output logic                                         [          1:0] happened_ready,
    input  wire                                                          memory_initialised,
    output logic                                                         memory_valid,
    input  wire                                                          memory_ready,
    output logic                                                         memory_write,
    output logic                                         [WORD_BITS-1:0] memory_address,
    output logic                                         [         31:0] memory_word,
    input  wire                                                          memory_read_valid,
    input  wire                                          [         31:0] memory_read_word
);

  localparam int USERS = 3;

  logic clear;  // of all that is recorded
  logic enable;

  always_ff @(posedge clk) begin
    clear  <= rst || from_registers.control.clear.value;
    enable <= from_registers.control.enable.value && memory_initialised;
  end

  // ---- From both ports, which have a queue each. A port whose queue was never empty for as long as twenty events take
  // is crowded.
  localparam int LOG2_CROWD = 10;

  logic [1:0] to_bitmap, waits, crowded, is_empty;
  logic [1:0][6:0] seen;  // a queue shows its next event some clocks after the one before was taken
  event_t routed;
  logic routed_port, router_idle;
  logic ring_valid, ring_ready;
  logic bitmap_valid, bitmap_ready;
  logic [LOG2_CROWD-1:0] tick;

  always_ff @(posedge clk) begin
    tick <= tick + 1'b1;
    if (tick == '0) begin
      crowded <= waits;
      waits   <= '1;
    end
    for (int i = 0; i < 2; i++) begin
      seen[i]     <= {seen[i][5:0], happened_valid[i]};
      is_empty[i] <= seen[i] == '0 && !happened_valid[i];
      if (rst || is_empty[i]) begin
        crowded[i] <= '0;
        waits[i]   <= '0;
      end
    end
    if (rst) tick <= '0;
  end

  logic nearly_full, full, ring_idle, ring_dropped;
  logic [31:0] written, dropped;

  event_router router (
      .clk,
      .rst (clear),
      .enable,
      .nearly_full,
      .crowded,
      .happened,
      .happened_valid,
      .happened_ready,
      .to_bitmap,
      .routed,
      .routed_port,
      .ring_valid,
      .ring_ready,
      .bitmap_valid,
      .bitmap_ready,
      .idle(router_idle)
  );

  // ---- Into the memory.
  logic [USERS-1:0] access_valid, access_ready, access_write;
  logic [USERS-1:0][WORD_BITS-1:0] access_address;
  logic [USERS-1:0][31:0] access_word;

  ring #(
      .WORD_BITS(WORD_BITS),
      .RECORDS  (RECORDS)
  ) ring (
      .clk,
      .rst           (clear),
      .overwrite     (from_registers.control.overwrite.value),
      .taken         (from_registers.taken.value.value),
      .written,
      .full,
      .nearly_full,
      .dropped       (ring_dropped),
      .idle          (ring_idle),
      .happened      (routed),
      .origin        (routed_port),
      .happened_valid(ring_valid),
      .happened_ready(ring_ready),
      .address       (access_address[0]),
      .word          (access_word[0]),
      .word_valid    (access_valid[0]),
      .word_ready    (access_ready[0])
  );

  logic [1:0][47:0] begins, ends;
  logic [1:0] bitmap_full;
  logic bitmap_dropped, both_dropped, bitmap_idle;

  bitmap #(
      .WORD_BITS(WORD_BITS),
      .AREA_BITS(AREA_BITS),
      .BASE     (WORD_BITS'(6 << (WORD_BITS - 3)))
  ) bitmap (
      .clk,
      .rst       (clear),
      .origin    (routed_port),
      .first     (routed.first),
      .last      (routed.last),
      .lost_valid(bitmap_valid),
      .lost_ready(bitmap_ready),
      .begins,
      .ends,
      .full      (bitmap_full),
      .dropped   (bitmap_dropped),
      .idle      (bitmap_idle),
      .address   (access_address[1]),
      .word      (access_word[1]),
      .word_valid(access_valid[1]),
      .word_ready(access_ready[1])
  );

  window #(
      .WORD_BITS(WORD_BITS)
  ) window (
      .clk,
      .rst,
      .ready         (memory_initialised),
      .page          (from_registers.page.value.value),
      .req           (from_window.req),
      .index         (from_window.addr[11:2]),
      .req_is_wr     (from_window.req_is_wr),
      .wr_data       (from_window.wr_data),
      .rd_ack        (to_window.rd_ack),
      .rd_data       (to_window.rd_data),
      .wr_ack        (to_window.wr_ack),
      .access_valid  (access_valid[2]),
      .access_ready  (access_ready[2]),
      .access_write  (access_write[2]),
      .access_address(access_address[2]),
      .access_word   (access_word[2]),
      .read_valid    (memory_read_valid),
      .read_word     (memory_read_word)
  );

  logic arbiter_idle;

  assign access_write[1:0] = '1;

  memory_arbiter #(
      .USERS    (USERS),
      .WORD_BITS(WORD_BITS)
  ) arbiter (
      .clk,
      .rst,
      .access_valid,
      .access_ready,
      .access_write,
      .access_address,
      .access_word,
      .idle(arbiter_idle),
      .memory_valid,
      .memory_ready,
      .memory_write,
      .memory_address,
      .memory_word
  );

  // ---- To the host.
  logic idle;

  always_ff @(posedge clk) begin
    // Neither drops two events in a row.
    both_dropped <= ring_dropped && bitmap_dropped;
    if (clear) dropped <= '0;
    else if (ring_dropped || bitmap_dropped || both_dropped) dropped <= dropped + 1'b1;
    idle <= happened_valid == '0 && router_idle && ring_idle && bitmap_idle && arbiter_idle;
  end

  assign to_registers.status.ready.next = memory_initialised;
  assign to_registers.status.full.next = full;
  assign to_registers.status.idle.next = idle;
  assign to_registers.status.bitmap.next = to_bitmap;
  assign to_registers.status.bitmap_full.next = bitmap_full;
  assign to_registers.words.value.next = 32'(2 ** WORD_BITS);
  assign to_registers.capacity.value.next = 32'(RECORDS);
  assign to_registers.written.value.next = written;
  assign to_registers.dropped.value.next = dropped;
  for (genvar i = 0; i < 2; i++) begin : g_report
    assign to_registers.bitmap[i].first_high.value.next = begins[i][47:32];
    assign to_registers.bitmap[i].first_low.value.next = begins[i][31:0];
    assign to_registers.bitmap[i].end_high.value.next = ends[i][47:32];
    assign to_registers.bitmap[i].end_low.value.next = ends[i][31:0];
  end

endmodule

`default_nettype wire
