#include "adapters/filesystem/trail_end.hpp"

#include "adapters/filesystem/layout.hpp"
#include "audit/audit_line.hpp"

namespace pawl {

Result<TrailEnd> read_trail_end(FileSystem& files, std::string_view run, const NumberedLines::Records* journal) {
  NumberedLines lines = NumberedLines::of_trail(files, run, journal);
  TrailEnd end;
  while (true) {
    const std::uint64_t number = end.tree.size() + 1;
    const auto line = lines.next();
    if (!line && !is_refusal(line.error().code)) return std::unexpected(line.error());
    if (line && !*line) return end;
    const auto entry = line ? AuditLine::parse((*line)->text) : std::nullopt;
    end.damaged_entry = number;
    if (!entry || entry->index != number || !equals_hex(end.head, entry->previous)) return end;
    const Sha256 hash = sha256(bytes_of(end.head), entry->body);
    if (!equals_hex(hash, entry->hash)) return end;
    end.damaged_entry = 0;
    end.head = hash;
    end.tree.add(merkle_leaf(bytes_of(hash)));
  }
}

Result<void> refuse_damaged(const TrailEnd& end, std::string_view run, RunData data) {
  if (end.damaged_entry == 0) return {};
  return fail(
      Error{Code::audit_damaged,
            fmt::format("run '{}' can't be removed: entry {} of its audit trail is damaged", run, end.damaged_entry),
            layout::audit(run),
            data == RunData::is_erased
                ? "removing it would hide the damage; its data is already erased, and only the trail is left"
                : "removing it would hide the damage; erasing it destroys the data and keeps the trail",
            0});
}

void note_trail_end(const TrailEnd& end, ErasedRecord& record) {
  record.removed = true;
  record.entries = end.tree.size();
  record.head = to_hex(end.head);
  record.peaks.clear();
  for (const Sha256& peak : end.tree.peaks()) record.peaks += to_hex(peak);
}

}  // namespace pawl
