#include "adapters/filesystem/trail_end.hpp"

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/trail_file.hpp"
#include "audit/audit_line.hpp"
#include "audit/merkle.hpp"

namespace pawl {
Result<void> note_trail_end(FileSystem& files, ErasedRecord& record) {
  const std::string path = layout::audit(record.run);
  const auto trail = open_trail(files, record.run, OpenMode::read);
  if (!trail && trail.error().code != Code::input_unreadable) return std::unexpected(trail.error());
  Sha256 head{};
  MerkleFrontier tree;
  std::uint64_t number = 0;
  bool whole = true;
  const auto look = [&](std::string_view line, bool complete, std::uint64_t) {
    const auto entry = AuditLine::parse(line);
    ++number;
    whole = complete && entry && entry->index == number && equals_hex(head, entry->previous);
    if (!whole) return false;
    head = sha256(bytes_of(head), entry->body);
    whole = equals_hex(head, entry->hash);
    tree.add(merkle_leaf(bytes_of(head)));
    return whole;
  };
  const auto read = trail ? for_each_line_of(**trail, look) : Result<void>();
  if (!read && !is_refusal(read.error().code)) return read;
  if (!read || !whole) {
    return fail(
        Error{Code::audit_damaged,
              fmt::format("run '{}' can't be removed: entry {} of its audit trail is damaged", record.run, number),
              path, "removing it would hide the damage; erasing it destroys the data and keeps the trail", 0});
  }
  record.removed = true;
  record.entries = tree.size();
  record.head = to_hex(head);
  record.peaks.clear();
  for (const Sha256& peak : tree.peaks()) record.peaks += to_hex(peak);
  return {};
}

}  // namespace pawl
