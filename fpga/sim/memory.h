// The board's memory behind the instrument's narrow port: answers reads in order after a fixed time, and now and then
// takes nothing, as a controller that refreshes does. It keeps every word.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "Vinstrument.h"

namespace keisoku {

class Memory {
 public:
  // `every`: at least so many clocks from one access to the next; 1 for a memory without other users.
  Memory(int latency, int every)
      : latency_(latency), every_(static_cast<uint64_t>(every)), words_(size_t{1} << 21) {}

  // An access is taken at a rising edge that finds valid and ready.
  void before_clk(const Vinstrument& top) {
    if (!top.memory_valid || !top.memory_ready) return;
    next_ = clocks_ + every_;
    uint32_t& word = words_[top.memory_address % words_.size()];
    if (top.memory_write) {
      word = top.memory_word;
    } else {
      answers_.push_back({clocks_ + static_cast<uint64_t>(latency_), word});
    }
  }

  void after_clk(Vinstrument& top) {
    clocks_++;
    top.memory_initialised = clocks_ > kInitialisation;
    top.memory_ready = clocks_ >= next_ && clocks_ % kRefreshEvery >= kRefreshFor;
    const bool answers = !answers_.empty() && answers_.front().at <= clocks_;
    top.memory_read_valid = answers;
    if (answers) {
      top.memory_read_word = answers_.front().word;
      answers_.pop_front();
    }
  }

 private:
  static constexpr uint64_t kInitialisation = 100, kRefreshEvery = 975, kRefreshFor = 12;

  struct Answer {
    uint64_t at;
    uint32_t word;
  };

  const int latency_;
  const uint64_t every_;
  std::vector<uint32_t> words_;
  std::deque<Answer> answers_;
  uint64_t clocks_ = 0, next_ = 0;
};

}  // namespace keisoku
