// The bytes of a frame from its first to the last before the FCS: header with patches, filler, signature; or those of
// the mailbox. Header and filler end early where the frame does. A byte goes through four registers.
`default_nettype none

module frame_source
  import transmit_pkg::*;
(
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  ce,
    // With ce: the frame to be fetched next.
    input  wire                  begin_frame,
    input  wire frame_t          frame,
    input  wire                  begin_mailbox,
    input  wire           [11:0] mailbox_bytes,
    input  wire                  fetch,               // with ce: the byte times begin
    // Header slots and mailbox, two byte times after the address.
    output logic          [ 9:0] header_address,
    input  wire           [31:0] header_word,
    output logic          [ 8:0] mailbox_address,
    input  wire           [31:0] mailbox_word,
    // Patches of both banks.
    input  wire                  patched_write,
    input  wire           [ 3:0] patched_address,
    input  wire patched_t        patched,
    input  wire           [15:0] signature      [9],
    output logic          [ 7:0] data,
    output logic                 last
);

  typedef enum logic [1:0] {
    HEADER,
    BODY,
    BALANCE,
    SIGNATURE
  } region_t;

  // What accompanies a byte through the stages.
  typedef struct packed {
    region_t    region;
    logic       last;
    logic [1:0] lane;          // of the word in memory
    logic [7:0] filler;
    logic       second;        // of the two that balance
    logic [4:0] signed_bytes;
  } byte_t;

  // verilator lint_off UNUSEDSIGNAL
  frame_t current;  // and what only others use
  // verilator lint_on UNUSEDSIGNAL
  logic is_mailbox, active;

  // Stage 0: counters whose sign says that theirs is the last byte.
  region_t region;
  logic [10:0] position;
  logic [14:0] bytes_left, body_left;
  logic [8:0] header_left;
  logic [7:0] filler;
  logic second;
  logic [4:0] signed_bytes;

  (* ram_style = "distributed" *) patched_t patches[16];
  patched_t patch;
  logic [3:0] patch_index;
  logic high;

  byte_t stage_1, stage_2;
  logic in_header_3, last_3;

  always_ff @(posedge clk) begin
    if (patched_write) patches[patched_address] <= patched;
    patch <= patches[{current.bank, patch_index[2:0]}];
    if (patch_index[3] || is_mailbox) patch.used <= 1'b0;  // all eight are done, or none is due
  end

  // A slot of headers has 128 bytes.
  assign high = patch.used && region == HEADER && position[6:0] == patch.offset;
  assign header_address = {current.entry.slot, position[6:2]};
  assign mailbox_address = position[10:2];

  always_ff @(posedge clk) begin
    if (begin_frame || begin_mailbox) begin
      current    <= frame;
      is_mailbox <= begin_mailbox;
      if (begin_mailbox) begin
        current.entry.frame_bytes <= 14'(mailbox_bytes);
        current.entry.marked      <= 1'b0;
      end
      patch_index <= '0;
    end
    if (ce) begin
      bytes_left <= bytes_left - 1'b1;
      position   <= position + 1'b1;
      if (bytes_left[14]) active <= 1'b0;
      if (high) patch_index <= patch_index + 1'b1;
      case (region)
        HEADER: begin
          header_left <= header_left - 1'b1;
          if (header_left[8] && !is_mailbox)
            region <= current.has_body ? BODY : current.has_balance ? BALANCE : SIGNATURE;
        end
        BODY: begin
          filler    <= filler + 1'b1;
          body_left <= body_left - 1'b1;
          if (body_left[14]) region <= current.has_balance ? BALANCE : SIGNATURE;
        end
        BALANCE: begin
          second <= 1'b1;
          if (second) region <= SIGNATURE;
        end
        default: signed_bytes <= signed_bytes + 1'b1;
      endcase
      if (fetch) begin
        active       <= 1'b1;
        region       <= HEADER;
        position     <= '0;
        filler       <= '0;
        second       <= 1'b0;
        signed_bytes <= '0;
        bytes_left   <= {1'b0, current.entry.frame_bytes} - 15'd2;
        header_left  <= {1'b0, current.entry.header_bytes} - 9'd2;
        body_left    <= {1'b0, current.body_bytes} - 15'd2;
      end
    end
    if (rst) begin
      active <= 1'b0;
      region <= SIGNATURE;  // where no patch is due, before the first frame
    end
  end

  // Stages 1 to 3; the words of the memories are there in stage 2.
  logic [15:0] patch_value, signature_word;
  logic [7:0] low_value;
  logic high_1, low_1;
  logic [7:0] header_byte, mailbox_byte, made_byte, patch_byte_2, patch_byte_3;
  logic is_patched_2, is_patched_3;

  // The filler's sum runs ahead of its last two bytes by one stage; the carry of each addition is added with the next.
  logic [15:0] sum, missing;
  logic carry, fetched;

  assign missing = current.odd ? {~sum[7:0], ~sum[15:8]} : ~sum;

  function automatic logic [7:0] lane(input logic [31:0] word, input logic [1:0] number);
    return word[8*number+:8];
  endfunction

  always_ff @(posedge clk) begin
    if (ce) begin
      stage_1 <= '{
          region: region,
          last: active && bytes_left[14],
          lane: position[1:0],
          filler: filler,
          second: second,
          signed_bytes: signed_bytes
      };
      high_1 <= high;  // the first byte of a patched word
      if (high) patch_value <= patch.value;

      stage_2 <= stage_1;
      signature_word <= current.entry.marked ? signature[stage_1.signed_bytes[4:1]] : '0;
      low_value <= patch_value[7:0];
      low_1 <= high_1;
      is_patched_2 <= high_1 || low_1;
      patch_byte_2 <= high_1 ? patch_value[15:8] : low_value;
      fetched <= fetch;
      // Stage 1 still has what was there before the fetch: after a mailbox's frame that may look like filler.
      if (fetch || fetched) begin
        sum   <= '0;
        carry <= 1'b0;
      end else if (stage_1.region == BODY) begin
        {carry, sum} <= {1'b0, sum} + 17'(carry) + (stage_1.filler[0] ? {9'b0, stage_1.filler} :
                                                                        {1'b0, stage_1.filler, 8'b0});
      end else begin
        {carry, sum} <= {1'b0, sum} + 17'(carry);
      end

      in_header_3 <= stage_2.region == HEADER;
      last_3 <= stage_2.last;
      is_patched_3 <= is_patched_2;
      patch_byte_3 <= patch_byte_2;
      header_byte <= lane(header_word, stage_2.lane);
      mailbox_byte <= lane(mailbox_word, stage_2.lane);
      case (stage_2.region)
        BODY:    made_byte <= stage_2.filler;
        BALANCE: made_byte <= stage_2.second ? missing[7:0] : missing[15:8];
        default: made_byte <= stage_2.signed_bytes[0] ? signature_word[7:0] : signature_word[15:8];
      endcase

      data <= made_byte;
      if (in_header_3) data <= is_mailbox ? mailbox_byte : is_patched_3 ? patch_byte_3 : header_byte;
      last <= last_3;
    end
    if (rst) last <= 1'b0;
  end

endmodule

`default_nettype wire
