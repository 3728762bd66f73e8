// The host's reads and writes: requests from a byte stream, carried out on the bus of the registers, answers back.
// docs/fpga-link.md describes the bytes. A request with any wrong bit must never be carried out, and a request that
// comes again (same sequence number, not 0) must never be carried out twice: its answer is sent again.
`default_nettype none

module link
  import link_pkg::*;
#(
    parameter int LOG2_PATIENCE = 12  // clocks in which a block must have answered, as a power of two
) (
    input  wire         clk,
    input  wire         rst,
    input  wire  [ 7:0] in,
    input  wire         in_valid,
    output logic        in_ready,
    output logic [ 7:0] out,
    output logic        out_valid,
    input  wire         out_ready,
    // PeakRDL's passthrough interface
    output logic        bus_req,
    output logic        bus_req_is_wr,
    output logic [19:0] bus_addr,
    output logic [31:0] bus_wr_data,
    input  wire         bus_req_stall_wr,
    input  wire         bus_req_stall_rd,
    input  wire         bus_rd_ack,
    input  wire         bus_rd_err,
    input  wire  [31:0] bus_rd_data,
    input  wire         bus_wr_ack,
    input  wire         bus_wr_err
);

  localparam int HEADER = 6;  // sequence, opcode, words - 1, address of three octets
  localparam int FCS = 4;
  localparam int MOST = HEADER + 4 * 256 + FCS;

  typedef struct packed {
    logic [7:0]  sequence_number;
    logic [7:0]  opcode;
    logic [7:0]  last_word;
    logic [23:0] address;
  } header_t;

  // ---- Receiving: the header into registers, what follows into the lower half of the buffer, word by word.
  logic [7:0] octet;
  logic octet_valid, ended, good, resume;
  header_t header;
  logic [10:0] octets;
  logic [31:0] word;
  logic [8:0] word_index;
  logic [1:0] word_octets;
  logic word_valid;

  unframe unframe (.*);

  always_ff @(posedge clk) begin
    if (octet_valid) begin
      if (octets < 11'(HEADER)) header <= {header[39:0], octet};
      word <= {word[23:0], octet};
    end
    word_valid <= octet_valid && word_octets == 2'd3 && octets >= 11'(HEADER) && octets < 11'(MOST - FCS);
    if (rst || resume) begin
      octets      <= '0;
      word_index  <= '0;
      word_octets <= '0;
    end else begin
      if (octet_valid) begin
        if (octets <= 11'(MOST)) octets <= octets + 1'b1;
        word_octets <= octets < 11'(HEADER) ? '0 : word_octets + 1'b1;
      end
      if (word_valid) word_index <= word_index + 1'b1;
    end
  end

  // ---- The buffer: words to be written below, words that were read above. The upper half outlives the next request
  // that is not good, because an answer may be asked for again.
  logic buffer_write;
  logic [8:0] buffer_write_index, buffer_read_index;
  logic [31:0] buffer_write_word, buffer_raw, buffer_word;
  (* ram_style = "block", no_rw_check *) logic [31:0] buffer[512];

  always_ff @(posedge clk) begin
    if (buffer_write) buffer[buffer_write_index] <= buffer_write_word;
    buffer_raw  <= buffer[buffer_read_index];
    buffer_word <= buffer_raw;
  end

  // ---- Carrying out.
  typedef enum logic [3:0] {
    WAIT,     // for a request
    LENGTH,   // what it should have
    JUDGE,
    FETCH,    // a word to be written
    REQUEST,
    ACK,
    NEXT,
    ANSWER,   // its header
    LOAD,     // a word that was read
    PAYLOAD
  } state_t;

  state_t state;
  logic [7:0] done_sequence, done_last_word;  // of the last request that was judged
  logic [6:0] done_opcode;
  logic done_valid;
  status_t status;
  logic is_again, is_known, is_whole;
  logic [           10:0] expected;
  logic [            7:0] index;
  logic [            1:0] delay;  // three clocks from `index` to a word of the buffer
  logic [            1:0] part;
  logic [           31:0] outgoing;
  logic                   silent;  // a block still owes an answer
  logic [LOG2_PATIENCE:0] patience;
  logic rd_ack, wr_ack, err;
  logic [31:0] rd_data;
  logic is_write, is_fixed, has_payload;

  assign is_write = header.opcode[0];
  assign is_fixed = header.opcode[1];
  assign has_payload = !done_opcode[0] && status == STATUS_DONE;

  always_ff @(posedge clk) begin
    rd_ack  <= bus_rd_ack && !rst;
    wr_ack  <= bus_wr_ack && !rst;
    err     <= (bus_rd_ack && bus_rd_err) || (bus_wr_ack && bus_wr_err);
    rd_data <= bus_rd_data;
  end

  logic [7:0] answer;
  logic answer_valid, answer_last, answer_ready;

  frame frame (
      .clk,
      .rst,
      .octet      (answer),
      .octet_valid(answer_valid),
      .octet_last (answer_last),
      .octet_ready(answer_ready),
      .out,
      .out_valid,
      .out_ready
  );

  assign answer_valid = state == ANSWER || state == PAYLOAD;
  assign answer = outgoing[31:24];
  assign answer_last = part == 2'd3 && (state == ANSWER ? !has_payload : index == done_last_word);

  always_ff @(posedge clk) begin
    buffer_write       <= word_valid && !word_index[8];
    buffer_write_index <= {1'b0, word_index[7:0]};
    buffer_write_word  <= word;
    expected           <= is_write ? 11'(HEADER + FCS + 4) + {1'b0, header.last_word, 2'b00} : 11'(HEADER + FCS);
    is_whole           <= octets == expected;
    is_known           <= header.opcode[7:2] == '0 && header.address[23:20] == '0 && header.address[1:0] == '0;
    is_again           <= done_valid && header.sequence_number == done_sequence && header.sequence_number != '0;
    // A clock late, so that nothing but a register is before the buffer.
    buffer_read_index  <= {state == ANSWER || state == LOAD || state == PAYLOAD, index};
    patience           <= (state == ACK || state == REQUEST) ? patience + 1'b1 : '0;

    if (rst) begin
      state      <= WAIT;
      resume     <= '0;
      bus_req    <= '0;
      done_valid <= '0;
      silent     <= '0;
      status     <= STATUS_DONE;
    end else begin
      resume <= '0;
      if (silent && (rd_ack || wr_ack)) silent <= '0;
      unique case (state)
        WAIT: begin
          delay <= 2'd2;
          if (ended && good) state <= LENGTH;
          else if (ended) resume <= '1;
        end

        LENGTH: begin  // until the comparisons above have settled
          delay <= delay - 1'b1;
          if (delay == '0) state <= JUDGE;
        end

        JUDGE: begin
          index <= '0;
          delay <= 2'd3;
          part  <= '0;
          if (is_again && is_whole) begin
            state    <= ANSWER;
            outgoing <= {done_sequence, 1'b1, done_opcode, status, done_last_word};
          end else begin
            done_sequence <= header.sequence_number;
            done_opcode <= header.opcode[6:0];
            done_last_word <= header.last_word;
            done_valid <= '1;
            bus_addr <= header.address[19:0];
            bus_req_is_wr <= is_write;
            outgoing <= {header.sequence_number, 1'b1, header.opcode[6:0], STATUS_DONE, header.last_word};
            if (!is_whole || !is_known || silent) begin
              status <= silent ? STATUS_SILENT : STATUS_REFUSED;
              outgoing[15:8] <= silent ? STATUS_SILENT : STATUS_REFUSED;
              state <= ANSWER;
            end else begin
              status  <= STATUS_DONE;
              state   <= is_write ? FETCH : REQUEST;
              bus_req <= !is_write;
            end
          end
        end

        FETCH: begin
          delay <= delay - 1'b1;
          if (delay == '0) begin
            bus_wr_data <= buffer_word;
            bus_req     <= '1;
            state       <= REQUEST;
          end
        end

        REQUEST:
        if (!(is_write ? bus_req_stall_wr : bus_req_stall_rd)) begin
          bus_req <= '0;
          state   <= ACK;
        end else if (patience[LOG2_PATIENCE]) begin
          bus_req <= '0;
          status <= STATUS_SILENT;
          outgoing[15:8] <= STATUS_SILENT;
          state <= ANSWER;
        end

        ACK:
        if (rd_ack || wr_ack) begin
          buffer_write       <= !is_write;
          buffer_write_index <= {1'b1, index};
          buffer_write_word  <= rd_data;
          state              <= NEXT;
          if (err) begin
            status <= STATUS_ERROR;
            outgoing[15:8] <= STATUS_ERROR;
            state <= ANSWER;
          end
        end else if (patience[LOG2_PATIENCE]) begin
          silent <= '1;
          status <= STATUS_SILENT;
          outgoing[15:8] <= STATUS_SILENT;
          state <= ANSWER;
        end

        NEXT: begin
          index <= index + 1'b1;
          delay <= 2'd3;
          if (!is_fixed) bus_addr <= bus_addr + 20'd4;
          if (index == header.last_word) state <= ANSWER;
          else if (is_write) state <= FETCH;
          else begin
            bus_req <= '1;
            state   <= REQUEST;
          end
        end

        ANSWER: begin
          index <= '0;
          delay <= 2'd3;
          if (answer_ready) begin
            outgoing <= outgoing << 8;
            part     <= part + 1'b1;
            if (part == 2'd3) state <= has_payload ? LOAD : WAIT;
            resume <= part == 2'd3 && !has_payload;
          end
        end

        LOAD: begin  // the answer's framing waits: it knows that more octets come
          delay    <= delay - 1'b1;
          outgoing <= buffer_word;
          if (delay == '0) state <= PAYLOAD;
        end

        PAYLOAD: begin
          delay <= 2'd3;
          if (answer_ready) begin
            outgoing <= outgoing << 8;
            part     <= part + 1'b1;
            if (part == 2'd3) begin
              index  <= index + 1'b1;
              state  <= index == done_last_word ? WAIT : LOAD;
              resume <= index == done_last_word;
            end
          end
        end

        default: state <= WAIT;
      endcase
    end
  end

endmodule

`default_nettype wire
