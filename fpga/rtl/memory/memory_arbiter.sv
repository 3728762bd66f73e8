// Gives the one port of the memory to one of several users at a time. Each user's access is held here first, so that
// what the user sees comes from a flip-flop. The last user reads, one word at a time; it must never see the memory
// as it was before an access that another user had handed over earlier, and it waits for no others.
`default_nettype none

module memory_arbiter #(
    parameter int USERS = 4,
    parameter int WORD_BITS = 21
) (
    input  wire                                 clk,
    input  wire                                 rst,
    input  wire  [    USERS-1:0]                access_valid,
    output logic [    USERS-1:0]                access_ready,
    input  wire  [    USERS-1:0]                access_write,
    input  wire  [    USERS-1:0][WORD_BITS-1:0] access_address,
    input  wire  [    USERS-1:0][         31:0] access_word,
    output logic                                idle,
    output logic                                memory_valid,
    input  wire                                 memory_ready,
    output logic                                memory_write,
    output logic [WORD_BITS-1:0]                memory_address,
    output logic [         31:0]                memory_word
);

  localparam int READER = USERS - 1;

  typedef struct packed {
    logic                 write;
    logic [WORD_BITS-1:0] address;
    logic [31:0]          word;
  } access_t;

  access_t [USERS-1:0] held;
  logic [USERS-1:0] held_valid, chosen, candidates, first, arriving;
  logic [USERS-2:0] ahead;  // held when the reader's access came, and still held
  logic choosing, passes;
  access_t selected;

  assign access_ready = ~held_valid;
  assign arriving = access_valid & ~held_valid;
  assign passes = !choosing && (!memory_valid || memory_ready);

  always_comb begin
    candidates = held_valid;
    if (held_valid[READER]) candidates = ahead != '0 ? {1'b0, ahead} : USERS'(1) << READER;
    first = candidates & (~candidates + 1'b1);
    selected = '0;
    for (int i = 0; i < USERS; i++) selected |= held[i] & {$bits(access_t) {chosen[i]}};
  end

  always_ff @(posedge clk) begin
    for (int i = 0; i < USERS; i++) begin
      if (!held_valid[i]) held[i] <= '{write: access_write[i], address: access_address[i], word: access_word[i]};
    end
    idle <= held_valid == '0 && !memory_valid;
    if (rst) begin
      held_valid   <= '0;
      ahead        <= '0;
      chosen       <= '0;
      choosing     <= '1;
      memory_valid <= '0;
    end else begin
      held_valid <= held_valid | arriving;
      if (memory_ready) memory_valid <= '0;
      if (choosing) begin
        chosen   <= first;
        choosing <= held_valid == '0;
      end else if (passes) begin
        choosing                                    <= '1;
        memory_valid                                <= '1;
        {memory_write, memory_address, memory_word} <= selected;
        held_valid                                  <= (held_valid | arriving) & ~chosen;
        ahead                                       <= ahead & ~chosen[USERS-2:0];
      end
      // An access that arrives in the same clock is not known to anybody yet, one that passes is ahead anyway.
      if (arriving[READER]) ahead <= held_valid[USERS-2:0] & ~(passes ? chosen[USERS-2:0] : '0);
    end
  end

endmodule

`default_nettype wire
