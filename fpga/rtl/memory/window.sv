// The host's accesses to a page of the memory, one word each. While the memory is not initialised it answers zero.
// Must never leave an access without an answer.
`default_nettype none

module window #(
    parameter int WORD_BITS = 21
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  ready,           // the memory is initialised
    input  wire  [         15:0] page,
    // An external memory of PeakRDL's register block
    input  wire                  req,
    input  wire  [          9:0] index,           // of the word in the page
    input  wire                  req_is_wr,
    input  wire  [         31:0] wr_data,
    output logic                 rd_ack,
    output logic [         31:0] rd_data,
    output logic                 wr_ack,
    // The memory
    output logic                 access_valid,
    input  wire                  access_ready,
    output logic                 access_write,
    output logic [WORD_BITS-1:0] access_address,
    output logic [         31:0] access_word,
    input  wire                  read_valid,
    input  wire  [         31:0] read_word
);

  logic reading;

  always_ff @(posedge clk) begin
    rd_ack <= '0;
    wr_ack <= '0;
    if (rst) begin
      access_valid <= '0;
      reading      <= '0;
    end else begin
      if (req) begin
        access_write   <= req_is_wr;
        access_address <= WORD_BITS'({page, index});
        access_word    <= wr_data;
        access_valid   <= ready;
        rd_data        <= '0;
        rd_ack         <= !ready && !req_is_wr;
        wr_ack         <= !ready && req_is_wr;
      end
      if (access_valid && access_ready) begin
        access_valid <= '0;
        reading      <= !access_write;
        wr_ack       <= access_write;
      end
      if (reading && read_valid) begin
        rd_data <= read_word;
        rd_ack  <= '1;
        reading <= '0;
      end
    end
  end

endmodule

`default_nettype wire
