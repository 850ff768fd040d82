// merkle_roots.json: the roots of a run's audit trail at the moments when its lines were settled
// (docs/formats/audit.md).
//
// Invariants: sizes go up; each line is sealed with the run's UUID; the file grows at its end, over its last three
// bytes.
#pragma once

#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "audit/merkle.hpp"
#include "base/result.hpp"

namespace pawl {

struct SettledRoot {
  Timestamp at = {};         // of the last entry
  std::uint64_t bytes = 0;   // of audit_trail.jsonl up to here
  std::string head = {};     // hash of the last entry, hexadecimal
  MerkleFrontier tree = {};  // its size is the number of entries
  bool operator==(const SettledRoot&) const = default;
};

/// One line, without comma and newline.
[[nodiscard]] std::string encode_root(const SettledRoot& root, std::uint32_t seed);
/// Nothing where it is not exactly what encode_root writes.
[[nodiscard]] std::optional<SettledRoot> decode_root(std::string_view line, std::uint32_t seed);

struct RootsText {
  std::vector<SettledRoot> roots = {};   // up to the first that does not fit
  std::vector<std::uint64_t> ends = {};  // offset behind each of them
  std::uint64_t end = 0;                 // the last of these; 0: none
  std::string fault = {};                // what is wrong behind it; empty: nothing
};
[[nodiscard]] RootsText parse_roots(std::string_view text, std::uint32_t seed);

/// What stands behind the last root.
constexpr std::string_view kRootsEnd = "\n]\n";
/// What to write at `end` of a file, so that it has one more root.
[[nodiscard]] std::string next_root_text(const SettledRoot& root, std::uint64_t end, std::uint32_t seed);

/// Adds an entry, a line with its newline, to the tree. False: it is not the next entry of the trail.
[[nodiscard]] bool add_entry(SettledRoot& root, std::string_view line);

}  // namespace pawl
