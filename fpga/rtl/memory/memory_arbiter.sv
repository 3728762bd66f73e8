// Gives the one port of the memory to one of several users at a time; the last has the highest priority. Only the
// last may read, one word at a time. Must never reorder the accesses of one user.
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
    output logic                                memory_valid,
    input  wire                                 memory_ready,
    output logic                                memory_write,
    output logic [WORD_BITS-1:0]                memory_address,
    output logic [         31:0]                memory_word
);

  logic free;

  assign free = !memory_valid || memory_ready;

  always_comb begin
    access_ready = '0;
    for (int i = 0; i < USERS; i++) begin
      if (access_valid[i] && free) access_ready = USERS'(1) << i;
    end
  end

  always_ff @(posedge clk) begin
    if (rst) memory_valid <= '0;
    else if (free) begin
      memory_valid <= access_valid != '0;
      for (int i = 0; i < USERS; i++) begin
        if (access_valid[i]) begin
          memory_write   <= access_write[i];
          memory_address <= access_address[i];
          memory_word    <= access_word[i];
        end
      end
    end
  end

endmodule

`default_nettype wire
