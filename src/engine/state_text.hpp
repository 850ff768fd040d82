// The text of a run's state, kept up to date: a change costs as much as what changed, however many steps the run has.
//
// The text is the head (everything but the steps, without its last brace), then the records of the steps in the order
// in which they appeared.
#pragma once

#include <cstdint>
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
    std::string text = {};                 // "path":record; empty: it is new, or was removed
    std::optional<std::string> next = {};  // what replaces it
    bool removed = false;
    bool touched = false;  // by this update
  };
  void note(const Step& step);
  [[nodiscard]] bool removes_first() const;
  [[nodiscard]] std::vector<TextChange> changes_of_entries() const;
  void settle_entries();
  void compact_entries();
  void set_size(std::size_t index, std::uint64_t size);
  /// Returns where the text of an entry begins, after its comma.
  [[nodiscard]] std::uint64_t offset_of(std::size_t index) const;

  std::string head_;  // with the beginning of "steps"
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::vector<std::size_t> touched_;  // indices
  std::vector<std::uint64_t> sums_;   // a Fenwick tree of the sizes of entries, each with a comma
  std::vector<std::uint64_t> sizes_;  // the sizes that it contains
  std::size_t removed_ = 0;           // number of entries that were removed
  std::uint64_t size_ = 0;
};

}  // namespace pawl
