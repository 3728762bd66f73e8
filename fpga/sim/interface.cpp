// The C interface of the model: what keisoku/ground/fpga/sim.py calls. No exception may leave it.
#include <cstring>

#include "model.h"

using keisoku::Config;
using keisoku::Model;
using keisoku::Passage;

extern "C" {

// So that both sides agree on the structures.
uint32_t keisoku_config_bytes() { return sizeof(Config); }
uint32_t keisoku_passage_bytes() { return sizeof(Passage); }

Model* keisoku_open(const Config* config) {
  try {
    return new Model(*config);
  } catch (...) {
    return nullptr;
  }
}

void keisoku_close(Model* model) { delete model; }

int32_t keisoku_run(Model* model, int64_t until_ps, uint64_t waiting_bytes) {
  return model->run(until_ps, waiting_bytes);
}

int64_t keisoku_now_ps(const Model* model) { return model->now_ps(); }
uint64_t keisoku_cycles(const Model* model) { return model->cycles(); }
void keisoku_write(Model* model, const uint8_t* bytes, uint64_t count) { model->link_write(bytes, count); }
uint64_t keisoku_read(Model* model, uint8_t* bytes, uint64_t room) { return model->link_read(bytes, room); }
uint64_t keisoku_waiting(const Model* model) { return model->link_waiting(); }
uint64_t keisoku_unsent(const Model* model) { return model->link_unsent(); }
void keisoku_reset_device(Model* model) { model->reset_device(); }
void keisoku_rewrite_nothing(Model* model, int32_t port) { model->rewritings(port).clear(); }

// `count` below 0: no frame is excluded by its number. Numbers are in order.
void keisoku_rewrite(Model* model, int32_t port, uint16_t stream, uint64_t header_bytes, const uint8_t* header,
                     uint64_t length, int64_t first, int64_t every, const int64_t* numbers, int64_t count) {
  keisoku::Rewriting rewriting{stream, header_bytes, {header, header + length}, first, every, count >= 0, {}};
  if (count > 0) rewriting.numbers.assign(numbers, numbers + count);
  model->rewritings(port).push_back(rewriting);
}

void keisoku_set_link_up(Model* model, int32_t port, int32_t is_up) { model->set_link_up(port, is_up != 0); }

uint64_t keisoku_passages(const Model* model) { return model->log().size(); }

void keisoku_log(const Model* model, Passage* passages, uint64_t from, uint64_t count) {
  std::memcpy(static_cast<void*>(passages), model->log().data() + from, count * sizeof(Passage));
}
}
