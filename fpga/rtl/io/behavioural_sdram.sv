// A model of the registers beside the SDRAM's pins and of the chip (M12L64322A at CAS latency 2): for simulation only,
// with ecp5_sdram's inner ports. Says in `faults` how often the chip was used against its data sheet.
`default_nettype none

module behavioural_sdram (
    input  wire         sdram_clk,
    input  wire         shifted_clk,
    input  wire  [10:0] chip_address,
    input  wire  [ 1:0] chip_bank,
    input  wire         chip_ras_n,
    input  wire         chip_cas_n,
    input  wire         chip_we_n,
    input  wire  [31:0] chip_data_out,
    input  wire         chip_drive,
    output logic [31:0] chip_data_in,
    output logic [31:0] faults,
    output logic [31:0] refreshes
);

  // In clocks of 16 ns: 15 ns to precharge and to activate, 55 ns to refresh, 64 ms for 4096 refreshes.
  localparam int PrechargeClocks = 1;
  localparam int RefreshClocks = 4;
  localparam int MostBetweenRefreshes = 1100;

  typedef enum logic [2:0] {
    MODE      = 3'b000,
    REFRESH   = 3'b001,
    PRECHARGE = 3'b010,
    ACTIVATE  = 3'b011,
    WRITE     = 3'b100,
    READ      = 3'b101,
    STOP      = 3'b110,
    NOTHING   = 3'b111
  } command_t;

  logic [31:0] memory[2**21];
  logic [10:0] address;
  logic [ 1:0] bank;
  command_t    command;
  logic [31:0] written, sampled, out_next, out_now;
  logic driven, mode_set, started;
  logic [3:0] open;
  logic [3:0][10:0] row;
  logic [15:0] since_refresh, busy;

  initial begin
    command = NOTHING;
    mode_set = 1'b0;
    started = 1'b0;
    open = '0;
    row = '0;
    faults = '0;
    refreshes = '0;
    since_refresh = '0;
    busy = '0;
  end

  always_ff @(posedge sdram_clk) begin
    address <= chip_address;
    bank    <= chip_bank;
    command <= command_t'({chip_ras_n, chip_cas_n, chip_we_n});
    written <= chip_data_out;
    driven  <= chip_drive;
  end

  wire [20:0] cell_address = {row[bank], bank, address[7:0]};

  // The chip, in its own clock. What is read is on the pins after the second edge that follows the command's.
  always_ff @(posedge shifted_clk) begin
    out_now       <= out_next;
    since_refresh <= since_refresh + 1'b1;
    if (busy != '0) busy <= busy - 1'b1;
    if (command != NOTHING && busy != '0) faults <= faults + 1;
    unique case (command)
      MODE: begin
        mode_set <= 1'b1;
        started  <= 1'b0;
        // CAS latency 2, bursts of one word, every bank closed.
        if (address[6:0] != 7'h20 || open != '0) faults <= faults + 1;
      end
      REFRESH: begin
        busy          <= 16'(RefreshClocks - 1);
        since_refresh <= '0;
        refreshes     <= refreshes + 1;
        started       <= mode_set;
        if (open != '0 || (started && since_refresh > 16'(MostBetweenRefreshes))) faults <= faults + 1;
      end
      PRECHARGE: begin
        busy <= 16'(PrechargeClocks - 1);
        if (address[10]) open <= '0;
        else open[bank] <= 1'b0;
      end
      ACTIVATE: begin
        if (open[bank] || !mode_set) faults <= faults + 1;
        open[bank] <= 1'b1;
        row[bank]  <= address;
      end
      WRITE: begin
        if (!open[bank] || !driven) faults <= faults + 1;
        memory[cell_address] <= written;
        if (address[10]) open[bank] <= 1'b0;
      end
      READ: begin
        if (!open[bank] || driven) faults <= faults + 1;
        out_next <= memory[cell_address];
        if (address[10]) open[bank] <= 1'b0;
      end
      default: ;
    endcase
  end

  always_ff @(posedge shifted_clk) sampled <= out_now;
  always_ff @(posedge sdram_clk) chip_data_in <= sampled;

endmodule

`default_nettype wire
