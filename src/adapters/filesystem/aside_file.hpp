// A run's list of damaged checkpoints that a fallback has set aside: checkpoints/aside.json.
//
// The list is replaced as a whole. The file is synced before it gets its name, and the name is synced before the first
// save after the damage. Anyone who sees that save therefore knows why earlier numbers are missing, and the audit trail
// contains the hash of the list. The damaged files are not moved.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/record_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct AsideEntry {
  Timestamp at = {};
  Sequence from = {};     // first checkpoint that was set aside
  Sequence to = {};       // highest number known at that time
  Sequence back_to = {};  // checkpoint that the run continued from
  std::string why = {};
};

[[nodiscard]] std::string encode_aside(const std::vector<AsideEntry>& entries, std::uint32_t seed);
/// Fails with store_damaged or unsupported_version.
[[nodiscard]] Result<std::vector<AsideEntry>> decode_aside(std::string_view text, std::uint32_t seed);

/// Returns an empty list if nothing was ever set aside. Takes no lock.
[[nodiscard]] Result<std::vector<AsideEntry>> load_aside(FileSystem& files, std::string_view run, std::uint32_t seed);

/// Adds an entry and makes the list durable. Returns the hash ("sha256:...") of the list for the audit trail. The
/// caller must be the writer of the run.
Result<std::string> add_aside(FileSystem& files, std::string_view run, const AsideEntry& entry, std::uint32_t seed);

/// Returns the hash of a list as recorded in the audit trail.
[[nodiscard]] std::string aside_sum(std::string_view text);

}  // namespace pawl
