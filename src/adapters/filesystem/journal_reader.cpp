#include "adapters/filesystem/journal_reader.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "adapters/filesystem/layout.hpp"

namespace pawl {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

Error damage_at(Error error, std::string where) {
  error = at(std::move(error), std::move(where));
  return with_advice(std::move(error), Advice::check_store);
}

Result<std::unique_ptr<SegmentView>> read_segment(FileSystem& files, std::uint64_t journal, std::uint64_t slot) {
  PAWL_TRY_ASSIGN(const auto file, files.open(layout::segment(journal, slot), OpenMode::read));
  auto view = std::make_unique<SegmentView>();
  view->slot = slot;
  PAWL_TRY(read_batches(*file, *view));
  return view;
}

Result<void> read_segments(FileSystem& files, JournalView& view) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::journal(view.number)));
  for (const FolderEntry& entry : entries) {
    if (!entry.name.ends_with(".log")) continue;
    const auto slot = number_of(std::string_view(entry.name).substr(0, entry.name.size() - 4));
    if (!slot) continue;
    auto segment = read_segment(files, view.number, *slot);
    if (segment) {
      view.segments.push_back(std::move(*segment));
    } else if (segment.error().code == Code::input_unreadable) {
      continue;  // discarded in the meantime: everything in it is settled
    } else if (segment.error().code == Code::journal_corrupt || segment.error().code == Code::unsupported_version) {
      view.damage = damage_at(segment.error(), layout::segment(view.number, *slot));
    } else {
      return std::unexpected(segment.error());
    }
  }
  // A segment whose creation failed at the last step may have the same position as another one. It is empty then.
  std::ranges::sort(view.segments, {}, [](const auto& segment) {
    const std::vector<Batch>& batches = segment->scan.batches;
    return std::tuple(segment->header.position, batches.empty(),
                      batches.empty() ? segment->slot : batches.front().number);
  });
  return {};
}

/// Batch numbers increase by one through all segments. An invalid batch at the end of a segment was never acknowledged
/// if the next segment continues with its number. One at the very end was torn.
void judge_order(JournalView& view) {
  std::uint64_t expected = 0;
  for (const auto& segment : view.segments) {
    const std::string where = layout::segment(view.number, segment->slot);
    for (const Batch& batch : segment->scan.batches) {
      if (expected != 0 && batch.number != expected && !view.damage) {
        view.damage =
            damage_at(Error{Code::journal_corrupt,
                            fmt::format("batch {} is damaged or missing; batch {} follows", expected, batch.number),
                            {},
                            {},
                            0},
                      where);
      }
      expected = batch.number + 1;
      view.last_batch = std::max(view.last_batch, batch.number);
      view.torn = false;
    }
    if (segment->scan.valid_after_bad && !view.damage) {
      view.damage =
          damage_at(Error{Code::journal_corrupt,
                          fmt::format("the batch at byte {} is damaged but valid batches follow it", segment->scan.end),
                          {},
                          {},
                          0},
                    where);
    }
    if (segment->scan.bad_batch) view.torn = true;
  }
  if (view.damage) view.torn = false;
}

void judge_watermark(JournalView& view) {
  view.visible_batch = view.last_batch;
  if (!view.watermark) return;
  std::uint64_t settled = 0;
  for (const auto& segment : view.segments) settled = std::max(settled, segment->header.settled_through);
  if (view.watermark->segments_named == 0) settled = view.watermark->batch_number;  // its segments were discarded
  if (view.watermark->batch_number > std::max(view.last_batch, settled) && !view.damage) {
    view.damage = damage_at(
        Error{Code::journal_corrupt,
              fmt::format("batch {} is damaged although it was acknowledged", std::max(view.last_batch, settled) + 1),
              {},
              {},
              0},
        layout::journal(view.number));
    view.torn = false;
  }
  view.visible_batch = std::min(view.last_batch, view.watermark->batch_number);
}

}  // namespace

namespace {

Result<std::optional<PublishedRange>> read_published(FileSystem& files, std::uint64_t number,
                                                     std::string_view boot_id) {
  const auto owner = files.open(layout::journal_owner(number), OpenMode::read);
  if (!owner) return std::optional<PublishedRange>();
  PAWL_TRY_ASSIGN(const std::string bytes, (*owner)->read_at(kPublishedOffset, kWatermarkBytes));
  auto range = decode_published(bytes);
  if (range && range->boot_id != boot_id) range.reset();
  return range;
}

Result<JournalView> read_journal_once(FileSystem& files, std::uint64_t number, std::string_view boot_id) {
  JournalView view;
  view.number = number;
  // The watermark is read first: the segments read after it contain everything that it confirms.
  PAWL_TRY_ASSIGN(view.watermark, read_watermark(files, number, boot_id));
  PAWL_TRY_ASSIGN(view.published, read_published(files, number, boot_id));
  PAWL_TRY(read_segments(files, view));
  judge_order(view);
  judge_watermark(view);
  return view;
}

}  // namespace

