// JournalSnapshot: differences of damaged batches.
//
// The header of such a record says which group it belongs to, and nothing protects that number. It is right if it is
// the last full checkpoint before the record.
#include <algorithm>

#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/pruned_file.hpp"

namespace pawl {
namespace {

Sequence fork_point(FileSystem& files, std::string_view run, const RunRecords* records) {
  const bool in_journal = records != nullptr && records->run;
  const auto text =
      in_journal ? Result<std::string>(records->run->text) : files.read_file(layout::run_file(run), 1ULL << 20);
  const auto record = text ? decode_run(*text) : std::unexpected(text.error());
  return record ? record->fork_of_sequence : Sequence();
}

Result<bool> is_group_certain(FileSystem& files, const RunRecords* records, const JournalRecord& record) {
  const auto pruned = load_pruned(files, record.run, seal_seed(record.run_uuid));
  if (!pruned && !is_refusal(pruned.error().code)) return std::unexpected(pruned.error());
  if (!pruned) return false;
  if (pruned->is_closed(record.sequence) || pruned->is_aside(record.sequence)) return true;  // the record is not used
  PAWL_TRY_ASSIGN(const auto bases,
                  list_bases({files, record.run, records, *pruned, fork_point(files, record.run, records)}));
  const auto next = std::ranges::lower_bound(bases, record.sequence);
  return next != bases.begin() && std::prev(next)->value == record.number;
}

}  // namespace

Result<void> JournalSnapshot::place_differences(FileSystem& files, JournalView& journal, Records wanted) {
  for (LostBatches& lost : journal.lost) {
    for (const JournalRecord& record : std::exchange(lost.differences, {})) {
      PAWL_TRY_ASSIGN(const bool certain, is_group_certain(files, find(record.run), record));
      (certain ? lost.intact : lost.unreadable).push_back(record);
      if (!certain || (wanted == Records::unpublished && lost.in_files)) continue;
      PAWL_TRY(index(record, journal.number, lost.in_files));
    }
  }
  return {};
}

}  // namespace pawl
