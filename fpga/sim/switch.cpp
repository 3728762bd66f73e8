#include "switch.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace keisoku {
namespace {

constexpr size_t kPreambleBytes = 8;  // with the SFD
constexpr uint64_t kLeastGapBytes = 12;
constexpr size_t kSignatureFromEnd = 22;  // with the FCS
constexpr int64_t kHoldPs = 100'000'000;  // a frame held back for reordering goes on its own after 100 us
constexpr uint32_t kResidue = 0xDEBB20E3u;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t word = i;
    for (int bit = 0; bit < 8; bit++) word = (word >> 1) ^ (word & 1 ? 0xEDB88320u : 0);
    table[i] = word;
  }
  return table;
}

constexpr auto kTable = make_table();

int64_t to_ps(double ns) { return static_cast<int64_t>(std::llround(ns * 1000)); }

int64_t big_endian(const uint8_t* bytes, int count) {
  int64_t value = 0;
  for (int i = 0; i < count; i++) value = value << 8 | bytes[i];
  return value;
}

void write_fcs(std::vector<uint8_t>* bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (const uint8_t octet : *bytes) crc = next_crc(crc, octet);
  for (int i = 0; i < 4; i++) bytes->push_back(static_cast<uint8_t>(~crc >> (8 * i)));
}

}  // namespace

uint32_t next_crc(uint32_t crc, uint8_t octet) { return crc >> 8 ^ kTable[(crc ^ octet) & 0xFF]; }

Direction::Direction(const Way& way, int from_port, int64_t in_ps, int64_t out_ps, uint64_t seed,
                     std::vector<Passage>* log)
    : way_(way),
      from_port_(from_port),
      in_ps_(in_ps),
      out_ps_(out_ps),
      byte_ps_(way.byte_ps / (1 + way.output_ppm * 1e-6)),
      log_(log),
      loss_(seed + 1),
      loss_above_(seed + 2),
      duplicate_(seed + 3),
      reorder_(seed + 4),
      corrupt_(seed + 5),
      jitter_(seed + 6) {}

int64_t Direction::latency_ps(int64_t frame_bytes) const {
  const int64_t bytes = way_.mode == kCutThrough ? std::min(way_.header_bytes, frame_bytes) : frame_bytes;
  return to_ps(std::max(way_.ns_per_byte * static_cast<double>(bytes) + way_.constant_ns, way_.decision_ns));
}

// --- Input: from the tester ---

void Direction::take(int64_t now_ps, const Gmii& byte) {
  if (!receiving_) {
    receiving_ = true;
    in_data_ = decided_ = false;
    preamble_bytes_ = 0;
    frame_ = pool_.take();
  }
  if (!byte.valid) {
    receiving_ = false;
    if (in_data_) {
      frame_end();
      gap_bytes_ = 0;
    } else {
      gap_bytes_ += preamble_bytes_;
      pool_.release(frame_);
    }
    gap_bytes_++;
    return;
  }
  frame_->errored |= byte.error || byte.half;
  if (byte.half) return;
  if (in_data_) {
    frame_->bytes.push_back(byte.data);
    frame_->crc = next_crc(frame_->crc, byte.data);
    if (way_.mode == kCutThrough && !decided_ && static_cast<int64_t>(frame_->bytes.size()) == way_.header_bytes)
      decide(false);
    return;
  }
  preamble_bytes_++;
  if (byte.data == 0xD5) {
    in_data_ = true;
    gmii_sfd_ps_ = now_ps;
    frame_->sfd_ps = now_ps + in_ps_;
    row_ = log_->size();
    log_->push_back({-1, now_ps, -1, -1, gap_bytes_, 0, 0, kUnderWay, static_cast<uint8_t>(from_port_),
                     static_cast<uint8_t>(preamble_bytes_), 0, {}});
  }
}

