// The audit trail of a run as one file, although its older entries may be in archives.
//
//   audit/audit_trail_{first}-{last}_{end}.jsonl.gz   archived entries; `end` is the offset in the trail after the last
//   audit/audit_trail.jsonl                           the entries after them
//
// The entries before the first one in audit_trail.jsonl are in archives. An archive of later entries does not count
// yet: it was written, but the trail was not cut. Offsets are those of the whole trail, so archiving does not change
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audit/trail_archive.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct TrailArchive {
  std::string name;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t end = 0;  // offset in the trail
  [[nodiscard]] std::uint64_t count() const { return last - first + 1; }
};

/// Returns what the name of an archive says, or nothing for another file.
[[nodiscard]] std::optional<TrailArchive> parse_archive_name(std::string_view name);
[[nodiscard]] std::string archive_name(std::uint64_t first, std::uint64_t last, std::uint64_t end);

/// Returns the archives that contain exactly the entries 1 to `last`, in order, or nothing if some are missing.
[[nodiscard]] Result<std::vector<TrailArchive>> archives_up_to(FileSystem& files, std::string_view run,
                                                               std::uint64_t last);

/// Opens the trail of a run. Archived entries can only be read. A damaged archive fails with checksum_mismatch when it
/// is read. If an archive is missing, the file starts with a later entry. Fails with input_unreadable if
/// audit_trail.jsonl is missing.
[[nodiscard]] Result<std::unique_ptr<File>> open_trail(FileSystem& files, std::string_view run, OpenMode mode);

}  // namespace pawl
