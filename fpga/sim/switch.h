// The device under test: two directions, each from one port's GMII to the other's, in virtual picoseconds.
// It forwards, delays, queues and damages as it was told, and logs the truth. It never looks at the tester's inside.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "chance.h"
#include "config.h"
#include "frame.h"

namespace keisoku {

// A byte time on a GMII.
struct Gmii {
  uint8_t data = 0;
  bool valid = false;
  bool error = false;
  bool half = false;  // only the lower nibble is sent: below 1 Gb/s
};

// A header that is put in place of the one that was sent, in chosen frames of a stream.
struct Rewriting {
  uint16_t stream;
  size_t header_bytes;  // of the one that was sent
  std::vector<uint8_t> header;
  int64_t first, every;
  bool has_numbers;
  std::vector<int64_t> numbers;  // in order
};

class Direction {
 public:
  Direction(const Way& way, int from_port, int64_t in_ps, int64_t out_ps, uint64_t seed, std::vector<Passage>* log);

  // The tester's byte, which appears at its GMII at `now_ps`. Idle byte times must be told too: they are counted.
  inline void input(int64_t now_ps, const Gmii& byte) {
    if (!byte.valid && !receiving_) {
      gap_bytes_++;
      return;
    }
    take(now_ps, byte);
  }

  // What the tester's receive clock finds at `now_ps`, a byte time of the device's clock at its output.
  inline Gmii output(int64_t now_ps) {
    if (!sending_ && now_ps < wake_ps_) {
      idle_bytes_++;
      return {};
    }
    return give(now_ps);
  }

  // What is inside is lost, and what comes for so long.
  void reset(int64_t now_ps);

  double byte_ps() const { return byte_ps_; }

  std::vector<Rewriting> rewritings;  // of several that choose a frame the first one counts

 private:
  struct Job {
    Frame* frame;
    int64_t due_ps;  // its SFD at the receiver's GMII if it meets no queue
    size_t row;
    uint8_t verdict;
    int64_t room_bytes;  // in the output's buffer
  };

  void take(int64_t now_ps, const Gmii& byte);
  void header_read();
  void frame_end();
  void decide(bool is_complete);
  void pass(Job job);
  void corrupt(Frame* frame, uint8_t* verdict);
  void rewrite(Frame* frame);
  size_t copy_row();
  void plan();
  Gmii give(int64_t now_ps);
  void admit(int64_t now_ps);
  bool begin(int64_t now_ps);
  int64_t latency_ps(int64_t frame_bytes) const;
  void drop(const Job& job, uint8_t verdict);

  const Way way_;
  const int from_port_;
  const int64_t in_ps_;   // from the sender's GMII to the device
  const int64_t out_ps_;  // from the device to the receiver's GMII
  const double byte_ps_;
  std::vector<Passage>* const log_;
  FramePool pool_;
  Chance loss_, loss_above_, duplicate_, reorder_, corrupt_, jitter_;

  // Input
  bool receiving_ = false;
  bool in_data_ = false;
  bool decided_ = false;
  uint32_t preamble_bytes_ = 0;
  uint32_t gap_bytes_ = 0;
  Frame* frame_ = nullptr;
  int64_t gmii_sfd_ps_ = 0;
  int64_t last_sfd_ps_ = INT64_MIN;
  int64_t last_due_ps_ = INT64_MIN;
  size_t row_ = 0;

  // Inside
  bool is_holding_ = false;
  Job held_{};
  int64_t held_until_ps_ = 0;
  std::deque<Job> delayed_;  // until they are due
  std::deque<Job> queue_;    // in the output's buffer
  int64_t occupied_bytes_ = 0;
  int64_t stall_next_ps_ = INT64_MAX;
  bool has_begun_ = false;
  int64_t reset_from_ps_ = INT64_MAX, reset_until_ps_ = INT64_MIN;

  // Output
  bool sending_ = false;
  bool serving_ = false;  // the frame before still counts as in the buffer
  Job job_{};
  size_t position_ = 0;
  uint64_t idle_bytes_ = 1000;
  int64_t free_ps_ = 0;  // the server is ready for the next frame
  int64_t wake_ps_ = INT64_MAX;  // nothing happens at the output before
};

}  // namespace keisoku
