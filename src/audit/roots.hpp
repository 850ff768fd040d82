// merkle_roots.json: the Merkle roots of a run's audit trail at the times when its entries were settled
// (docs/formats/audit.md).
//
// Invariants: sizes increase; each line is sealed with the run's UUID; the file grows at its end, overwriting its last
// three bytes.
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

/// Returns one line without comma and newline.
[[nodiscard]] std::string encode_root(const SettledRoot& root, std::uint32_t seed);
/// Returns nothing unless the text is exactly what encode_root writes.
[[nodiscard]] std::optional<SettledRoot> decode_root(std::string_view line, std::uint32_t seed);

struct RootsText {
  std::vector<SettledRoot> roots = {};   // up to the first invalid one
  std::vector<std::uint64_t> ends = {};  // the offset after each of them
  std::uint64_t end = 0;                 // the last offset; 0: none
  std::string fault = {};                // what is wrong after it; empty: nothing
};
[[nodiscard]] RootsText parse_roots(std::string_view text, std::uint32_t seed);

/// The text after the last root.
constexpr std::string_view kRootsEnd = "\n]\n";
/// Returns what to write at offset `end` to add a root.
[[nodiscard]] std::string next_root_text(const SettledRoot& root, std::uint64_t end, std::uint32_t seed);

/// Adds an entry (a line with its newline) to the tree. Returns false if it is not the next entry of the trail.
[[nodiscard]] bool add_entry(SettledRoot& root, std::string_view line);

}  // namespace pawl
