// Counts latencies in 2^LOG2_BINS bins, twice: one bank is counted in while the host reads the other. A bin below or
// above the range is the first or last one. Bins wrap at 2^32: after 48 minutes at 1.5 million frames/s in one bin.
// Must never lose a count: it does one thing at a time, an entry or a read, so it never reads what it has yet to write.
`default_nettype none

module histogram
  import instrument_pkg::ns_t;
#(
    parameter int LOG2_BINS = 11
) (
    input  wire                    clk,
    input  wire                    rst,         // clears both banks
    input  wire ns_t               latency_ns,  // signed
    input  wire      [       31:0] origin_ns,   // signed
    input  wire      [        4:0] shift,
    input  wire                    valid,
    output logic                   ready,
    // Clears the idle bank and then, when others are `still`, changes the banks' parts, told by `swapped`.
    input  wire                    swap,
    input  wire                    still,
    output logic                   swapped,
    output logic                   resetting,   // clearing both banks: nothing is counted
    output logic                   busy,        // resetting, or a swap is under way
    output logic                   bank,        // the one counted in
    // Reads by the host; the highest bit of the address is the bank.
    input  wire      [LOG2_BINS:0] read_bin,
    input  wire                    read_valid,
    output logic     [       31:0] read_count,
    output logic                   read_done
);

  typedef logic [LOG2_BINS:0] address_t;

  typedef enum logic [2:0] {
    STATE_IDLE,
    STATE_SHIFT,
    STATE_CUT,
    STATE_FETCH,
    STATE_WAIT,
    STATE_READ,
    STATE_COUNT,
    STATE_WRITE
  } state_t;

  (* ram_style = "block", no_rw_check *) logic [31:0] memory[2**(LOG2_BINS+1)];
  logic [31:0] memory_read, fetched, count;
  address_t address, clear_address, write_address, asked_bin;
  logic write;

  state_t state;
  logic hosts;  // the host's read is under way
  logic asked;  // a read of the host waits
  logic waiting;  // a latency waits to be counted
  logic signed [48:0] offset;
  logic below, above;  // all bins
  logic [4:0] shifts;
  logic clearing, swapping;

  always_ff @(posedge clk) begin
    if (write) memory[write_address] <= count;
    memory_read <= memory[address];
    fetched     <= memory_read;
  end

  // Entries go first; what is cleared is written in the clocks between. While both banks are cleared nothing is counted.
  assign write         = state == STATE_WRITE ? !hosts : clearing;
  assign write_address = state == STATE_WRITE ? address : clear_address;

  assign ready         = !waiting && !resetting;
  assign busy          = clearing || swapping;

  always_ff @(posedge clk) begin
    swapped   <= 1'b0;
    read_done <= 1'b0;
    if (valid) waiting <= 1'b1;
    if (!waiting) offset <= $signed({latency_ns[47], latency_ns}) - 49'($signed(origin_ns));
    else if (state == STATE_SHIFT && shifts != '0) offset <= offset >>> 1;
    // Known of what has been shifted when it is cut.
    below <= offset[48];
    above <= !offset[48] && |offset[47:LOG2_BINS];
    // Zero but while an entry is written: that is what clears.
    count <= '0;
    if (read_valid) begin
      asked     <= 1'b1;
      asked_bin <= read_bin;
    end

    unique case (state)
      STATE_IDLE: begin
        hosts  <= asked;
        shifts <= shift;
        if (asked) begin
          asked   <= 1'b0;
          address <= asked_bin;
          state   <= STATE_FETCH;
        end else if (waiting) state <= STATE_SHIFT;
      end
      // A bit a clock: no frame needs less than 68 of them.
      STATE_SHIFT: begin
        shifts <= shifts - 1'b1;
        if (shifts == '0) state <= STATE_CUT;
      end
      STATE_CUT: begin
        address <= {bank, offset[LOG2_BINS-1:0] & ~{LOG2_BINS{below}} | {LOG2_BINS{above}}};
        state   <= STATE_FETCH;
      end
      STATE_FETCH: state <= STATE_WAIT;
      STATE_WAIT:  state <= STATE_READ;
      STATE_READ: begin
        read_count <= fetched;
        state      <= STATE_COUNT;
      end
      STATE_COUNT: begin
        count <= read_count + 1'b1;
        state <= STATE_WRITE;
      end
      STATE_WRITE: begin
        read_done <= hosts;
        if (!hosts) waiting <= 1'b0;
        state <= STATE_IDLE;
      end
      default:     state <= STATE_IDLE;
    endcase

    if (clearing && state != STATE_WRITE) begin
      clear_address <= clear_address + 1'b1;
      if (&clear_address[LOG2_BINS-1:0] && (!resetting || clear_address[LOG2_BINS])) begin
        clearing  <= 1'b0;
        resetting <= 1'b0;
      end
    end
    if (swap && !busy) begin
      swapping      <= 1'b1;
      clearing      <= 1'b1;
      clear_address <= {!bank, {LOG2_BINS{1'b0}}};
    end
    // Only while nothing is counted, so that an entry falls into one bank with all that belongs to it.
    if (swapping && !clearing && !waiting && !valid && still && !swapped) begin
      swapping <= 1'b0;
      swapped  <= 1'b1;
      bank     <= !bank;
    end

    if (rst) begin
      state         <= STATE_IDLE;
      hosts         <= '0;
      asked         <= '0;
      waiting       <= '0;
      clearing      <= '1;
      resetting     <= '1;
      clear_address <= '0;
      swapping      <= '0;
      bank          <= '0;
    end
  end

endmodule

`default_nettype wire
