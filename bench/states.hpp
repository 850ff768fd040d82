// States like those of agents: valid JSON, generated from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::bench {

/// A small random generator, the same on every run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::string words(std::size_t bytes);  // letters and spaces

 private:
  std::uint64_t state_;
};

/// Returns about `bytes` of JSON in which every value is new.
[[nodiscard]] std::string new_state(Dice& dice, std::size_t bytes);
/// Returns `count` states, to be used in turn.
[[nodiscard]] std::vector<std::string> state_pool(std::uint64_t seed, std::size_t count, std::size_t bytes);

/// A state of `count` parts of `part_bytes` each; `change` replaces one of them in place.
class PartedState {
 public:
  PartedState(std::uint64_t seed, std::size_t count, std::size_t part_bytes);
  void change();
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Dice dice_;
  std::size_t part_bytes_;
  std::vector<std::size_t> offsets_;
  std::string text_;
};

/// A conversation to which `grow` adds a message of about `bytes`.
class Conversation {
 public:
  explicit Conversation(std::uint64_t seed) : dice_(seed) {}
  void grow(std::size_t bytes);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static constexpr std::string_view kEnd = "]}";
  Dice dice_;
  std::size_t messages_ = 0;
  std::string text_ = R"({"model":"large","messages":[]})";
};

}  // namespace pawl::bench
