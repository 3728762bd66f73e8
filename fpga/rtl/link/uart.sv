// Bytes from and to a serial line: 8 data bits, no parity, one stop bit, least significant bit first.
// A byte without its stop bit is dropped; the framing above finds out.
`default_nettype none

module uart #(
    parameter int CLOCKS_PER_SECOND = 125_000_000,
    parameter int BAUD = 1_000_000,
    parameter int LOG2_DEPTH = 5  // bytes received while the reader is busy
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        rx,
    output logic       tx,
    output logic [7:0] received,
    output logic       received_valid,
    input  wire        received_ready,
    input  wire  [7:0] send,
    input  wire        send_valid,
    output logic       send_ready
);

  localparam int CLOCKS = (CLOCKS_PER_SECOND + BAUD / 2) / BAUD;  // of a bit, rounded: within 1 % up to 2.5 M
  localparam int BITS = $clog2(CLOCKS);

  // ---- Receiving: each bit is sampled in its middle.
  logic rx_here;
  logic [BITS-1:0] rx_clocks;
  logic [3:0] rx_bits;  // left, the start and the stop bit included; 0: idle
  logic rx_now;
  logic [7:0] rx_byte;
  logic rx_push, rx_room;

  sync_bit sync_rx (
      .clk,
      .from(rx),
      .to  (rx_here)
  );

  sync_fifo #(
      .WIDTH(8),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) rx_fifo (
      .clk,
      .rst,
      .in       (rx_byte),
      .in_valid (rx_push),
      .in_ready (rx_room),
      .out      (received),
      .out_valid(received_valid),
      .out_ready(received_ready)
  );

  always_ff @(posedge clk) begin
    rx_push <= '0;
    rx_now  <= rx_bits != '0 && rx_clocks == BITS'(1);
    if (rst) begin
      rx_bits   <= '0;
      rx_clocks <= '0;
      rx_now    <= '0;
    end else if (rx_bits == '0) begin
      if (!rx_here) begin
        rx_bits   <= 4'd10;
        rx_clocks <= BITS'(CLOCKS / 2);
      end
    end else begin
      rx_clocks <= rx_clocks == '0 ? BITS'(CLOCKS - 1) : rx_clocks - 1'b1;
      if (rx_now) begin
        rx_bits <= rx_bits - 1'b1;
        if (rx_bits == 4'd10) begin
          if (rx_here) rx_bits <= '0;  // a spike, not a start bit
        end else if (rx_bits == 4'd1) begin
          rx_push <= rx_here && rx_room;
        end else begin
          rx_byte <= {rx_here, rx_byte[7:1]};
        end
      end
    end
  end

  // ---- Sending.
  logic [BITS-1:0] tx_clocks;
  logic [3:0] tx_bits;
  logic [9:0] tx_shift;
  logic tx_now;

  assign tx = tx_shift[0];
  assign send_ready = tx_bits == '0;

  always_ff @(posedge clk) begin
    tx_now <= tx_clocks == BITS'(1);
    if (rst) begin
      tx_bits   <= '0;
      tx_shift  <= '1;
      tx_clocks <= '0;
      tx_now    <= '0;
    end else if (tx_bits == '0) begin
      tx_clocks <= BITS'(CLOCKS - 1);
      if (send_valid) begin
        tx_shift <= {1'b1, send, 1'b0};
        tx_bits  <= 4'd10;
      end
    end else begin
      tx_clocks <= tx_clocks == '0 ? BITS'(CLOCKS - 1) : tx_clocks - 1'b1;
      if (tx_now) begin
        tx_shift <= {1'b1, tx_shift[9:1]};
        tx_bits  <= tx_bits - 1'b1;
      end
    end
  end

endmodule

`default_nettype wire
