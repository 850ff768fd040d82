#include "adapters/filesystem/journal_reader.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <tuple>

#include "adapters/filesystem/layout.hpp"
#include "base/bytes.hpp"
#include "codec/record_text.hpp"

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

Result<std::unique_ptr<SegmentView>> read_segment(FileSystem& files, const JournalView& journal, std::uint64_t slot) {
  PAWL_TRY_ASSIGN(const auto file, files.open(layout::segment(journal.number, slot), OpenMode::read));
  auto view = std::make_unique<SegmentView>();
  view->slot = slot;
  view->copied = journal.copied;
  PAWL_TRY(read_batches(*file, *view));
  return view;
}

/// Reads a segment without a valid header. Its first batch tells the generation. If the header was written for a new
/// use, the batches are those of the use before, which are in the files, too.
Result<std::unique_ptr<SegmentView>> read_wreck(FileSystem& files, std::uint64_t journal, std::uint64_t slot) {
  auto view = std::make_unique<SegmentView>();
  view->slot = slot;
  PAWL_TRY_ASSIGN(view->bytes, files.read_file(layout::segment(journal, slot)));
  const auto generation = generation_of_first_batch(view->bytes);
  if (!generation) return view;
  view->header.generation = *generation;
  SegmentScan scan = scan_segment(view->bytes, *generation);
  // Nothing is appended to it, so its batches are not where a writer looks for them.
  scan.after.insert(scan.after.begin(), scan.batches.begin(), scan.batches.end());
  scan.batches.clear();
  view->scan = std::move(scan);
  return view;
}

bool is_unused(const SegmentView& wreck) {
  return std::string_view(wreck.bytes)
             .substr(std::min<std::size_t>(wreck.bytes.size(), kSegmentHeaderBytes))
             .find_first_not_of('\0') == std::string_view::npos;
}

/// Adds batches of which nothing is known but the segment.
void add_unknown(JournalView& view, const SegmentView& wreck, const Error& error) {
  LostBatches& lost = view.lost.emplace_back();
  lost.file = layout::segment(view.number, wreck.slot);
  lost.slot = wreck.slot;
  lost.place = {kSegmentHeaderBytes, wreck.bytes.size()};
  lost.any_run = true;
  lost.saves_max = wreck.bytes.size() / kBatchHeaderBytes;
  lost.error = error;
}

Error of_other_store(const SegmentHeader& header) {
  return Error{Code::journal_of_other_store,
               fmt::format("this journal segment belongs to store {}, so it is not read", header.store.text()),
               {},
               "move the file to the store that it belongs to, or restore this one from a backup",
               0};
}

Result<void> read_segments(FileSystem& files, std::string_view store_text, JournalView& view) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::journal(view.number)));
  for (const FolderEntry& entry : entries) {
    if (entry.is_folder || !entry.name.ends_with(".log")) continue;
    const auto slot = number_of(std::string_view(entry.name).substr(0, entry.name.size() - 4));
    if (!slot || join_path(layout::journal(view.number), entry.name) != layout::segment(view.number, *slot)) continue;
    auto segment = read_segment(files, view, *slot);
    // A link or a pipe with this name. If it replaced a segment, batches are missing.
    if (!segment && segment.error().code == Code::store_damaged) continue;
    if (segment && !store_text.empty() && !store_text.contains((*segment)->header.store.text()))
      segment = fail(of_other_store((*segment)->header));
    if (segment) {
      view.segments.push_back(std::move(*segment));
      continue;
    }
    if (segment.error().code == Code::input_unreadable) continue;  // discarded in the meantime: all of it is settled
    const Code code = segment.error().code;
    if (code != Code::journal_corrupt && code != Code::unsupported_version && code != Code::journal_of_other_store)
      return std::unexpected(segment.error());
    const Error error = damage_at(segment.error(), layout::segment(view.number, *slot));
    if (!view.damage) view.damage = error;
    auto wreck = std::make_unique<SegmentView>();
    wreck->slot = *slot;
    if (code == Code::journal_corrupt) {
      PAWL_TRY_ASSIGN(wreck, read_wreck(files, view.number, *slot));
    }
    if (wreck->scan.after.empty() && (code != Code::journal_corrupt || !is_unused(*wreck)))
      add_unknown(view, *wreck, error);
    view.wrecks.push_back(std::move(wreck));
  }
  // A segment whose creation failed at the last step may have the same position as another one. It is empty then.
  std::ranges::sort(view.segments, {}, [](const auto& segment) {
    const std::vector<Batch>& batches = segment->scan.batches;
    return std::tuple(segment->header.position, batches.empty(),
                      batches.empty() ? segment->slot : batches.front().number);
  });
  return {};
}

