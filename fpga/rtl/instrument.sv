// The instrument without anything of a vendor or a board: two ports on GMII, the host's link as bytes, a narrow port to
// the memory. Clocks and resets come from outside, and the pins' timing is the boards' business (rtl/io). It only joins
// blocks: no logic of its own.
`default_nettype none

module instrument
  import instrument_pkg::*;
#(
    parameter logic [31:0] BUILD = '0  // as the host reads it
) (
    input wire clk,       // 125 MHz
    input wire rst,
    input wire time_clk,  // 128.125 MHz, from the same crystal
    input wire time_rst,

    // GMII of each port. Sent bytes last from one strobe to the next; received ones are in rx_clk.
    output logic [1:0][7:0] gmii_txd,
    output logic [1:0]      gmii_tx_en,
    output logic [1:0]      gmii_tx_er,
    output logic [1:0]      gmii_tx_half,    // of this byte only the lower nibble is sent (10 and 100 Mb/s)
    output logic [1:0]      gmii_tx_strobe,
    input  wire  [1:0]      rx_clk,
    input  wire  [1:0][7:0] gmii_rxd,
    input  wire  [1:0]      gmii_rx_dv,
    input  wire  [1:0]      gmii_rx_er,

    // PHYs: what they say between frames, the speed to run at, delays of the pins, MDIO.
    input  wire  [1:0]      link_up,
    input  wire  [1:0][1:0] link_speed,
    input  wire  [1:0]      full_duplex,
    output logic [1:0][1:0] speed,          // 0: 10, 1: 100, 2: 1000 Mb/s
    output logic [1:0][6:0] rx_taps,
    output logic [1:0][6:0] tx_taps,
    output logic [1:0][6:0] tx_clock_taps,
    output logic            mdio_chosen,    // the port served, for boards with pins of their own for each PHY
    output logic            mdc,
    output logic            mdio_out,
    output logic            mdio_drive,
    input  wire             mdio_in,

    // Reference of the time base, asynchronous.
    input wire pps,
    input wire ten_mhz,

    // The memory: an access is taken in a clock with valid and ready, words that were read come later in order.
    input  wire         memory_initialised,
    output logic        memory_valid,
    input  wire         memory_ready,
    output logic        memory_write,
    output logic [20:0] memory_address,      // of 32-bit words
    output logic [31:0] memory_word,
    input  wire         memory_read_valid,
    input  wire  [31:0] memory_read_word,

    // The host's bytes.
    input  wire  [7:0] link_in,
    input  wire        link_in_valid,
    output logic       link_in_ready,
    output logic [7:0] link_out,
    output logic       link_out_valid,
    input  wire        link_out_ready
);

  // What comes from the pins' side gets a register here: a reset has the whole device to reach, and no path to the
  // registers begins outside.
  logic reset;

  logic memory_is_initialised;
  logic [1:0] link_is_up, link_is_full_duplex;
  logic [1:0][1:0] link_says_speed;

  always_ff @(posedge clk) begin
    reset                 <= rst;
    memory_is_initialised <= memory_initialised;
    link_is_up            <= link_up;
    link_is_full_duplex   <= full_duplex;
    link_says_speed       <= link_speed;
  end

  // ---- The host's bus: the link asks, the registers and the blocks' memories answer.
  logic bus_req, bus_req_is_wr, bus_req_stall_wr, bus_req_stall_rd, bus_rd_ack, bus_rd_err, bus_wr_ack, bus_wr_err;
  logic [19:0] bus_addr;
  logic [31:0] bus_wr_data, bus_rd_data;
  registers_pkg::registers__in_t  to_registers;
  registers_pkg::registers__out_t from_registers;

  link host (
      .clk,
      .rst      (reset),
      .in       (link_in),
      .in_valid (link_in_valid),
      .in_ready (link_in_ready),
      .out      (link_out),
      .out_valid(link_out_valid),
      .out_ready(link_out_ready),
      .bus_req,
      .bus_req_is_wr,
      .bus_addr,
      .bus_wr_data,
      .bus_req_stall_wr,
      .bus_req_stall_rd,
      .bus_rd_ack,
      .bus_rd_err,
      .bus_rd_data,
      .bus_wr_ack,
      .bus_wr_err
  );

  registers map (
      .clk,
      .rst                 (reset),
      .s_cpuif_req         (bus_req),
      .s_cpuif_req_is_wr   (bus_req_is_wr),
      .s_cpuif_addr        (bus_addr),
      .s_cpuif_wr_data     (bus_wr_data),
      .s_cpuif_wr_biten    ('1),
      .s_cpuif_req_stall_wr(bus_req_stall_wr),
      .s_cpuif_req_stall_rd(bus_req_stall_rd),
      .s_cpuif_rd_ack      (bus_rd_ack),
      .s_cpuif_rd_err      (bus_rd_err),
      .s_cpuif_rd_data     (bus_rd_data),
      .s_cpuif_wr_ack      (bus_wr_ack),
      .s_cpuif_wr_err      (bus_wr_err),
      .hwif_in             (to_registers),
      .hwif_out            (from_registers)
  );

  assign to_registers.build.value.next = BUILD;

  ns_t now_ns;

  time_block clock (
      .clk,
      .rst          (reset),
      .time_clk,
      .time_rst,
      .pps,
      .ten_mhz,
      .registers_out(from_registers.time_base),
      .registers_in (to_registers.time_base),
      .now_ns
  );

  event_t [1:0] happened;
  logic [1:0] happened_valid, happened_ready;

  memory #(
      .WORD_BITS(21)
  ) records (
      .clk,
      .rst               (reset),
      .from_registers    (from_registers.memory),
      .to_registers      (to_registers.memory),
      .from_window       (from_registers.window),
      .to_window         (to_registers.window),
      .happened,
      .happened_valid,
      .happened_ready,
      .memory_initialised(memory_is_initialised),
      .memory_valid,
      .memory_ready,
      .memory_write,
      .memory_address,
      .memory_word,
      .memory_read_valid,
      .memory_read_word
  );

  // ---- The ports. Arrays of memories cannot interleave in the map: their ports are told apart here.
  registers_pkg::account_histogram__external__out_t histogram_asked[2];
  registers_pkg::account_histogram__external__in_t histogram_answered[2];

  registers_pkg::receive_mailbox__external__out_t mailbox_asked[2];
  registers_pkg::receive_mailbox__external__in_t mailbox_answered[2];
  registers_pkg::transmit_memory__external__out_t program_asked[2];
  registers_pkg::transmit_memory__external__in_t program_answered[2];

  assign program_asked[0] = from_registers.transmit_memory_0;
  assign program_asked[1] = from_registers.transmit_memory_1;
  assign to_registers.transmit_memory_0 = program_answered[0];
  assign to_registers.transmit_memory_1 = program_answered[1];
  assign mailbox_asked[0] = from_registers.mailbox_0;
  assign mailbox_asked[1] = from_registers.mailbox_1;
  assign to_registers.mailbox_0 = mailbox_answered[0];
  assign to_registers.mailbox_1 = mailbox_answered[1];
  assign histogram_asked[0] = from_registers.histogram_0;
  assign histogram_asked[1] = from_registers.histogram_1;
  assign to_registers.histogram_0 = histogram_answered[0];
  assign to_registers.histogram_1 = histogram_answered[1];

  logic [1:0] mdio_pending, mdio_done;
  logic [1:0][26:0] mdio_request;
  logic [15:0] mdio_answer;
  logic mdio_no_answer;

  mdio #(
      .PORTS(2)
  ) phys (
      .clk,
      .rst      (reset),
      .pending  (mdio_pending),
      .request  (mdio_request),
      .done     (mdio_done),
      .answer   (mdio_answer),
      .no_answer(mdio_no_answer),
      .chosen   (mdio_chosen),
      .mdc,
      .mdio_out,
      .mdio_drive,
      .mdio_in
  );

  for (genvar p = 0; p < 2; p++) begin : g_port
    phy_port phy (
        .clk,
        .rst          (reset),
        .registers_out(from_registers.port[p].phy),
        .registers_in (to_registers.port[p].phy),
        .rx_clk       (rx_clk[p]),
        .link_up      (link_is_up[p]),
        .link_speed   (link_says_speed[p]),
        .full_duplex  (link_is_full_duplex[p]),
        .speed        (speed[p]),
        .rx_taps      (rx_taps[p]),
        .tx_taps      (tx_taps[p]),
        .tx_clock_taps(tx_clock_taps[p]),
        .mdio_pending (mdio_pending[p]),
        .mdio_request (mdio_request[p]),
        .mdio_done    (mdio_done[p]),
        .mdio_answer,
        .mdio_no_answer
    );

    logic byte_ends;

    byte_strobe strobe (
        .clk,
        .rst(reset),
        .speed(speed[p]),
        .ends(byte_ends),
        .begins(gmii_tx_strobe[p])
    );

    transmit generator (
        .clk,
        .rst        (reset),
        .ce         (byte_ends),
        .registers  (from_registers.port[p].transmit),
        .status     (to_registers.port[p].transmit),
        .memory     (program_asked[p]),
        .memory_done(program_answered[p]),
        .time_clk,
        .time_rst,
        .now_ns,
        .gmii_txd   (gmii_txd[p]),
        .gmii_tx_en (gmii_tx_en[p]),
        .gmii_tx_er (gmii_tx_er[p]),
        .gmii_half  (gmii_tx_half[p])
    );

    arrival_t arrival;
    logic arrival_valid, arrival_ready;

    receive_port receive (
        .clk,
        .rst            (reset),
        .rx_clk         (rx_clk[p]),
        .rxd            (gmii_rxd[p]),
        .rx_dv          (gmii_rx_dv[p]),
        .rx_er          (gmii_rx_er[p]),
        .nibbles        (speed[p] != 2'd2),
        .time_clk,
        .time_rst,
        .now_ns,
        .arrival,
        .arrival_valid,
        .arrival_ready,
        .set            (from_registers.port[p].receive),
        .shown          (to_registers.port[p].receive),
        .mailbox_request(mailbox_asked[p]),
        .mailbox_answer (mailbox_answered[p])
    );

    account_port account (
        .clk,
        .rst          (reset),
        .registers_out(from_registers.port[p].account),
        .registers_in (to_registers.port[p].account),
        .histogram_out(histogram_asked[p]),
        .histogram_in (histogram_answered[p]),
        .arrival,
        .arrival_valid,
        .arrival_ready,
        .told         (happened[p]),
        .told_valid   (happened_valid[p]),
        .told_ready   (happened_ready[p])
    );
  end

endmodule

`default_nettype wire