void Direction::frame_end() {
  const auto& bytes = frame_->bytes;
  const size_t size = bytes.size();
  Passage& row = (*log_)[row_];
  row.frame_bytes = static_cast<uint32_t>(size);
  if (size >= kSignatureFromEnd + 18) {
    const uint8_t* signature = bytes.data() + size - kSignatureFromEnd;
    if (signature[0] == 0x6B && signature[1] == 0x73) {
      row.stream = static_cast<uint16_t>(big_endian(signature + 2, 2));
      row.number = big_endian(signature + 4, 6);
      row.signed_ns = big_endian(signature + 10, 6);
    }
  }
  frame_->errored |= frame_->crc != kResidue || size < 64;
  frame_->complete = true;
  if (!decided_) decide(true);
  last_sfd_ps_ = frame_->sfd_ps;
  pool_.release(frame_);
}

// The device knows where the frame goes, and chance what becomes of it.
void Direction::decide(bool is_complete) {
  decided_ = true;
  if (way_.mode == kCable) {  // the wire carries the bytes; here is only the truth about them
    (*log_)[row_].verdict = kForwarded;
    (*log_)[row_].received_ps = gmii_sfd_ps_ + in_ps_ + out_ps_;
    return;
  }
  const auto size = static_cast<int64_t>(frame_->bytes.size());
  const bool lost = loss_.hits(way_.loss_ratio);
  const bool lost_above = loss_above_.hits(way_.loss_above_ratio);
  const bool twice = duplicate_.hits(way_.duplicate_ratio);
  bool later = reorder_.hits(way_.reorder_ratio);
  const bool damaged = corrupt_.uniform() < way_.corrupt_ratio;
  if (way_.reorder_above_fps > 0)
    later &= last_sfd_ps_ != INT64_MIN &&
             static_cast<double>(frame_->sfd_ps - last_sfd_ps_) < 1e12 / way_.reorder_above_fps;

  Job job{frame_, 0, row_, kForwarded, 0};
  int64_t jitter_ps = 0;
  if (way_.jitter == kUniform) jitter_ps = to_ps(jitter_.uniform() * way_.jitter_ns);
  if (way_.jitter == kNormal) jitter_ps = to_ps(jitter_.normal() * way_.jitter_ns);
  const int64_t delay_ps = std::max<int64_t>(latency_ps(size) + jitter_ps, 0);
  // A frame that is stored cannot leave before it is in.
  const auto stored_ps = static_cast<int64_t>(static_cast<double>(size + 1 + kPreambleBytes) * way_.byte_ps);
  const int64_t least_ps = is_complete ? stored_ps : 0;
  job.due_ps = std::max(frame_->sfd_ps + std::max(delay_ps, least_ps) + out_ps_, last_due_ps_);
  last_due_ps_ = job.due_ps;
  if (!has_begun_) {
    has_begun_ = true;
    const int64_t first_ps = way_.stall_first_ns * 1000;
    if (way_.stall_duration_ns > 0) stall_next_ps_ = job.due_ps + first_ps;
    if (way_.reset_duration_ns > 0 && way_.reset_at_ns >= 0) {
      reset_from_ps_ = frame_->sfd_ps + way_.reset_at_ns * 1000;
    }
  }
  if (frame_->sfd_ps >= reset_from_ps_) reset(reset_from_ps_);

  if (is_complete && frame_->errored) return drop(job, kErrored);
  if (frame_->sfd_ps < reset_until_ps_) return drop(job, kReset);
  if (way_.max_frame_bytes > 0 && size > way_.max_frame_bytes) return drop(job, kOversize);
  if (lost || (way_.loss_above_bytes > 0 && size > way_.loss_above_bytes && lost_above)) return drop(job, kLost);
  if (is_complete) rewrite(frame_);
  if (damaged) corrupt(frame_, &job.verdict);

  // A copy of a damaged frame is as damaged.
  const uint8_t copied = job.verdict == kForwarded ? static_cast<uint8_t>(kDuplicate) : job.verdict;
  frame_->users++;
  if (later && !is_holding_) {
    is_holding_ = true;
    held_ = job;
    held_until_ps_ = job.due_ps + kHoldPs;
    if (job.verdict == kForwarded) held_.verdict = kReordered;
    if (twice) {
      // Of a frame that is held back the copy is what comes later: the frame itself passes now.
      held_.verdict = copied;
      held_.row = copy_row();
      frame_->users++;
      pass(job);
    }
    plan();
    return;
  }
  pass(job);
  if (is_holding_) {
    is_holding_ = false;
    held_.due_ps = job.due_ps;
    pass(held_);
  }
  if (twice) {
    frame_->users++;
    pass({frame_, job.due_ps, copy_row(), copied, 0});
  }
}

