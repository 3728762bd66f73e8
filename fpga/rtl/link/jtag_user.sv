// Bytes from and to the host through a JTAG user register. docs/fpga-link.md describes a scan: nothing in it depends
// on how many clocks late TDI and TDO are, because each side waits for the other's start bit. Must never take a byte
// out of the queue to the host that the host did not ask for in this scan.
`default_nettype none

module jtag_user #(
    parameter int LOG2_DEPTH = 4
) (
    // The user register, as a JTAGG cell shows it
    input  wire        tck,
    input  wire        tck_rst,
    input  wire        selected,        // the user register is scanned: high in capture and shift
    input  wire        shift,
    input  wire        tdi,
    output logic       tdo,
    // The instrument's side
    input  wire        clk,
    input  wire        rst,
    output logic [7:0] received,
    output logic       received_valid,
    input  wire        received_ready,
    input  wire  [7:0] send,
    input  wire        send_valid,
    output logic       send_ready
);

  localparam int SETTLE = 8;  // bits of a scan that are not looked at: the first may be of the scan before

  typedef enum logic [1:0] {
    SETTLING,
    HUNTING,
    COUNTING,
    BYTES
  } state_t;

  state_t state;
  logic [3:0] bits;
  logic [15:0] wanted, counted;
  logic [8:1] in_unit;
  logic [8:0] out_unit;
  logic [3:0] out_bits;
  logic [7:0] in_byte, out_byte;
  logic in_push, in_room, out_there, out_take, answering, now;
  logic any_wanted;  // known long before: a unit takes nine bits

  assign now = selected && shift;
  assign counted = {tdi, wanted[15:1]};

  async_fifo #(
      .WIDTH(8),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) from_host (
      .in_clk   (tck),
      .in_rst   (tck_rst),
      .in       (in_byte),
      .in_valid (in_push),
      .in_ready (in_room),
      .out_clk  (clk),
      .out_rst  (rst),
      .out      (received),
      .out_valid(received_valid),
      .out_ready(received_ready)
  );

  async_fifo #(
      .WIDTH(8),
      .LOG2_DEPTH(LOG2_DEPTH)
  ) to_host (
      .in_clk   (clk),
      .in_rst   (rst),
      .in       (send),
      .in_valid (send_valid),
      .in_ready (send_ready),
      .out_clk  (tck),
      .out_rst  (tck_rst),
      .out      (out_byte),
      .out_valid(out_there),
      .out_ready(out_take)
  );

  // The host's bits: settling, a one, how many units it wants back (16 bits), then units of a valid bit and a byte.
  always_ff @(posedge tck) begin
    in_push <= '0;
    if (tck_rst || !now) begin
      state   <= SETTLING;
      bits    <= '0;
      in_push <= '0;
    end else begin
      bits <= bits + 1'b1;
      unique case (state)
        SETTLING: if (bits == 4'(SETTLE - 1)) state <= HUNTING;
        HUNTING: begin
          bits <= '0;
          if (tdi) state <= COUNTING;
        end
        COUNTING:
        if (bits == 4'd15) begin
          bits  <= '0;
          state <= BYTES;
        end
        BYTES: begin
          in_unit <= {tdi, in_unit[8:2]};
          if (bits == 4'd8) begin
            bits    <= '0;
            in_byte <= {tdi, in_unit[8:2]};
            in_push <= in_unit[1] && in_room;
          end
        end
      endcase
    end
  end

  // The instrument's bits: zeros, a one, then as many units as were wanted, then zeros.
  assign out_take = out_there && answering && out_bits == '0 && any_wanted;

  always_ff @(posedge tck) begin
    any_wanted <= (state == COUNTING ? counted : wanted) != '0;
    if (tck_rst || !now) begin
      tdo       <= '0;
      answering <= '0;
      out_bits  <= '0;
      wanted    <= '0;
    end else if (state == COUNTING) begin
      wanted <= counted;
      if (bits == 4'd15) begin
        answering <= '1;
        tdo       <= '1;
      end
    end else if (answering) begin
      if (out_bits != '0) begin
        out_bits <= out_bits - 1'b1;
        tdo      <= out_unit[0];
        out_unit <= out_unit >> 1;
      end else begin
        tdo <= out_take;
        if (any_wanted) begin
          wanted   <= wanted - 1'b1;
          out_bits <= 4'd8;
          out_unit <= {1'b0, out_byte};
        end
      end
    end
  end

endmodule

`default_nettype wire
