// Runs programs of IPv4/UDP frames on the Verilated generator, back to back at 1 Gb/s, and holds each frame against the
// RFCs: length, gap, FCS, lengths and checksums of both headers, signature, balance. Knows nothing of how frames are made.
//
// Standard input has a batch a line: count of writes, of frames; then address and word of each write; then length before
// the FCS and gap of each frame. Prints how many frames and byte times there were; a first fault ends it with 1.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "Vgenerator.h"
#include "verilated.h"

namespace {

constexpr uint16_t kStream = 0xA55A;
Vgenerator *dut;
uint64_t byte_times, time_ps, next_time_clk_ps, frames;

struct Wanted {
  unsigned length, gap;
};

[[noreturn]] void fail(const char *what, uint64_t found, uint64_t wanted) {
  std::printf("frame %llu: %s is %llu, not %llu\n", (unsigned long long)frames, what, (unsigned long long)found,
              (unsigned long long)wanted);
  std::exit(1);
}

void equal(const char *what, uint64_t found, uint64_t wanted) {
  if (found != wanted) fail(what, found, wanted);
}

uint32_t crc_table[256];

void make_crc_table() {
  for (uint32_t octet = 0; octet < 256; octet++) {
    uint32_t crc = octet;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    crc_table[octet] = crc;
  }
}

uint16_t ones_sum(const uint8_t *bytes, size_t count, uint32_t sum = 0) {
  for (size_t at = 0; at < count; at++) sum += at % 2 ? bytes[at] : bytes[at] << 8;
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

uint64_t number_at(const uint8_t *bytes, int count) {
  uint64_t found = 0;
  for (int at = 0; at < count; at++) found = found << 8 | bytes[at];
  return found;
}

// A clock of clk, and those of the time base that fall into it.
void tick() {
  dut->clk = 0;
  dut->eval();
  while (next_time_clk_ps <= time_ps) {
    dut->time_clk = 1;
    dut->eval();
    dut->time_clk = 0;
    dut->now_ns = dut->now_ns + 8;
    next_time_clk_ps += 7805;
  }
  dut->clk = 1;
  dut->eval();
  time_ps += 8000;
}

void check(const std::vector<uint8_t> &wire, Wanted wanted, uint64_t number, bool first, uint64_t gap) {
  equal("length", wire.size(), 8 + wanted.length + 4);
  for (int at = 0; at < 7; at++) equal("preamble", wire[at], 0x55);
  equal("SFD", wire[7], 0xD5);
  const uint8_t *frame = wire.data() + 8;
  uint32_t crc = 0xFFFFFFFFu;
  for (unsigned at = 0; at < wanted.length + 4; at++) crc = crc >> 8 ^ crc_table[(crc ^ frame[at]) & 0xFF];
  equal("FCS's residue", crc, 0xDEBB20E3u);
  const uint8_t *ip = frame + 14, *udp = frame + 34, *signature = frame + wanted.length - 18;
  equal("EtherType", number_at(frame + 12, 2), 0x0800);
  equal("total length", number_at(ip + 2, 2), wanted.length - 14);
  equal("sum of the IPv4 header", ones_sum(ip, 20), 0xFFFF);
  equal("UDP length", number_at(udp + 4, 2), wanted.length - 34);
  equal("sum of UDP", ones_sum(udp, wanted.length - 34, ones_sum(ip + 12, 8) + 17 + wanted.length - 34), 0xFFFF);
  equal("sum of the checked region", ones_sum(frame + 42, wanted.length - 42), 0xFFFF);
  equal("magic", number_at(signature, 2), 0x6B73);
  equal("stream", number_at(signature + 2, 2), kStream);
  equal("sequence", number_at(signature + 4, 6), number);
  equal("sum of the signature", ones_sum(signature, 18), 0xFFFF);
  if (!first) equal("gap", gap, wanted.gap);
}

void run(const std::vector<Wanted> &wanted) {
  dut->last_entry = wanted.size() - 1;
  dut->frame_limit = wanted.size();
  dut->start = 1;
  tick();
  dut->start = 0;
  std::vector<uint8_t> wire;
  uint64_t gap = 0;
  size_t number = 0;
  for (uint64_t idle = 0; idle < 1000; idle++) {
    tick();
    byte_times++;
    if (dut->gmii_tx_en) {
      idle = 0;
      wire.push_back(dut->gmii_txd);
    } else {
      if (!wire.empty()) {
        if (number == wanted.size()) fail("count of frames", number + 1, number);
        check(wire, wanted[number], number, number == 0, number ? gap : 0);
        wire.clear();
        number++;
        frames++;
        gap = 0;
      }
      gap++;
    }
  }
  equal("count of frames", number, wanted.size());
  equal("lag", dut->lag_bytes, 0);
  equal("register of frames", dut->frames, number);
}

}  // namespace

int main() {
  make_crc_table();
  dut = new Vgenerator;
  dut->rst = dut->time_rst = dut->ce = 1;
  dut->stream = kStream;
  for (int clocks = 0; clocks < 10; clocks++) tick();
  dut->rst = dut->time_rst = 0;
  size_t writes, count;
  while (std::cin >> writes >> count) {
    for (size_t at = 0; at < writes; at++) {
      uint32_t address, word;
      std::cin >> address >> word;
      dut->write = 1;
      dut->write_address = address / 4;
      dut->write_word = word;
      tick();
    }
    dut->write = 0;
    std::vector<Wanted> wanted(count);
    unsigned before = 0;
    for (Wanted &one : wanted) {
      unsigned after;
      std::cin >> one.length >> after;
      one.gap = before;  // the one in front of it
      before = after;
    }
    run(wanted);
  }
  std::printf("%llu frames %llu byte times\n", (unsigned long long)frames, (unsigned long long)byte_times);
  return 0;
}