size_t Direction::copy_row() {
  Passage row = (*log_)[row_];
  row.is_copy = 1;
  log_->push_back(row);
  return log_->size() - 1;
}

void Direction::rewrite(Frame* frame) {
  const Passage& row = (*log_)[row_];
  if (row.number < 0) return;
  for (const Rewriting& one : rewritings) {
    if (row.stream != one.stream || row.number < one.first || (row.number - one.first) % one.every != 0) continue;
    if (one.has_numbers && !std::binary_search(one.numbers.begin(), one.numbers.end(), row.number)) continue;
    auto& bytes = frame->bytes;
    std::vector<uint8_t> made(one.header);
    made.insert(made.end(), bytes.begin() + static_cast<int64_t>(one.header_bytes), bytes.end() - 4);
    bytes = made;
    write_fcs(&bytes);
    return;
  }
}

// One bit of one byte, never of the magic, the stream or the number: those make another frame of it.
void Direction::corrupt(Frame* frame, uint8_t* verdict) {
  auto& bytes = frame->bytes;
  const size_t size = bytes.size();
  if (size < kSignatureFromEnd + 18) return;
  const size_t signature = size - kSignatureFromEnd;
  const size_t from = std::min<size_t>(static_cast<size_t>(way_.corrupt_from), signature);
  const size_t filler = signature - from;
  const size_t chosen = corrupt_.next() % (filler + 8);  // sent_ns and balance are the signature's last 8 bytes
  const size_t at = chosen < filler ? from + chosen : signature + 10 + (chosen - filler);
  bytes[at] ^= static_cast<uint8_t>(1u << (corrupt_.next() % 8));
  if (corrupt_.hits(way_.bad_fcs_ratio)) {
    *verdict = kBadFcs;
    return;
  }
  *verdict = kCorrupt;
  bytes.resize(size - 4);
  write_fcs(&bytes);
}

void Direction::drop(const Job& job, uint8_t verdict) { (*log_)[job.row].verdict = verdict; }

void Direction::pass(Job job) {
  delayed_.push_back(job);
  plan();
}

void Direction::reset(int64_t now_ps) {
  if (way_.reset_duration_ns <= 0) return;
  reset_from_ps_ = INT64_MAX;
  reset_until_ps_ = now_ps + way_.reset_duration_ns * 1000;
  const auto lose = [this](Job& job) {
    drop(job, kReset);
    pool_.release(job.frame);
  };
  for (Job& job : delayed_) lose(job);
  for (Job& job : queue_) {
    occupied_bytes_ -= job.room_bytes;
    lose(job);
  }
  delayed_.clear();
  queue_.clear();
  if (is_holding_) lose(held_);
  is_holding_ = false;
}

// --- Output: to the tester ---

// When the output has something to do next.
void Direction::plan() {
  wake_ps_ = INT64_MAX;
  const auto lead_ps = static_cast<int64_t>((kPreambleBytes - 0.5) * byte_ps_);
  if (!delayed_.empty()) wake_ps_ = delayed_.front().due_ps - lead_ps;
  if (!queue_.empty()) wake_ps_ = INT64_MIN;
  if (is_holding_) wake_ps_ = std::min(wake_ps_, held_until_ps_);
  if (reset_from_ps_ != INT64_MAX) wake_ps_ = std::min(wake_ps_, reset_from_ps_);
}

