// Seeded random numbers of one concern (SplitMix64). Never shared between concerns, so that one fault does not
// change where another one strikes.
#pragma once

#include <cstdint>

namespace keisoku {

class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t word = state_ += 0x9E3779B97F4A7C15u;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
  }

  // Between 0 and 1, 1 excluded.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  bool hits(double ratio) { return uniform() < ratio; }

  // Of mean 0 and deviation 1: the sum of twelve uniform ones, so none is further than six deviations out.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

}  // namespace keisoku
