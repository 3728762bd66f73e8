// Reads and writes the registers of PHYs (IEEE 802.3 clause 22) for several ports over one pair of pins, one port after
// the other. Never resets a PHY and never starts by itself.
`default_nettype none

module mdio #(
    parameter int PORTS = 2
) (
    input wire clk,
    input wire rst,

    // A port holds `pending` with its request until `done` answers it.
    input  wire  [PORTS-1:0]       pending,
    input  wire  [PORTS-1:0][26:0] request,   // {write, phy[4:0], register[4:0], data[15:0]}
    output logic [PORTS-1:0]       done,
    output logic [     15:0]       answer,
    output logic                   no_answer, // nobody pulled the line down in the turnaround of a read

    output logic [$clog2(PORTS)-1:0] chosen,      // the port served, for boards with pins of their own for each PHY
    output logic                     mdc,
    output logic                     mdio_out,
    output logic                     mdio_drive,
    input  wire                      mdio_in
);

  localparam int Bits = 64;  // of a transaction with its preamble
  localparam int Turnaround = 46;  // the first bit of the turnaround
  localparam int Log2HalfPeriod = 5;  // clocks: 512 ns a bit at 125 MHz; clause 22 asks for 400 ns at least

  typedef enum logic [1:0] {
    IDLE,
    SHIFT,
    ANSWER,
    RELEASE
  } state_t;

  state_t state;
  logic [Bits-1:0] out;
  logic [6:0] place;
  logic [Log2HalfPeriod-1:0] wait_clocks;
  logic writing, heard, half;

  sync_bit sync_in (
      .clk,
      .from(mdio_in),
      .to  (heard)
  );

  assign mdio_out = out[Bits-1];

  always_ff @(posedge clk) begin
    done        <= '0;
    wait_clocks <= wait_clocks + 1'b1;
    half        <= wait_clocks == '1;
    if (rst) begin
      state      <= IDLE;
      chosen     <= '0;
      mdc        <= 1'b0;
      mdio_drive <= 1'b0;
    end else begin
      unique case (state)
        IDLE: begin
          wait_clocks <= '0;
          half        <= 1'b0;
          place       <= '0;
          mdio_drive  <= 1'b0;
          if (pending[chosen]) begin
            writing <= request[chosen][26];
            out <= {
              32'hFFFF_FFFF,
              2'b01,
              request[chosen][26] ? 2'b01 : 2'b10,
              request[chosen][25:16],
              2'b10,
              request[chosen][15:0]
            };
            mdio_drive <= 1'b1;
            state <= SHIFT;
          end else chosen <= chosen == $clog2(PORTS)'(PORTS - 1) ? '0 : chosen + 1'b1;
        end
        SHIFT:
        if (half) begin
          mdc <= !mdc;
          if (!mdc) begin
            // The line as the PHY put it after the edge before.
            answer <= {answer[14:0], heard};
            if (place == 7'(Turnaround + 1)) no_answer <= heard && !writing;
          end else begin
            out   <= out << 1;
            place <= place + 1'b1;
            if (place == 7'(Turnaround - 1) && !writing) mdio_drive <= 1'b0;
            if (place == 7'(Bits - 1)) begin
              mdio_drive <= 1'b0;
              state      <= ANSWER;
            end
          end
        end
        ANSWER: begin
          done[chosen] <= 1'b1;
          state        <= RELEASE;
        end
        default: state <= IDLE;  // the port takes its `pending` back
      endcase
    end
  end

endmodule

`default_nettype wire