/// A batch, and the segment that it is in.
struct PlacedBatch {
  const SegmentView* segment = nullptr;
  const Batch* batch = nullptr;
};
using PlacedBatches = std::map<std::uint64_t, PlacedBatch>;  // by number

PlacedBatches all_batches(const JournalView& view) {
  PlacedBatches found;
  for (const auto* segments : {&view.wrecks, &view.segments}) {
    for (const auto& segment : *segments) {
      for (const auto* batches : {&segment->scan.batches, &segment->scan.after}) {
        for (const Batch& batch : *batches) found[batch.number] = {segment.get(), &batch};
      }
    }
  }
  return found;
}

std::uint64_t settled_through(const JournalView& view) {
  std::uint64_t settled = 0;
  for (const auto& segment : view.segments) settled = std::max(settled, segment->header.settled_through);
  return settled;
}

/// Returns the hole that the lost batches before `next` were in, if there is one.
std::optional<std::pair<const SegmentView*, Hole>> hole_before(const PlacedBatch* previous, const PlacedBatch& next) {
  for (const Hole& hole : next.segment->scan.holes) {
    if (hole.end == next.batch->offset) return std::pair(next.segment, hole);
  }
  if (previous == nullptr || previous->segment == next.segment || !previous->segment->scan.bad_batch)
    return std::nullopt;
  return std::pair(previous->segment, Hole{previous->batch->end, previous->segment->bytes.size()});
}

void add_lost(JournalView& view, std::uint64_t first, std::uint64_t last,
              const std::optional<std::pair<const SegmentView*, Hole>>& place, Error error) {
  LostBatches lost;
  lost.first = first;
  lost.last = last;
  lost.file = layout::journal(view.number);
  if (place) {
    const auto& [segment, hole] = *place;
    lost.file = layout::segment(view.number, segment->slot);
    lost.slot = segment->slot;
    lost.place = hole;
    const auto parts = salvage(segment->bytes, hole, segment->header.generation);
    for (const SalvagedBatch& part : parts) lost.add(part);
    lost.nothing_lost = !parts.empty() && std::ranges::all_of(parts, &SalvagedBatch::body_valid);
  } else {
    lost.any_run = true;
    lost.saves_max = (4ULL << 20) / kBatchHeaderBytes;
  }
  const bool published = view.published && view.published->has(first) && view.published->has(last);
  lost.settled = last <= settled_through(view);
  lost.in_files = published || lost.settled;
  lost.nothing_lost |= lost.in_files;
  lost.error = damage_at(std::move(error), lost.file);
  if (!view.damage) view.damage = lost.error;
  view.lost.push_back(std::move(lost));
}

