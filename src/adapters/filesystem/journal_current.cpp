// JournalSnapshot: whether a new one would be the same.
#include "adapters/filesystem/journal_reader.hpp"

#include <algorithm>

#include "adapters/filesystem/layout.hpp"

namespace pawl {

Result<bool> JournalSnapshot::is_current(FileSystem& files, std::string_view boot_id, std::uint64_t except) const {
  if (damage_) return false;
  PAWL_TRY_ASSIGN(auto numbers, list_journals(files));
  std::erase(numbers, except);
  if (numbers.size() != journals_.size()) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (journals_[i].number != numbers[i] || !journals_[i].watermark) return false;
    PAWL_TRY_ASSIGN(const auto watermark, read_watermark(files, numbers[i], boot_id));
    if (watermark != journals_[i].watermark) return false;
  }
  return still_valid(files);
}

Result<bool> JournalSnapshot::still_valid(FileSystem& files) const {
  for (const JournalView& journal : journals_) {
    for (const auto& segment : journal.segments) {
      const auto file = files.open(layout::segment(journal.number, segment->slot), OpenMode::read);
      if (!file && file.error().code == Code::input_unreadable) return false;  // discarded
      if (!file) return std::unexpected(file.error());
      PAWL_TRY_ASSIGN(const std::string bytes, (*file)->read_at(0, kSegmentHeaderBytes));
      std::uint64_t offset = 0;
      bool other_is_damaged = false;
      const auto header = choose_segment_header(bytes, offset, other_is_damaged);
      if (!header || *header != segment->header) return false;
    }
  }
  return true;
}

namespace {

/// Batches are appended right behind the last one, or to another segment.
Result<bool> is_untouched(FileSystem& files, const JournalView& journal) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::journal(journal.number)));
  const auto segments = std::ranges::count_if(
      entries, [](const FolderEntry& entry) { return !entry.is_folder && entry.name.ends_with(".log"); });
  if (static_cast<std::size_t>(segments) != journal.segments.size() || !journal.wrecks.empty()) return false;
  for (const auto& segment : journal.segments) {
    const auto file = files.open(layout::segment(journal.number, segment->slot), OpenMode::read);
    if (!file && file.error().code == Code::input_unreadable) return false;
    if (!file) return std::unexpected(file.error());
    PAWL_TRY_ASSIGN(const std::string next, (*file)->read_at(segment->scan.end, kBatchHeaderBytes));
    if (std::string_view(segment->bytes).substr(segment->scan.end, kBatchHeaderBytes) != next) return false;
  }
  return true;
}

}  // namespace

Result<bool> JournalSnapshot::is_untouched(FileSystem& files, std::string_view boot_id, std::uint64_t except) const {
  if (std::ranges::any_of(journals_, &JournalView::has_unconfirmed) || copied()) return false;
  PAWL_TRY_ASSIGN(const bool current, is_current(files, boot_id, except));
  if (!current) return false;
  for (const JournalView& journal : journals_) {
    PAWL_TRY_ASSIGN(const bool untouched, pawl::is_untouched(files, journal));
    if (!untouched) return false;
  }
  return true;
}

}  // namespace pawl
