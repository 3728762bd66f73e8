// A clock in virtual time: whole picoseconds, and 2^-32 of one carried along so that no rate is rounded.
#pragma once

#include <cmath>
#include <cstdint>

namespace keisoku {

class Clock {
 public:
  Clock() = default;
  Clock(double period_ps, int64_t first_ps)
      : next_ps(first_ps),
        whole_(static_cast<int64_t>(std::floor(period_ps))),
        part_(static_cast<uint32_t>((period_ps - std::floor(period_ps)) * 0x1p32)) {}

  void advance() {
    const uint32_t before = fraction_;
    fraction_ += part_;
    next_ps += whole_ + (fraction_ < before);
  }

  int64_t next_ps = 0;  // of the next rising edge

 private:
  int64_t whole_ = 8000;
  uint32_t part_ = 0;
  uint32_t fraction_ = 0;
};

}  // namespace keisoku
