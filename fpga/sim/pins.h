// The RGMII pins between a GMII and its PHY: which half of a clock is sampled, and how near to an edge. The delays that
// the instrument sets decide it. A setting in the open part of the eye changes no byte and costs no time.
#pragma once

#include <cmath>
#include <cstdint>

#include "chance.h"
#include "switch.h"

namespace keisoku {

class Pins {
 public:
  // `edge_ps`: within so much of a change of the data, a sampled bit may be that of the half before or after it.
  Pins(double edge_ps, uint64_t seed) : edge_ps_(edge_ps), chance_(seed) {}

  // Data are sampled `after_ps` after they began; 0 to 4000 is the half that is meant.
  void set(double after_ps) {
    const double halves = std::floor(after_ps / kHalfPs);
    const double phase_ps = after_ps - halves * kHalfPs;
    // Whole clocks more or less only delay everything, so one half early and one half late are alike.
    is_odd_ = std::fmod(std::abs(halves), 2) != 0;
    earlier_ = phase_ps < edge_ps_ ? 0.5 * (1 - phase_ps / edge_ps_) : 0;
    later_ = kHalfPs - phase_ps < edge_ps_ ? 0.5 * (1 - (kHalfPs - phase_ps) / edge_ps_) : 0;
    is_open_ = !is_odd_ && earlier_ == 0 && later_ == 0;
  }

  Gmii sampled(const Gmii& byte) {
    const uint32_t rise = word(byte.data & 15u, byte.valid);
    const uint32_t fall = word(byte.data >> 4, byte.valid != byte.error);
    const uint32_t before = rise_, last = fall_;
    rise_ = rise;
    fall_ = fall;
    if (is_open_) return byte;
    // What follows the falling half is not known yet: there only the half before it may be taken instead.
    const uint32_t first = is_odd_ ? mixed(last, before, rise) : mixed(rise, last, fall);
    const uint32_t second = is_odd_ ? mixed(rise, last, fall) : mixed(fall, rise, fall);
    Gmii found = byte;
    found.data = static_cast<uint8_t>((first & 15u) | (second & 15u) << 4);
    found.valid = (first & 16u) != 0;
    found.error = found.valid != ((second & 16u) != 0);
    return found;
  }

 private:
  static constexpr double kHalfPs = 4000;

  static uint32_t word(uint32_t nibble, bool control) { return nibble | (control ? 16u : 0u); }

  uint32_t mixed(uint32_t meant, uint32_t before, uint32_t after) {
    const double ratio = earlier_ > 0 ? earlier_ : later_;
    const uint32_t differs = meant ^ (earlier_ > 0 ? before : after);
    for (uint32_t bit = 1; ratio > 0 && bit <= 16; bit <<= 1)
      if ((differs & bit) != 0 && chance_.hits(ratio)) meant ^= bit;
    return meant;
  }

  const double edge_ps_;
  Chance chance_;
  bool is_open_ = true, is_odd_ = false;
  double earlier_ = 0, later_ = 0;
  uint32_t rise_ = 0, fall_ = 0;
};

}  // namespace keisoku
