// The instrument under Verilator with everything around it: clocks, the device under test or a cable, the host's
// link and the memory. Time passes only in `run`. Nothing here is shared between two models.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "Vinstrument.h"
#include "cable.h"
#include "clock.h"
#include "config.h"
#include "memory.h"
#include "phy.h"
#include "pins.h"
#include "switch.h"
#include "verilated.h"

namespace keisoku {

class Model {
 public:
  explicit Model(const Config& config);
  ~Model();

  // Until the given time, or until so many bytes from the instrument wait; true if they do. 0: never.
  bool run(int64_t until_ps, size_t waiting_bytes);

  void link_write(const uint8_t* bytes, size_t count) { to_instrument_.insert(to_instrument_.end(), bytes, bytes + count); }
  size_t link_read(uint8_t* bytes, size_t room);
  size_t link_waiting() const { return from_instrument_.size(); }
  size_t link_unsent() const { return to_instrument_.size(); }

  void reset_device();
  std::vector<Rewriting>& rewritings(int port) { return ways_[static_cast<size_t>(port)]->rewritings; }
  void set_link_up(int port, bool is_up);

  int64_t now_ps() const { return now_ps_; }
  uint64_t cycles() const { return cycles_; }
  const std::vector<Passage>& log() const { return log_; }

 private:
  void before_clk();
  void after_clk();
  void set_pins();
  void eval();
  Gmii received(size_t port);

  const Config config_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vinstrument> top_;
  std::vector<Passage> log_;
  std::array<std::unique_ptr<Direction>, 2> ways_;  // by sending port
  std::array<std::unique_ptr<Wire>, 2> wires_;      // likewise; empty where a device forwards
  std::array<std::unique_ptr<Direction>, 2> taps_;  // keep the log of the wires
  Memory memory_;
  Phy phy_;
  std::array<std::unique_ptr<Pins>, 2> sent_, taken_;  // by port
  uint64_t taps_set_ = ~uint64_t{0};                   // as the pins were set last

  Clock clk_, time_clk_;
  std::array<Clock, 2> rx_clk_;
  std::array<bool, 4> high_{};
  std::array<bool, 2> link_up_{true, true};
  const bool is_gigabit_;
  std::array<Gmii, 2> byte_{};          // below 1 Gb/s: what a port receives, a nibble a clock
  std::array<bool, 2> second_half_{};
  int64_t now_ps_ = 0;
  uint64_t cycles_ = 0;

  std::deque<uint8_t> to_instrument_, from_instrument_;
  int64_t link_free_ps_[2] = {0, 0};  // when the line takes its next byte to and from the instrument
};

}  // namespace keisoku