// Frames whose latency is over enter the output's buffer, or are dropped at its tail.
void Direction::admit(int64_t now_ps) {
  if (now_ps >= reset_from_ps_) reset(reset_from_ps_);
  if (is_holding_ && now_ps >= held_until_ps_) {
    is_holding_ = false;
    if (held_.verdict == kReordered) held_.verdict = kForwarded;
    held_.due_ps = std::max(held_until_ps_, last_due_ps_);
    delayed_.push_back(held_);
  }
  if (serving_ && !sending_ && now_ps >= free_ps_) {
    serving_ = false;
    occupied_bytes_ -= job_.room_bytes;
    pool_.release(job_.frame);
  }
  const auto lead_ps = static_cast<int64_t>((kPreambleBytes - 0.5) * byte_ps_);
  while (!delayed_.empty() && delayed_.front().due_ps - lead_ps <= now_ps) {
    Job job = delayed_.front();
    delayed_.pop_front();
    // A frame that is cut through and still arriving needs no room: it leaves as it comes.
    job.room_bytes = job.frame->complete ? static_cast<int64_t>(job.frame->bytes.size()) : 0;
    if (occupied_bytes_ + job.room_bytes > way_.buffer_bytes) {
      drop(job, kDropped);
      pool_.release(job.frame);
    } else {
      occupied_bytes_ += job.room_bytes;
      queue_.push_back(job);
    }
  }
}

bool Direction::begin(int64_t now_ps) {
  if (queue_.empty() || serving_ || idle_bytes_ < kLeastGapBytes) return false;
  if (now_ps < free_ps_ - static_cast<int64_t>(byte_ps_ / 2)) return false;
  const auto sfd_ps = now_ps + static_cast<int64_t>((kPreambleBytes - 1) * byte_ps_);
  if (sfd_ps >= stall_next_ps_) {
    free_ps_ = std::max(stall_next_ps_, free_ps_) + way_.stall_duration_ns * 1000;
    const int64_t period_ps = way_.stall_period_ns * 1000;
    if (period_ps == 0) {
      stall_next_ps_ = INT64_MAX;
    } else {
      stall_next_ps_ += ((sfd_ps - stall_next_ps_) / period_ps + 1) * period_ps;
    }
    if (now_ps < free_ps_) return false;
  }
  job_ = queue_.front();
  queue_.pop_front();
  sending_ = serving_ = true;
  position_ = 0;
  free_ps_ = 0;
  if (way_.service_bits_per_second > 0) {
    const double bits = 8.0 * static_cast<double>(job_.frame->bytes.size() + 20);
    free_ps_ = now_ps + static_cast<int64_t>(bits * 1e12 / way_.service_bits_per_second);
  }
  return true;
}

Gmii Direction::give(int64_t now_ps) {
  if (!sending_) {
    admit(now_ps);
    if (!begin(now_ps)) {
      idle_bytes_++;
      if (!serving_) plan();
      return {};
    }
  }
  const size_t place = position_++;
  if (place < kPreambleBytes - 1) return {0x55, true, false};
  if (place == kPreambleBytes - 1) {
    Passage& row = (*log_)[job_.row];
    row.received_ps = now_ps;
    row.verdict = job_.verdict;
    return {0xD5, true, false};
  }
  Frame* frame = job_.frame;
  if (place - kPreambleBytes < frame->bytes.size()) return {frame->bytes[place - kPreambleBytes], true, false};
  // The end; a frame that is cut through and has no byte now would be cut in two: the error is passed on.
  if (!frame->complete) return {0, true, true};
  sending_ = false;
  idle_bytes_ = 1;
  admit(now_ps);
  plan();
  if (serving_) wake_ps_ = INT64_MIN;
  return {};
}

}  // namespace keisoku
