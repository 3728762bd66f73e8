// Works out the patches of a header slot for one frame length, six clocks each. Knows no protocol.
`default_nettype none

module patcher
  import transmit_pkg::*;
(
    input  wire         clk,
    input  wire         rst,
    // A pulse with the frame's slot, length and the bank of results to fill; all stay until `done`.
    input  wire         start,
    input  wire  [ 4:0] slot,
    input  wire  [13:0] frame_bytes,
    input  wire         bank,
    output logic        done,
    // The slots' patches, two clocks after their address.
    output logic [ 7:0] patch_address,
    input  wire patch_t patch,
    // Results, by bank and order.
    output logic        write,
    output logic [ 3:0] write_address,
    output patched_t    write_patched
);

  typedef enum logic [2:0] {
    IDLE,
    FETCH,
    LOAD,
    ADD_4,
    ADD_2,
    ADD_1,
    ADD_CONSTANT,
    STORE
  } state_t;

  state_t state;
  logic [2:0] index, next_index;
  logic [15:0] length, sum;
  // verilator lint_off UNUSEDSIGNAL
  patch_t current;  // and its unused bits
  // verilator lint_on UNUSEDSIGNAL

  function automatic logic [15:0] twice(input logic [15:0] word);
    return {word[14:0], word[15]};  // in ones' complement
  endfunction

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
      FETCH: state <= LOAD;
      LOAD: begin
        current    <= patch;
        sum        <= patch.weight[3] ? ~length : '0;  // the highest bit is worth -8
        next_index <= index + 1'b1;  // fetched while this one is worked out
        state      <= patch.used ? ADD_4 : STORE;
      end
      ADD_4: begin
        sum   <= ones_sum(twice(sum), current.weight[2] ? length : '0);
        state <= ADD_2;
      end
      ADD_2: begin
        sum   <= ones_sum(twice(sum), current.weight[1] ? length : '0);
        state <= ADD_1;
      end
      ADD_1: begin
        sum   <= ones_sum(twice(sum), current.weight[0] ? length : '0);
        state <= ADD_CONSTANT;
      end
      ADD_CONSTANT: begin
        sum   <= ones_sum(sum, current.constant);
        state <= STORE;
      end
      STORE: begin
        write         <= 1'b1;
        write_address <= {bank, index};
        write_patched <= '{
            used: current.used,
            offset: current.offset,
            value: current.zero && sum == '1 ? '0 : sum
        };
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
