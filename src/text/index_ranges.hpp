// A set of indices, stored as ranges such as `0-40,42`. Records the progress of a map over many items.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

class IndexRanges {
 public:
  [[nodiscard]] static std::optional<IndexRanges> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  void add(std::uint64_t index) { add(index, index); }
  /// Adds `first` to `last`. The cost does not depend on how many indices these are.
  void add(std::uint64_t first, std::uint64_t last);
  void remove(std::uint64_t index);
  [[nodiscard]] bool contains(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Returns the first index not below `from` that is not in the set.
  [[nodiscard]] std::uint64_t next_missing(std::uint64_t from) const;
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }  // first -> last
  bool operator==(const IndexRanges&) const = default;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
  std::uint64_t count_ = 0;
};

}  // namespace pawl
