// A board's way from four JTAG pins to the host's bus: a model of the ECP5's TAP with its user register, then the RTL of
// jtag_user and link, and some words on the bus. For simulation only.
`default_nettype none

module jtag_bench #(
    parameter logic [31:0] VERSION = 0  // of the register map, as the host knows it
) (
    input  wire  tck,
    input  wire  tms,
    input  wire  tdi,
    output logic tdo,
    input  wire  clk,
    input  wire  rst
);

  localparam logic [31:0] IDCODE = 32'h4111_1043;  // LFE5U-25F
  localparam logic [7:0] ID_INSTRUCTION = 8'hE0;
  localparam logic [7:0] ER1 = 8'h32;
  localparam int WORDS = 1024;

  // ---- IEEE 1149.1, figure 6-1
  typedef enum logic [3:0] {
    RESET,
    IDLE,
    SELECT_DR,
    CAPTURE_DR,
    SHIFT_DR,
    EXIT1_DR,
    PAUSE_DR,
    EXIT2_DR,
    UPDATE_DR,
    SELECT_IR,
    CAPTURE_IR,
    SHIFT_IR,
    EXIT1_IR,
    PAUSE_IR,
    EXIT2_IR,
    UPDATE_IR
  } tap_t;

  tap_t tap;
  logic [7:0] instruction, instruction_bits;
  logic [31:0] id_bits;
  logic jtck_rst, selected, shift, user_tdi, user_tdo;

  always_ff @(posedge tck) begin
    unique case (tap)
      RESET: tap <= tms ? RESET : IDLE;
      IDLE, UPDATE_DR, UPDATE_IR: tap <= tms ? SELECT_DR : IDLE;
      SELECT_DR: tap <= tms ? SELECT_IR : CAPTURE_DR;
      CAPTURE_DR, SHIFT_DR: tap <= tms ? EXIT1_DR : SHIFT_DR;
      EXIT1_DR: tap <= tms ? UPDATE_DR : PAUSE_DR;
      PAUSE_DR: tap <= tms ? EXIT2_DR : PAUSE_DR;
      EXIT2_DR: tap <= tms ? UPDATE_DR : SHIFT_DR;
      SELECT_IR: tap <= tms ? RESET : CAPTURE_IR;
      CAPTURE_IR, SHIFT_IR: tap <= tms ? EXIT1_IR : SHIFT_IR;
      EXIT1_IR: tap <= tms ? UPDATE_IR : PAUSE_IR;
      PAUSE_IR: tap <= tms ? EXIT2_IR : PAUSE_IR;
      EXIT2_IR: tap <= tms ? UPDATE_IR : SHIFT_IR;
    endcase
    if (tap == RESET) instruction <= ID_INSTRUCTION;
    if (tap == UPDATE_IR) instruction <= instruction_bits;
    if (tap == SHIFT_IR) instruction_bits <= {tdi, instruction_bits[7:1]};
    if (tap == CAPTURE_DR) id_bits <= IDCODE;
    if (tap == SHIFT_DR) id_bits <= {tdi, id_bits[31:1]};
    user_tdi <= tdi;  // the fabric sees TDI a clock late
  end

  assign jtck_rst = tap == RESET;
  assign selected = instruction == ER1 && (tap == CAPTURE_DR || tap == SHIFT_DR);
  assign shift = tap == SHIFT_DR;

  always_ff @(negedge tck) begin
    if (tap == SHIFT_IR) tdo <= instruction_bits[0];
    else tdo <= instruction == ER1 ? user_tdo : id_bits[0];
  end

  // ---- What the board has
  logic [7:0] received, send;
  logic received_valid, received_ready, send_valid, send_ready;

  jtag_user bytes (
      .tck,
      .tck_rst(jtck_rst),
      .selected,
      .shift,
      .tdi(user_tdi),
      .tdo(user_tdo),
      .clk,
      .rst,
      .received,
      .received_valid,
      .received_ready,
      .send,
      .send_valid,
      .send_ready
  );

  logic bus_req, bus_req_is_wr, bus_rd_ack, bus_wr_ack;
  logic [19:0] bus_addr;
  logic [31:0] bus_wr_data, bus_rd_data;

  link host (
      .clk,
      .rst,
      .in(received),
      .in_valid(received_valid),
      .in_ready(received_ready),
      .out(send),
      .out_valid(send_valid),
      .out_ready(send_ready),
      .bus_req,
      .bus_req_is_wr,
      .bus_addr,
      .bus_wr_data,
      .bus_req_stall_wr(1'b0),
      .bus_req_stall_rd(1'b0),
      .bus_rd_ack,
      .bus_rd_err(1'b0),
      .bus_rd_data,
      .bus_wr_ack,
      .bus_wr_err(1'b0)
  );

  logic [31:0] words[WORDS];

  always_ff @(posedge clk) begin
    bus_rd_ack <= bus_req && !bus_req_is_wr;
    bus_wr_ack <= bus_req && bus_req_is_wr;
    if (bus_req && bus_req_is_wr) words[bus_addr[11:2]] <= bus_wr_data;
    case (bus_addr)
      20'h0:   bus_rd_data <= 32'h4B45_4953;
      20'h4:   bus_rd_data <= VERSION;
      default: bus_rd_data <= words[bus_addr[11:2]];
    endcase
  end

endmodule

`default_nettype wire