Result<std::optional<Watermark>> read_watermark(FileSystem& files, std::uint64_t number, std::string_view boot_id) {
  const auto owner = files.open(layout::journal_owner(number), OpenMode::read);
  if (!owner) return std::optional<Watermark>();
  PAWL_TRY_ASSIGN(const std::string bytes, (*owner)->read_at(kWatermarkOffset, kWatermarkBytes));
  auto watermark = decode_watermark(bytes);
  if (watermark && watermark->boot_id != boot_id) watermark.reset();
  return watermark;
}

Result<void> read_batches(File& file, SegmentView& view) {
  // Most segments are mostly empty, so the part after the last batch is not read.
  constexpr std::uint64_t kFirstLookBytes = 32ULL << 10;
  PAWL_TRY_ASSIGN(const std::uint64_t size, file.size());
  view.bytes.clear();
  for (std::uint64_t look = kFirstLookBytes;; look *= 4) {
    PAWL_TRY_ASSIGN(const std::string piece, file.read_at(view.bytes.size(), std::min(look, size) - view.bytes.size()));
    view.bytes += piece;
    bool other_is_damaged = false;
    PAWL_TRY_ASSIGN(view.header, choose_segment_header(view.bytes, view.header_offset, other_is_damaged));
    view.scan = scan_segment(view.bytes, view.header.generation);
    // An interrupted recycling leaves a full segment under its old header. If this header has no batches, the damaged
    // one was the newer, and its batches can't be read.
    if (other_is_damaged && view.scan.batches.empty())
      return fail(Code::journal_corrupt, "a journal segment's header is damaged");
    const bool end_is_seen = !view.scan.bad_batch && view.scan.end + kBatchHeaderBytes <= view.bytes.size();
    if (end_is_seen || view.bytes.size() >= size || piece.empty()) return {};
  }
}

Result<JournalView> read_journal(FileSystem& files, std::uint64_t number, std::string_view boot_id) {
  // A segment that is recycled while it is read looks damaged. Real damage persists.
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    PAWL_TRY_ASSIGN(JournalView view, read_journal_once(files, number, boot_id));
    if (!view.watermark) {
      // A first writer may have started after the watermark was read. The segments may then contain batches that are
      // not acknowledged yet. Its watermark stays, so this happens only once.
      PAWL_TRY_ASSIGN(const auto watermark, read_watermark(files, number, boot_id));
      if (watermark) continue;
    }
    if (!view.damage || attempt >= kAttempts) return view;
  }
}

Result<bool> mentions_unconfirmed(const JournalView& journal, std::string_view run) {
  for (const auto& segment : journal.segments) {
    for (const Batch& batch : segment->scan.batches) {
      if (batch.number <= journal.visible_batch) continue;
      PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
      for (const JournalRecord& record : records) {
        if (record.run == run) return true;
      }
    }
  }
  return false;
}

Result<std::vector<std::uint64_t>> list_journals(FileSystem& files) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::kJournals));
  std::vector<std::uint64_t> numbers;
  for (const FolderEntry& entry : entries) {
    const auto number = number_of(entry.name);
    if (entry.is_folder && number) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::shared_ptr<JournalSnapshot>> JournalSnapshot::take(FileSystem& files, std::string_view boot_id,
                                                               Records wanted, std::uint64_t except) {
  auto snapshot = std::make_shared<JournalSnapshot>();
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files));
  for (const std::uint64_t number : numbers) {
    if (number == except) continue;
    PAWL_TRY_ASSIGN(JournalView view, read_journal(files, number, boot_id));
    snapshot->journals_.push_back(std::move(view));
  }
  for (const JournalView& journal : snapshot->journals_) {
    if (journal.damage && !snapshot->damage_) snapshot->damage_ = journal.damage;
    if (auto indexed = snapshot->index(journal, wanted); !indexed && !snapshot->damage_) {
      snapshot->damage_ = damage_at(indexed.error(), layout::journal(journal.number));
    }
  }
  return snapshot;
}

Result<void> JournalSnapshot::index(const JournalView& journal, Records wanted) {
  for (const auto& segment : journal.segments) {
    for (const Batch& batch : segment->scan.batches) {
      if (batch.number > journal.visible_batch) continue;
      if (wanted == Records::unpublished && journal.published && journal.published->has(batch.number)) continue;
      PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
      for (const JournalRecord& record : records) {
        auto found = runs_.find(record.run);
        if (found == runs_.end()) found = runs_.try_emplace(std::string(record.run)).first;
        RunRecords& run = found->second;
        switch (record.type) {
          case RecordType::run: run.run = record; break;
          case RecordType::checkpoint: run.checkpoints[record.sequence.value] = {record, journal.number}; break;
          case RecordType::event: run.events[record.number] = record; break;
          case RecordType::audit: run.audit[record.number] = record; break;
          default:
            return fail(Code::unsupported_version,
                        "a journal contains a record of type {}, which this version of pawl does not support",
                        static_cast<unsigned>(record.type));
        }
      }
    }
  }
  return {};
}

const RunRecords* JournalSnapshot::find(std::string_view run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

std::vector<std::uint64_t> JournalSnapshot::last_batches() const {
  std::vector<std::uint64_t> numbers;
  for (const JournalView& journal : journals_) numbers.push_back(journal.last_batch);
  return numbers;
}

Result<bool> JournalSnapshot::is_current(FileSystem& files, std::string_view boot_id) const {
  if (damage_) return false;
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files));
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

}  // namespace pawl
