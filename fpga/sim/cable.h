// A bare cable between two ports, their PHYs included: every byte time comes out a fixed time later, and the
// receiver's clock is the sender's. It drops and damages nothing.
#pragma once

#include <array>
#include <cstdint>

#include "switch.h"

namespace keisoku {

class Wire {
 public:
  // Whole byte times that pass until a byte comes out; what is left of the delay is the phase of the receiver's clock.
  explicit Wire(size_t byte_times = 1) : length_(byte_times < 1 ? 1 : byte_times) {}

  void input(const Gmii& byte) { ring_[written_++ % ring_.size()] = byte; }

  Gmii output() {
    const size_t place = taken_++;
    return place < length_ ? Gmii{} : ring_[(place - length_) % ring_.size()];
  }

  static constexpr size_t kMostByteTimes = 65535;

 private:
  std::array<Gmii, kMostByteTimes + 1> ring_{};
  size_t length_;
  size_t written_ = 0, taken_ = 0;
};

}  // namespace keisoku
