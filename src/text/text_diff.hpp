// The difference between two texts as splices. Used for storage: small changes have small differences, wherever they
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Replaces `removed` bytes at `offset` of the old text by `inserted`.
struct Splice {
  std::uint64_t offset = 0;
  std::uint64_t removed = 0;
  std::string_view inserted;
  bool operator==(const Splice&) const = default;
};

/// Returns the splices that turn `before` into `after`: by ascending offset, not overlapping, none for equal texts. If
/// both texts are valid UTF-8, so is each `inserted`, which is a span of `after`. Linear time. Common beginnings and
/// ends are found by comparing words. In between, blocks of `before` are searched in the first 4 MB, until 256 KB in a
/// row have nothing in common. The difference is not always the shortest one.
[[nodiscard]] std::vector<Splice> diff_text(std::string_view before, std::string_view after);

/// Returns the single splice that turns `before` into `after`, if it removes nothing.
[[nodiscard]] std::optional<Splice> single_insertion(std::string_view before, std::string_view after);

/// Returns nothing if a splice is outside `before` or overlaps the previous one. Splices may come from damaged or
/// hostile files.
[[nodiscard]] std::optional<std::string> apply_splices(std::string_view before, const std::vector<Splice>& splices);

}  // namespace pawl
