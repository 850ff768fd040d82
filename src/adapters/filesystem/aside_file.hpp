// A run's list of damaged checkpoints that a fallback has set aside: checkpoints/aside.json.
//
// The list is replaced as a whole: synced before it gets its name, and its name synced before the save that goes on
// behind the damage. So whoever sees that save knows why numbers before it are missing, and the audit trail has the
// list's hash. The damaged files stay where they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/record_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct AsideEntry {
  Timestamp at = {};
  Sequence from = {};     // the first that was set aside
  Sequence to = {};       // the highest number that was ever seen then
  Sequence back_to = {};  // the checkpoint that the run went on from
  std::string why = {};
};

[[nodiscard]] std::string encode_aside(const std::vector<AsideEntry>& entries, std::uint32_t seed);
/// Fails with store_damaged, or unsupported_version.
[[nodiscard]] Result<std::vector<AsideEntry>> decode_aside(std::string_view text, std::uint32_t seed);

/// Empty where nothing was ever set aside. Takes no lock.
[[nodiscard]] Result<std::vector<AsideEntry>> load_aside(FileSystem& files, std::string_view run, std::uint32_t seed);

/// Adds an entry and makes the list durable. Gives the list's "sha256:..." for the audit trail. The caller is the run's
/// writer.
Result<std::string> add_aside(FileSystem& files, std::string_view run, const AsideEntry& entry, std::uint32_t seed);

/// The hash that the audit trail has of a list.
[[nodiscard]] std::string aside_sum(std::string_view text);

}  // namespace pawl