/// Returns whether a part of the hole was not written when the copy was made: a sector of it is empty, or contains a
/// batch of an earlier use of the segment. A flipped bit leaves neither.
bool is_unwritten(const SegmentView& segment, const Hole& hole) {
  constexpr std::uint64_t kSectorBytes = 512;
  const std::string_view bytes(segment.bytes);
  const std::uint64_t end = std::min<std::uint64_t>(hole.end, bytes.size());
  for (std::uint64_t at = hole.offset / kSectorBytes * kSectorBytes; at < end; at += kSectorBytes) {
    const std::uint64_t from = std::max(at, hole.offset);
    const std::uint64_t size = std::min(at + kSectorBytes, end) - from;
    // A batch begins with its generation, which is not zero. Elsewhere, a few zeros may be content.
    const std::uint64_t enough = from == hole.offset ? sizeof(std::uint64_t) : kBatchHeaderBytes;
    if (size >= enough && bytes.substr(from, size).find_first_not_of('\0') == std::string_view::npos) return true;
  }
  // The header crosses the end of a sector, and its first part is content of an earlier use.
  constexpr int kFlippedBitsMax = 8;
  const std::uint64_t sector_end = hole.offset / kSectorBytes * kSectorBytes + kSectorBytes;
  if (sector_end < hole.offset + kBatchHeaderBytes && sector_end < end &&
      std::popcount(load_int<std::uint64_t>(bytes.data() + hole.offset) ^ segment.header.generation) > kFlippedBitsMax)
    return true;
  for (std::uint64_t at = hole.offset; at + kBatchHeaderBytes <= end; at += kBatchAlignment) {
    const auto generation = load_int<std::uint64_t>(bytes.data() + at);
    const bool is_header =
        generation % 2 == 1 && generation == load_int<std::uint64_t>(bytes.data() + at + 24) &&
        load_int<std::uint32_t>(bytes.data() + at + 8) == load_int<std::uint32_t>(bytes.data() + at + 32);
    if (is_header && generation != segment.header.generation) return true;
  }
  return false;
}

/// Files of a copy come from different moments: a segment may lack batches that were written after it was read, while
/// another one contains later ones. Nothing after the first such gap counts; its original has it.
void cut_copy(JournalView& view) {
  const PlacedBatches batches = all_batches(view);
  const PlacedBatch* previous = nullptr;
  std::uint64_t expected = 0;
  std::optional<std::uint64_t> cut;
  for (const auto& [number, placed] : batches) {
    const auto hole = hole_before(previous, placed);
    const bool gap = (expected != 0 && number != expected) || (hole && hole->first == placed.segment);
    if (gap && (!hole || is_unwritten(*hole->first, hole->second))) {
      cut = number;
      break;
    }
    expected = number + 1;
    previous = &placed;
  }
  if (!cut) return;
  for (const auto& segment : view.segments) {
    SegmentScan& scan = segment->scan;
    const auto later = [&](const Batch& batch) { return batch.number >= *cut; };
    const std::size_t erased = std::erase_if(scan.batches, later) + std::erase_if(scan.after, later);
    if (erased == 0) continue;
    segment->has_remains = true;
    scan.end = scan.batches.empty() ? kSegmentHeaderBytes : scan.batches.back().end;
    if (scan.after.empty()) scan.bad_batch = scan.valid_after_bad = false;
    scan.after_end = scan.after.empty() ? 0 : scan.after.back().end;
    std::erase_if(scan.holes,
                  [&](const Hole& part) { return scan.after.empty() || part.end > scan.after.back().offset; });
  }
}

/// Batch numbers increase by one through all segments. An invalid batch at the end of a segment was never acknowledged
/// if the next segment continues with its number. One at the very end was torn.
void judge_order(JournalView& view) {
  const PlacedBatches batches = all_batches(view);
  std::uint64_t expected = 0;
  const PlacedBatch* previous = nullptr;
  for (const auto& [number, placed] : batches) {
    const auto hole = hole_before(previous, placed);
    const bool same_segment = hole && hole->first == placed.segment;
    if (expected == 0 && same_segment) expected = std::min(settled_through(view) + 1, number - 1);
    if ((expected != 0 && number != expected) || same_segment) {
      const bool known = same_segment;
      add_lost(
          view, std::min(expected, number - 1), number - 1, hole,
          Error{Code::journal_corrupt,
                known ? fmt::format("the batch at byte {} is damaged but valid batches follow it", hole->second.offset)
                      : fmt::format("batch {} is damaged or missing; batch {} follows", expected, number),
                {},
                {},
                0});
    }
    expected = number + 1;
    previous = &placed;
  }
  if (!batches.empty()) view.last_batch = batches.rbegin()->first;
  for (const auto& segment : view.segments) {
    if (!segment->scan.batches.empty()) view.torn = false;
    if (segment->scan.bad_batch) view.torn = true;
  }
  if (view.damage) view.torn = false;
}

