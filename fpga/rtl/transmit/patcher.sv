// Works out the patches of a header slot for one frame length, six clocks each. Knows no protocol.
`default_nettype none

module patcher
  import transmit_pkg::*;
(
    input  wire                clk,
    input  wire                rst,
    // A pulse with the frame's slot, length and the bank of results to fill; all stay until `done`.
    input  wire                start,
    input  wire         [ 4:0] slot,
    input  wire         [13:0] frame_bytes,
    input  wire                bank,
    output logic               done,
    // The slots' patches, two clocks after their address.
    output logic        [ 7:0] patch_address,
    input  wire patch_t        patch,
    // Results, by bank and order.
    output logic               write,
    output logic        [ 3:0] write_address,
    output patched_t           write_patched
);

  typedef enum logic [2:0] {
    IDLE,
    FETCH,
    LOAD,
    ADD,
    STORE
  } state_t;

  state_t state;
  logic [2:0] index, next_index;
  logic [1:0] bits_left;
  logic [15:0] length, sum, addend;
  // verilator lint_off UNUSEDSIGNAL
  patch_t current;  // and its unused bits
  // verilator lint_on UNUSEDSIGNAL

  assign length = {2'b0, frame_bytes};
  assign patch_address = {slot, next_index};

  always_ff @(posedge clk) begin
    write <= 1'b0;
    done  <= 1'b0;
    case (state)
      IDLE: begin
        index      <= '0;
        next_index <= '0;
        if (start) state <= FETCH;
      end
      FETCH:   state <= LOAD;
      LOAD: begin
        current    <= patch;
        // Doubling is a rotation in ones' complement. Four of them, one for each bit of the weight, bring the constant
        // back to its place. The highest bit is worth -8.
        sum        <= {patch.constant[3:0], patch.constant[15:4]};
        addend     <= patch.weight[3] ? ~length : '0;
        bits_left  <= 2'd3;
        next_index <= index + 1'b1;  // fetched while this one is worked out
        state      <= patch.used ? ADD : STORE;
      end
      ADD: begin
        sum            <= ones_sum({sum[14:0], sum[15]}, addend);
        addend         <= current.weight[2] ? length : '0;
        current.weight <= current.weight << 1;
        bits_left      <= bits_left - 1'b1;
        if (bits_left == '0) state <= STORE;
      end
      STORE: begin
        write         <= 1'b1;
        write_address <= {bank, index};
        write_patched <= '{used: current.used, offset: current.offset, value: current.zero && sum == '1 ? '0 : sum};
        index         <= index + 1'b1;
        // A patch that is not used ends the list, for the reader too.
        if (index == '1 || !current.used) begin
          done  <= 1'b1;
          state <= IDLE;
        end else begin
          state <= LOAD;
        end
      end
      default: state <= IDLE;
    endcase
    if (rst) begin
      state <= IDLE;
      write <= 1'b0;
      done  <= 1'b0;
    end
  end

endmodule

`default_nettype wire
