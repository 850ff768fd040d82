// The difference between two texts as splices, for storage: small for small changes, wherever they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// At `offset` of the old text, `removed` bytes make way for `inserted`.
struct Splice {
  std::uint64_t offset = 0;
  std::uint64_t removed = 0;
  std::string_view inserted;
  bool operator==(const Splice&) const = default;
};

/// Splices that make `after` of `before`: by ascending offset, not overlapping, none for equal texts. Where
/// both texts are valid UTF-8, so is every `inserted`, which is a span of `after`.
/// Linear: what the texts share at both ends is found by comparing words; in between, blocks of `before`
/// are found again in the first 4 MB, until a stretch of 256 KB has nothing in common. Not necessarily the shortest
/// difference.
[[nodiscard]] std::vector<Splice> diff_text(std::string_view before, std::string_view after);

/// The one splice that makes `after` of `before`, where it removes nothing.
[[nodiscard]] std::optional<Splice> single_insertion(std::string_view before, std::string_view after);

/// Nothing where a splice lies outside of `before` or before the end of the one before it. Splices may
/// come from damaged or hostile files.
[[nodiscard]] std::optional<std::string> apply_splices(std::string_view before, const std::vector<Splice>& splices);

}  // namespace pawl
