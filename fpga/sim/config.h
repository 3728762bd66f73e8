// What the model is told before it starts; keisoku/ground/fpga/sim.py holds the same structures, field by field.
// Plain data only: it crosses the C interface.
#pragma once

#include <cstdint>

namespace keisoku {

enum Forwarding : int32_t { kStoreAndForward = 0, kCutThrough = 1, kCable = 2 };
enum Distribution : int32_t { kNoJitter = 0, kUniform = 1, kNormal = 2 };

// The way from one port of the device to the other. No limit and no stall are 0.
struct Way {
  double ns_per_byte;
  double constant_ns;  // with what the way adds to it
  double decision_ns;
  double service_bits_per_second;
  double jitter_ns;
  double loss_ratio;
  double loss_above_ratio;
  double duplicate_ratio;
  double reorder_ratio;
  double reorder_above_fps;  // 0: at any rate
  double corrupt_ratio;
  double bad_fcs_ratio;  // of the corrupt ones, those whose FCS is left as it was
  double byte_ps;        // nominal byte time of the links
  double output_ppm;     // the device's clock at its output, against the tester's
  int64_t buffer_bytes;
  int64_t max_frame_bytes;
  int64_t loss_above_bytes;
  int64_t header_bytes;
  int64_t corrupt_from;  // the first byte of a frame that may be changed
  int64_t stall_first_ns;
  int64_t stall_period_ns;  // 0: once
  int64_t stall_duration_ns;
  int64_t reset_duration_ns;
  int64_t reset_at_ns;  // after the first frame; below 0: when told to
  int32_t mode;         // Forwarding
  int32_t jitter;       // Distribution
};

struct Config {
  Way ways[2];             // from port 0 to 1, and back
  double phy_tx_ns[2];     // from a port's GMII to its cable
  double phy_rx_ns[2];     // from a port's cable to its GMII
  double cable_ns[2];      // of a port's cable
  double reference_ppm;    // of the PPS and the 10 MHz against the tester's clock
  double pulse_ps;         // from a PPS to the next; some receivers give more than one a second
  double transmit_pins_ps[2];  // a port's PHY samples so long after a half began, where nothing is delayed
  double receive_pins_ps[2];   // likewise the instrument what the PHY sends
  double pin_edge_ps;          // so near to a change a bit may be either
  uint64_t seed;
  int64_t link_ps_per_byte;  // 0: as fast as the instrument takes and gives bytes
  int64_t phase_ps[4];       // of clk, time_clk and the two receive clocks at the start
  int32_t memory_latency;    // clocks from a request to its answer
  int32_t memory_every;      // clocks from one access of the memory to the next at least
  int32_t has_reference;
};

enum Verdict : uint8_t {
  kUnderWay = 0,
  kForwarded = 1,
  kLost = 2,       // by chance
  kDropped = 3,    // no room in the output's buffer
  kOversize = 4,   // the device takes no frame of that size
  kErrored = 5,    // came in with errors: a switch that stores frames drops those
  kCorrupt = 6,    // forwarded with a wrong byte under a right FCS
  kBadFcs = 7,     // forwarded with a wrong byte under the old FCS
  kDuplicate = 8,  // a second copy; the first has a row of its own
  kReordered = 9,  // forwarded after the frame that followed it
  kReset = 10      // came in, or was still inside, while the device was being reset
};

// The truth of one frame: a row for each frame that a port sent and for each copy that the device made of one.
struct Passage {
  int64_t number;       // as the signature claimed when it was sent; below 0: it had none
  int64_t sent_ps;      // its SFD at the sender's GMII
  int64_t received_ps;  // its SFD at the receiver's GMII; below 0: it never came
  int64_t signed_ns;    // the signature's sent_ns
  uint32_t gap_bytes;   // byte times between the frame before and this one's preamble
  uint32_t frame_bytes;
  uint16_t stream;
  uint8_t verdict;
  uint8_t from_port;
  uint8_t preamble_bytes;  // with the SFD
  uint8_t is_copy;  // made by the device, not sent by the tester
  uint8_t reserved[2];
};

}  // namespace keisoku
