// The PHYs of both ports as their registers show them (IEEE 802.3 clause 22, addresses 0 and 1), and what they say
// between frames. They carry no frame: their latencies are those of the cables.
#pragma once

#include <array>
#include <cstdint>

#include "Vinstrument.h"

namespace keisoku {

class Phy {
 public:
  // `speed` as in RGMII 2.0: 0: 10, 1: 100, 2: 1000 Mb/s.
  explicit Phy(uint8_t speed) : speed_(speed) {
    for (auto& registers : registers_) {
      registers[0] = 0x1140;   // BMCR: auto-negotiation, 1000 Mb/s, full duplex
      registers[1] = 0x796D;   // BMSR: negotiated, link up
      registers[2] = 0x001C;   // the identifier of an RTL8211F
      registers[3] = 0xC916;
      registers[4] = 0x01E1;   // offered, and what the partner offers
      registers[5] = 0xC1E1;
      registers[9] = speed == 2 ? 0x0200 : 0;   // 1000BASE-T, full duplex
      registers[10] = speed == 2 ? 0x3800 : 0;  // likewise the partner
      registers[15] = 0x2000;
    }
  }

  void set_link_up(int port, bool is_up) { is_up_[static_cast<size_t>(port)] = is_up; }

  void after_clk(Vinstrument& top) {
    top.link_up = static_cast<uint8_t>(is_up_[0] | is_up_[1] << 1);
    top.link_speed = static_cast<uint8_t>(speed_ | speed_ << 2);
    top.full_duplex = 0b11;
    if (top.mdc && !mdc_) rising(top.mdio_drive ? top.mdio_out != 0 : true);
    mdc_ = top.mdc;
    top.mdio_in = answer_;
  }

 private:
  // A bit is taken at the rising edge of MDC; an answer's next bit is put on the line after it.
  void rising(bool bit) {
    answer_ = true;
    if (place_ < 0) {  // between requests: 32 ones or more, then a zero
      if (!bit && ones_ >= 32) place_ = 1;
      ones_ = bit ? ones_ + 1 : 0;
      word_ = 0;
      return;
    }
    word_ = word_ << 1 | (bit ? 1u : 0u);
    place_++;
    if (place_ == 14) {  // start, operation, PHY and register are here
      reads_ = (word_ >> 10 & 3) == 2;
      phy_ = word_ >> 5 & 31;
      register_ = word_ & 31;
      is_ours_ = phy_ < registers_.size();
      if (is_ours_ && reads_) reading_ = read();
    }
    if (place_ >= 15 && place_ < 32 && is_ours_ && reads_) {
      answer_ = place_ == 15 ? false : (reading_ >> (31 - place_) & 1) != 0;
    }
    if (place_ == 32) {
      if (is_ours_ && !reads_ && (register_ == 0 || register_ == 4 || register_ == 9 || register_ > 15))
        registers_[phy_][register_] = static_cast<uint16_t>(word_);
      place_ = -1;
      ones_ = 0;
    }
  }

  uint16_t read() const {
    uint16_t value = registers_[phy_][register_];
    if (!is_up_[phy_]) {
      if (register_ == 1) value &= static_cast<uint16_t>(~0x0024);
      if (register_ == 5 || register_ == 10) value = 0;
    }
    return value;
  }

  std::array<std::array<uint16_t, 32>, 2> registers_{};
  std::array<bool, 2> is_up_{true, true};
  bool mdc_ = false, answer_ = true, reads_ = false, is_ours_ = false;
  int ones_ = 0, place_ = -1;
  uint32_t word_ = 0, phy_ = 0, register_ = 0;
  uint16_t reading_ = 0;
  const uint8_t speed_;
};

}  // namespace keisoku