void judge_watermark(JournalView& view) {
  view.visible_batch = view.last_batch;
  if (!view.watermark) return;
  const bool discarded = view.watermark->segments_named == 0;  // everything up to the watermark is settled
  const std::uint64_t readable =
      std::max(view.last_batch, discarded ? view.watermark->batch_number : settled_through(view));
  if (view.watermark->batch_number > readable) {
    std::optional<std::pair<const SegmentView*, Hole>> place;
    for (const auto& segment : view.segments) {
      const std::uint64_t end = segment->scan.after.empty() ? segment->scan.end : segment->scan.after_end;
      if (segment->scan.bad_batch) place = std::pair(segment.get(), Hole{end, segment->bytes.size()});
    }
    add_lost(view, readable + 1, view.watermark->batch_number, place,
             Error{Code::journal_corrupt,
                   fmt::format("batch {} is damaged although it was acknowledged", readable + 1),
                   {},
                   {},
                   0});
    view.torn = false;
  }
  view.visible_batch = std::min(view.last_batch, view.watermark->batch_number);
}

}  // namespace

namespace {

/// A copy of the owner file repeats the marks of the original, which say nothing about the copied journal.
Result<bool> is_own_mark(File& owner, std::uint64_t file_id) {
  if (file_id == 0) return true;  // written by an older version
  PAWL_TRY_ASSIGN(const std::uint64_t id, owner.id());
  return id == 0 || id == file_id;
}

Result<std::optional<PublishedRange>> read_published(FileSystem& files, std::uint64_t number,
                                                     std::string_view boot_id) {
  const auto owner = files.open(layout::journal_owner(number), OpenMode::read);
  if (!owner) return std::optional<PublishedRange>();
  PAWL_TRY_ASSIGN(const std::string bytes, (*owner)->read_at(kPublishedOffset, kWatermarkBytes));
  auto range = decode_published(bytes);
  if (range && range->boot_id != boot_id) range.reset();
  if (range) {
    PAWL_TRY_ASSIGN(const bool own, is_own_mark(**owner, range->file_id));
    if (!own) range.reset();
  }
  return range;
}

Result<JournalView> read_journal_once(FileSystem& files, std::uint64_t number, std::string_view boot_id,
                                      std::string_view store_text) {
  JournalView view;
  view.number = number;
  // The watermark is read first: the segments read after it contain everything that it confirms.
  PAWL_TRY_ASSIGN(view.watermark, read_watermark(files, number, boot_id));
  PAWL_TRY_ASSIGN(view.published, read_published(files, number, boot_id));
  PAWL_TRY_ASSIGN(view.copied, is_copied_journal(files, number));
  PAWL_TRY(read_segments(files, store_text, view));
  if (view.copied) cut_copy(view);
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
  if (watermark) {
    PAWL_TRY_ASSIGN(const bool own, is_own_mark(**owner, watermark->file_id));
    if (!own) watermark.reset();
  }
  return watermark;
}

Result<bool> is_copied_journal(FileSystem& files, std::uint64_t number) {
  const auto owner = files.open(layout::journal_owner(number), OpenMode::read);
  if (!owner) return false;
  PAWL_TRY_ASSIGN(const std::string bytes, (*owner)->read_at(kWatermarkOffset, kWatermarkBytes));
  const auto watermark = decode_watermark(bytes);
  if (!watermark) return false;
  PAWL_TRY_ASSIGN(const bool own, is_own_mark(**owner, watermark->file_id));
  return !own;
}

Result<void> read_batches(File& file, SegmentView& view, std::uint64_t first_look_bytes) {
  PAWL_TRY_ASSIGN(const std::uint64_t size, file.size());
  view.bytes.clear();
  constexpr std::uint64_t kBehindEndBytes = 4096;
  std::uint64_t end = kSegmentHeaderBytes;
  for (std::uint64_t look = first_look_bytes;; look *= 4) {
    PAWL_TRY_ASSIGN(std::string piece, file.read_at(view.bytes.size(), std::min(look, size) - view.bytes.size()));
    const bool is_all = piece.empty() || view.bytes.size() + piece.size() >= size;
    view.bytes = view.bytes.empty() ? std::move(piece) : view.bytes + piece;
    bool other_is_damaged = false;
    PAWL_TRY_ASSIGN(view.header, choose_segment_header(view.bytes, view.header_offset, other_is_damaged));
    end = skip_batches(view.bytes, end, view.header.generation);
    if (!is_all && end + kBehindEndBytes > view.bytes.size()) continue;
    view.scan = scan_segment(view.bytes, view.header.generation);
    // The lost sector may be the one with the next header. In a copy, these batches were written while it was made.
    if (!view.copied) look_behind_end(view.bytes, view.header.generation, view.scan);
    // An interrupted recycling leaves a full segment under its old header. If this header has no batches, the damaged
    // one was the newer, and its batches can't be read.
    if (other_is_damaged && view.scan.batches.empty())
      return fail(Code::journal_corrupt, "a journal segment's header is damaged");
    if (is_all || !view.scan.bad_batch) return {};
    look = size;
  }
}

std::string read_store_text(FileSystem& files) {
  return files.read_file(layout::kStoreFile, 1ULL << 20).value_or(std::string());
}

Result<JournalView> read_journal(FileSystem& files, std::uint64_t number, std::string_view boot_id,
                                 std::string_view store_text) {
  // A segment that is recycled while it is read looks damaged. Real damage persists.
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    PAWL_TRY_ASSIGN(JournalView view, read_journal_once(files, number, boot_id, store_text));
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
    if (entry.is_folder && number && entry.name == std::to_string(*number)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<bool> has_segments(FileSystem& files) {
  PAWL_TRY_ASSIGN(const auto numbers, list_journals(files));
  for (const std::uint64_t number : numbers) {
    PAWL_TRY_ASSIGN(const auto entries, files.list(layout::journal(number)));
    for (const FolderEntry& entry : entries) {
      if (entry.name.ends_with(".log")) return true;
    }
  }
  return false;
}

Result<std::shared_ptr<JournalSnapshot>> JournalSnapshot::take(FileSystem& files, std::string_view boot_id,
                                                               Records wanted, std::uint64_t except) {
  auto snapshot = std::make_shared<JournalSnapshot>();
  PAWL_TRY_ASSIGN(auto numbers, list_journals(files));
  std::erase(numbers, except);
  const std::string store_text = numbers.empty() ? std::string() : read_store_text(files);
  for (const std::uint64_t number : numbers) {
    PAWL_TRY_ASSIGN(JournalView view, read_journal(files, number, boot_id, store_text));
    snapshot->journals_.push_back(std::move(view));
  }
  for (JournalView& journal : snapshot->journals_) {
    if (journal.damage && !snapshot->damage_) snapshot->damage_ = journal.damage;
    if (auto indexed = snapshot->index(journal, wanted); !indexed) {
      if (indexed.error().code != Code::journal_corrupt && indexed.error().code != Code::unsupported_version)
        return std::unexpected(indexed.error());
      LostBatches lost;
      lost.file = layout::journal(journal.number);
      lost.any_run = true;
      lost.saves_max = (4ULL << 20) / kBatchHeaderBytes;
      lost.error = damage_at(indexed.error(), lost.file);
      if (!snapshot->damage_) snapshot->damage_ = lost.error;
      if (!journal.damage) journal.damage = lost.error;
      journal.lost.push_back(std::move(lost));
    }
  }
  for (JournalView& journal : snapshot->journals_) PAWL_TRY(snapshot->place_differences(files, journal, wanted));
  return snapshot;
}

Result<void> JournalSnapshot::index(const JournalRecord& record, std::uint64_t journal, bool published) {
  auto found = runs_.find(record.run);
  if (found == runs_.end()) found = runs_.try_emplace(std::string(record.run)).first;
  RunRecords& run = found->second;
  switch (record.type) {
    case RecordType::run: run.run = record; break;
    case RecordType::checkpoint: run.checkpoints[record.sequence.value] = {record, journal}; break;
    case RecordType::event: run.events[record.number] = record; break;
    case RecordType::audit: run.audit[record.number] = record; break;
    default:
      return fail(Code::unsupported_version,
                  "a journal contains a record of type {}, which this version of pawl does not support",
                  static_cast<unsigned>(record.type));
  }
  if (record.type == RecordType::audit && !published)
    run.first_unpublished = std::min(run.first_unpublished == 0 ? record.number : run.first_unpublished, record.number);
  return {};
}

Result<void> JournalSnapshot::index(JournalView& journal, Records wanted) {
  for (const LostBatches& lost : journal.lost) {
    if (wanted == Records::unpublished && lost.in_files) continue;
    for (const JournalRecord& record : lost.intact) PAWL_TRY(index(record, journal.number, lost.in_files));
  }
  for (const auto* segments : {&journal.wrecks, &journal.segments}) {
    for (const auto& segment : *segments) {
      for (const auto* batches : {&segment->scan.batches, &segment->scan.after}) {
        for (const Batch& batch : *batches) {
          if (batch.number > journal.visible_batch) continue;
          const bool published = journal.published && journal.published->has(batch.number);
          if (wanted == Records::unpublished && published) continue;
          PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
          for (const JournalRecord& record : records) {
            PAWL_TRY(index(record, journal.number, published));
            for (LostBatches& lost : journal.lost) {
              if (lost.last != 0 && batch.number > lost.last && record.sequence)
                lost.later.try_emplace(std::string(record.run), record.sequence.value);
            }
          }
        }
      }
    }
  }
  return {};
}

std::optional<JournalSnapshot::Doubt> JournalSnapshot::doubt(std::string_view run) const {
  std::optional<Doubt> doubt;
  for (const JournalView& journal : journals_) {
    for (const LostBatches& lost : journal.lost) {
      const auto highest = lost.highest_lost(run);
      if (!highest) continue;
      const std::uint64_t event = std::max(doubt ? doubt->lost_event : 0, lost.highest_number(run, RecordType::event));
      const std::uint64_t entry = std::max(doubt ? doubt->lost_entry : 0, lost.highest_number(run, RecordType::audit));
      const bool is_higher = !doubt || doubt->highest_lost < *highest;
      if (is_higher) doubt.emplace();
      doubt->lost_event = event;
      doubt->lost_entry = entry;
      if (!is_higher) continue;
      doubt->highest_lost = *highest;
      doubt->error = lost.error;
      doubt->error.message =
          *highest == kUnknownSequence
              ? fmt::format("run '{}' may have lost its newest checkpoints: {}", run, lost.error.message)
              : fmt::format("run '{}' may have lost checkpoint {}: {}", run, *highest, lost.error.message);
      doubt->error = with_advice(std::move(doubt->error), Advice::check_store, {.run = std::string(run)});
    }
  }
  return doubt;
}

bool JournalSnapshot::may_hide(std::string_view run) const {
  return std::ranges::any_of(journals_, [&](const JournalView& journal) {
    return std::ranges::any_of(journal.lost, [&](const LostBatches& lost) { return lost.may_hide(run); });
  });
}

bool JournalSnapshot::may_hide_any() const {
  return std::ranges::any_of(journals_, [](const JournalView& journal) {
    return std::ranges::any_of(journal.lost, &LostBatches::may_hide_any);
  });
}

bool JournalSnapshot::copied() const { return std::ranges::any_of(journals_, &JournalView::copied); }

const RunRecords* JournalSnapshot::find(std::string_view run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

std::vector<std::uint64_t> JournalSnapshot::last_batches() const {
  std::vector<std::uint64_t> numbers;
  for (const JournalView& journal : journals_) numbers.push_back(journal.last_batch);
  return numbers;
}

}  // namespace pawl
