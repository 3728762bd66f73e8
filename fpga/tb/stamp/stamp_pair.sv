// A time base with the two stamps between which a latency lies. For tests only.
`default_nettype none

module stamp_pair
  import instrument_pkg::ns_t;
(
    input  wire time_clk,
    input  wire time_rst,
    input  wire sent,
    input  wire received,
    output ns_t sent_ns,
    output ns_t received_ns
);

  ns_t now_ns;

  time_base base (
      .time_clk,
      .time_rst,
      .set   ('0),
      .set_ns('0),
      .now_ns
  );

  stamp sending (
      .time_clk,
      .time_rst,
      .now_ns,
      .toggle  (sent),
      .stamp_ns(sent_ns)
  );

  stamp receiving (
      .time_clk,
      .time_rst,
      .now_ns,
      .toggle  (received),
      .stamp_ns(received_ns)
  );

endmodule

`default_nettype wire
