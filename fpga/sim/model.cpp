#include "model.h"

#include <algorithm>
#include <cmath>

namespace keisoku {
namespace {

enum { kClk = 0, kTimeClk = 1, kRxClk0 = 2, kRxClk1 = 3 };

constexpr double kClkPs = 8000;
constexpr double kTimeClkPs = 320000.0 / 41;  // 128.125 MHz
constexpr int64_t kResetPs = 400'000;
constexpr int64_t kPulseShare = 10;  // a PPS is high for 100 ms of its second
constexpr double kTapPs = 25;

int64_t to_ps(double ns) { return static_cast<int64_t>(std::llround(ns * 1000)); }

}  // namespace

Model::Model(const Config& config)
    : config_(config),
      context_(std::make_unique<VerilatedContext>()),
      memory_(config.memory_latency, config.memory_every),
      phy_(config.ways[0].byte_ps > 10 * kClkPs ? 0 : config.ways[0].byte_ps > kClkPs ? 1 : 2),
      is_gigabit_(config.ways[0].byte_ps == kClkPs) {
  context_->randReset(0);
  top_ = std::make_unique<Vinstrument>(context_.get(), "instrument");
  clk_ = Clock(kClkPs, config.phase_ps[kClk]);
  time_clk_ = Clock(kTimeClkPs, config.phase_ps[kTimeClk]);
  log_.reserve(1 << 16);
  for (int from = 0; from < 2; from++) {
    const int to = 1 - from;
    const Way& way = config.ways[from];
    const int64_t in_ps = to_ps(config.phy_tx_ns[from] + config.cable_ns[from]);
    const int64_t out_ps = to_ps(config.cable_ns[to] + config.phy_rx_ns[to]);
    const uint64_t seed = Chance(config.seed * 2 + static_cast<uint64_t>(from)).next();
    if (way.mode == kCable) {
      const int64_t delay_ps = in_ps + out_ps + to_ps(way.constant_ns);
      const auto whole = static_cast<int64_t>(kClkPs);
      wires_[from] = std::make_unique<Wire>(static_cast<size_t>(delay_ps / whole));
      taps_[from] = std::make_unique<Direction>(way, from, delay_ps, 0, seed, &log_);
      rx_clk_[to] = Clock(kClkPs, config.phase_ps[kClk] + delay_ps % whole);
    } else {
      ways_[from] = std::make_unique<Direction>(way, from, in_ps, out_ps, seed, &log_);
      rx_clk_[to] = Clock(ways_[from]->byte_ps() / (is_gigabit_ ? 1 : 2), config.phase_ps[kRxClk0 + to]);
    }
  }
  for (size_t port = 0; port < 2; port++) {
    Chance seeds(config.seed ^ 0x9049 ^ port << 32);
    sent_[port] = std::make_unique<Pins>(config.pin_edge_ps, seeds.next());
    taken_[port] = std::make_unique<Pins>(config.pin_edge_ps, seeds.next());
  }
  top_->rst = 1;
  top_->time_rst = 1;
  top_->link_out_ready = 1;
}

Model::~Model() { top_->final(); }

void Model::eval() { top_->eval(); }

// What is handed over at the rising edge of clk, as both sides see it just before; inputs change after it only.
void Model::before_clk() {
  if (top_->link_in_valid && top_->link_in_ready) {
    to_instrument_.pop_front();
    link_free_ps_[0] = std::max(link_free_ps_[0], now_ps_) + config_.link_ps_per_byte;
  }
  if (top_->link_out_valid && top_->link_out_ready) {
    from_instrument_.push_back(top_->link_out);
    link_free_ps_[1] = now_ps_ + config_.link_ps_per_byte;
  }
  memory_.before_clk(*top_);
}

void Model::after_clk() {
  cycles_++;
  const uint32_t data = top_->gmii_txd;
  const uint32_t enable = top_->gmii_tx_en;
  const uint32_t error = top_->gmii_tx_er;
  const uint32_t half = top_->gmii_tx_half;
  const uint32_t strobe = top_->gmii_tx_strobe;
  for (size_t port = 0; port < 2; port++) {
    // A cable carries every clock: bytes that were left out during the reset would make it shorter for good.
    if (!(strobe >> port & 1) && !wires_[port]) continue;
    const Gmii byte{static_cast<uint8_t>(data >> (8 * port)), (enable >> port & 1) != 0, (error >> port & 1) != 0,
                    (half >> port & 1) != 0};
    const Gmii sent = is_gigabit_ ? sent_[port]->sampled(byte) : byte;
    if (wires_[port]) {
      wires_[port]->input(sent);
      taps_[port]->input(now_ps_, byte);  // the log has what the instrument sent, whatever the pins made of it
    } else {
      ways_[port]->input(now_ps_, sent);
    }
  }
  if (!to_instrument_.empty() && now_ps_ >= link_free_ps_[0]) {
    top_->link_in = to_instrument_.front();
    top_->link_in_valid = 1;
  } else {
    top_->link_in_valid = 0;
  }
  top_->link_out_ready = now_ps_ >= link_free_ps_[1];
  memory_.after_clk(*top_);
  phy_.after_clk(*top_);
  set_pins();
  if (now_ps_ > kResetPs) top_->rst = 0;
}

// The pins' delays, where the instrument has changed them.
void Model::set_pins() {
  const uint64_t set = static_cast<uint64_t>(top_->rx_taps) | static_cast<uint64_t>(top_->tx_taps) << 16 |
                       static_cast<uint64_t>(top_->tx_clock_taps) << 32;
  if (set == taps_set_) return;
  taps_set_ = set;
  const auto taps = [](uint32_t both, size_t port) { return static_cast<double>(both >> (7 * port) & 127); };
  for (size_t port = 0; port < 2; port++) {
    const double skew = taps(top_->tx_clock_taps, port) - taps(top_->tx_taps, port);
    sent_[port]->set(config_.transmit_pins_ps[port] + kTapPs * skew);
    taken_[port]->set(config_.receive_pins_ps[port] - kTapPs * taps(top_->rx_taps, port));
  }
}

// What a port's receive clock finds: a byte, or below 1 Gb/s a nibble in the lower half of one.
Gmii Model::received(size_t port) {
  if (wires_[1 - port]) return wires_[1 - port]->output();
  if (is_gigabit_) return ways_[1 - port]->output(now_ps_);
  Gmii& byte = byte_[port];
  second_half_[port] = !second_half_[port];
  if (second_half_[port]) {
    byte = ways_[1 - port]->output(now_ps_);
    return {static_cast<uint8_t>(byte.data & 0xF), byte.valid, byte.error};
  }
  return {static_cast<uint8_t>(byte.data >> 4), byte.valid, byte.error};
}

bool Model::run(int64_t until_ps, size_t waiting_bytes) {
  Vinstrument& top = *top_;
  while (true) {
    if (waiting_bytes != 0 && from_instrument_.size() >= waiting_bytes) return true;
    const int64_t next_ps = std::min(std::min(clk_.next_ps, time_clk_.next_ps),
                                     std::min(rx_clk_[0].next_ps, rx_clk_[1].next_ps));
    if (next_ps > until_ps) break;
    now_ps_ = next_ps;
    const bool clk = clk_.next_ps == next_ps;
    const bool time_clk = time_clk_.next_ps == next_ps;
    const bool rx_clk[2] = {rx_clk_[0].next_ps == next_ps, rx_clk_[1].next_ps == next_ps};
    // A clock falls whenever another one rises; only where none did meanwhile it needs an evaluation of its own.
    if ((clk && high_[kClk]) || (time_clk && high_[kTimeClk]) || (rx_clk[0] && high_[kRxClk0]) ||
        (rx_clk[1] && high_[kRxClk1])) {
      top.clk = top.time_clk = top.rx_clk = 0;
      eval();
    }
    uint32_t data = top.gmii_rxd, valid = top.gmii_rx_dv, error = top.gmii_rx_er;
    for (size_t port = 0; port < 2; port++) {
      if (!rx_clk[port]) continue;
      rx_clk_[port].advance();
      Gmii byte = received(port);
      if (is_gigabit_) byte = taken_[port]->sampled(byte);
      if (!link_up_[port]) byte = {};
      data = (data & ~(0xFFu << (8 * port))) | static_cast<uint32_t>(byte.data) << (8 * port);
      valid = (valid & ~(1u << port)) | static_cast<uint32_t>(byte.valid) << port;
      error = (error & ~(1u << port)) | static_cast<uint32_t>(byte.error) << port;
    }
    top.gmii_rxd = static_cast<uint16_t>(data);
    top.gmii_rx_dv = static_cast<uint8_t>(valid);
    top.gmii_rx_er = static_cast<uint8_t>(error);
    if (time_clk) {
      time_clk_.advance();
      if (next_ps > kResetPs) top.time_rst = 0;
      if (config_.has_reference) {
        const double reference_ps = static_cast<double>(next_ps) * (1 + config_.reference_ppm * 1e-6);
        const auto reference = static_cast<int64_t>(reference_ps);
        const auto pulse = static_cast<int64_t>(config_.pulse_ps);
        top.pps = reference % pulse < pulse / kPulseShare;
        top.ten_mhz = reference % 100'000 < 50'000;
      }
    }
    if (clk) {
      clk_.advance();
      before_clk();
    }
    high_ = {clk, time_clk, rx_clk[0], rx_clk[1]};
    top.clk = clk;
    top.time_clk = time_clk;
    top.rx_clk = static_cast<uint8_t>(rx_clk[0] | rx_clk[1] << 1);
    eval();
    if (clk) after_clk();
  }
  now_ps_ = std::max(now_ps_, until_ps);
  return false;
}

size_t Model::link_read(uint8_t* bytes, size_t room) {
  const size_t count = std::min(room, from_instrument_.size());
  std::copy_n(from_instrument_.begin(), count, bytes);
  from_instrument_.erase(from_instrument_.begin(), from_instrument_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void Model::reset_device() {
  for (auto& way : ways_)
    if (way) way->reset(now_ps_);
}

void Model::set_link_up(int port, bool is_up) {
  link_up_[static_cast<size_t>(port)] = is_up;
  phy_.set_link_up(port, is_up);
}

}  // namespace keisoku
