// Shows the host the oldest full slot of the mailbox. Never changes a slot: `taken` gives it back.
`default_nettype none

module mailbox_reader #(
    parameter int LOG2_SLOTS = 2
) (
    input  wire                   clk,
    input  wire                   rst,
    // from the writer, through an async_fifo
    input  wire                   full_valid,
    input  wire  [          10:0] full_bytes,
    output logic                  full_ready,
    // to the registers
    input  wire                   taken,
    output logic [          10:0] shown_bytes,       // 0: there is none
    // to the bus: answered three clocks after the request
    input  wire                   request,
    input  wire                   request_is_write,
    input  wire  [           8:0] request_word,
    output logic                  read_ack,
    output logic                  write_ack,
    output logic [          31:0] read_answer,
    // to the memory
    output logic [LOG2_SLOTS+8:0] read_word,
    input  wire  [          31:0] read_data
);

  logic [LOG2_SLOTS-1:0] slot;
  logic [2:0] reading;

  assign full_ready  = taken;
  assign shown_bytes = full_valid ? full_bytes : '0;
  assign read_ack    = reading[2];
  assign read_answer = reading[2] ? read_data : '0;

  always_ff @(posedge clk) begin
    read_word <= {slot, request_word};
    if (rst) begin
      slot      <= '0;
      reading   <= '0;
      write_ack <= 1'b0;
    end else begin
      if (full_valid && taken) slot <= slot + 1'b1;
      reading   <= {reading[1:0], request && !request_is_write};
      write_ack <= request && request_is_write;
    end
  end

endmodule

`default_nettype wire
