// A frame inside the device and what is known of it. Frames are kept and used again; copies share one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace keisoku {

struct Frame {
  std::vector<uint8_t> bytes;  // after the SFD, with the FCS
  int64_t sfd_ps = 0;          // at the device's input
  uint32_t crc = 0xFFFFFFFFu;
  int users = 0;
  bool complete = false;
  bool errored = false;
};

class FramePool {
 public:
  Frame* take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Frame>());
      free_.push_back(all_.back().get());
    }
    Frame* frame = free_.back();
    free_.pop_back();
    frame->bytes.clear();
    frame->crc = 0xFFFFFFFFu;
    frame->users = 1;
    frame->complete = frame->errored = false;
    return frame;
  }

  void release(Frame* frame) {
    if (--frame->users == 0) free_.push_back(frame);
  }

 private:
  std::vector<std::unique_ptr<Frame>> all_;
  std::vector<Frame*> free_;
};

uint32_t next_crc(uint32_t crc, uint8_t octet);  // of IEEE 802.3, bits in the order of the wire

}  // namespace keisoku
