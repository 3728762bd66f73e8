// Brings a pin's delay element to a wanted number of taps, one tap at a time. Never jumps: a step of one tap moves an
// edge by about 25 ps, so that a running link keeps its frames.
`default_nettype none

module delay_line (
    input  wire        clk,
    input  wire        rst,
    input  wire  [6:0] wanted,    // taps
    output logic       load_n,    // low: the element goes back to its first value, which is 0
    output logic       move,      // a pulse is a step
    output logic       direction  // of the step: 0 up, 1 down
);

  logic [6:0] now;
  logic [3:0] phase;
  logic differs, down;

  always_ff @(posedge clk) begin
    differs <= wanted != now;
    down    <= wanted < now;
    if (rst) begin
      now       <= '0;
      phase     <= '0;
      load_n    <= 1'b0;
      move      <= 1'b0;
      direction <= 1'b0;
    end else begin
      load_n <= 1'b1;
      phase  <= phase + 1'b1;
      // The element looks at the direction with the pulse: both stand still around each other's edges.
      case (phase)
        4'd0: direction <= down;
        4'd4: begin
          move <= differs && down == direction;
          if (differs && down == direction) now <= direction ? now - 1'b1 : now + 1'b1;
        end
        4'd10: move <= 1'b0;
        default: ;
      endcase
    end
  end

endmodule

`default_nettype wire
