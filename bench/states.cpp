#include "bench/states.hpp"

#include <fmt/format.h>

namespace pawl::bench {

// splitmix64
std::uint64_t Dice::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::string Dice::words(std::size_t bytes) {
  static constexpr std::string_view kLetters = "etaoin shrdlu cmfwyp vbgkqjxz .,";
  std::string text;
  text.reserve(bytes + 12);
  while (text.size() < bytes) {
    std::uint64_t bits = next();
    for (int i = 0; i < 12; ++i, bits >>= 5U) text += kLetters[bits & 31U];
  }
  text.resize(bytes);
  return text;
}

std::string new_state(Dice& dice, std::size_t bytes) {
  std::string text = fmt::format(R"({{"step":{},"cost":{:.4f},"plan":[)", dice.next() % 1'000'000,
                                 static_cast<double>(dice.next() % 100'000) / 7);
  while (text.size() + 220 < bytes) {
    text +=
        fmt::format(R"({{"id":"{:016x}","tokens":{},"note":"{}"}},)", dice.next(), dice.next() % 9000, dice.words(150));
  }
  const std::size_t left = bytes - text.size() - 12;
  text += fmt::format(R"({{"end":"{}"}}]}})", dice.words(left));
  return text;
}

std::vector<std::string> state_pool(std::uint64_t seed, std::size_t count, std::size_t bytes) {
  Dice dice(seed);
  std::vector<std::string> pool;
  for (std::size_t i = 0; i < count; ++i) pool.push_back(new_state(dice, bytes));
  return pool;
}

PartedState::PartedState(std::uint64_t seed, std::size_t count, std::size_t part_bytes)
    : dice_(seed), part_bytes_(part_bytes), text_("{\"parts\":[") {
  for (std::size_t i = 0; i < count; ++i) {
    text_ += fmt::format("{}{{\"part\":{},\"text\":\"", i == 0 ? "" : ",", i);
    offsets_.push_back(text_.size());
    text_ += dice_.words(part_bytes);
    text_ += "\"}";
  }
  text_ += "]}";
}

void PartedState::change() {
  const std::size_t at = offsets_[dice_.next() % offsets_.size()];
  text_.replace(at, part_bytes_, dice_.words(part_bytes_));
}

void Conversation::grow(std::size_t bytes) {
  const std::string message = fmt::format(R"({}{{"role":"{}","id":"msg_{:012x}","content":"{}"}})",
                                          messages_ == 0 ? "" : ",", messages_ % 2 == 0 ? "user" : "assistant",
                                          dice_.next() & 0xFFFFFFFFFFFFU, dice_.words(bytes > 70 ? bytes - 62 : bytes));
  text_.insert(text_.size() - kEnd.size(), message);
  ++messages_;
}

}  // namespace pawl::bench
