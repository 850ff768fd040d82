// The text of a run's state, kept up to date: a change costs as much as what changed, however many steps the run has.
//
// The text is the head (everything but the steps, without its last brace), then the records of the steps in the order
// in which they appeared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl {

/// Replaces `removed` bytes at `offset` of the text before.
struct TextChange {
  std::uint64_t offset = 0;
  std::uint64_t removed = 0;
  std::string inserted = {};
};

class StateText {
 public:
  /// A step whose record changed; without a record it is no longer part of the state.
  struct Step {
    std::string path;
    std::optional<std::string> record;  // JSON
  };

  /// Replaces the whole text. `head` is a JSON object.
  void reset(const std::string& head, const std::vector<Step>& steps);
  /// Changes the text. Returns the changes by ascending offset, or nothing if the whole text must be saved.
  [[nodiscard]] std::optional<std::vector<TextChange>> update(const std::string& head, const std::vector<Step>& steps);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return head_.empty(); }

 private:
  struct Entry {
    std::string path;
    std::string text = {};                 // "path":record; empty: it is new
    std::optional<std::string> next = {};  // what replaces it
    bool removed = false;
  };
  void note(const Step& step);
  [[nodiscard]] std::vector<TextChange> changes_of_entries();
  void settle_entries();

  std::string head_;  // with the beginning of "steps"
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, Entry*> by_path_;
  std::uint64_t size_ = 0;
};

}  // namespace pawl
