#include "adapters/filesystem/journal_writer.hpp"

#include <algorithm>

#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/failure_log.hpp"
#include "adapters/filesystem/layout.hpp"
#include "base/assert.hpp"
#include "base/hash.hpp"
#include "codec/object_members.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kOwnerTextBytes = kWatermarkOffset;
constexpr std::uint64_t kZeroChunkBytes = 1ULL << 20;

}  // namespace

std::string encode_owner(const Owner& owner) {
  std::string text =
      fmt::format("{{\"pid\":{},\"started\":{},\"boot\":{},\"host\":{},\"program\":{}}}\n", owner.pid, owner.started,
                  escape_json(owner.boot_id), escape_json(owner.host), escape_json(owner.program));
  text.resize(kOwnerTextBytes, ' ');
  return text;
}

std::string describe_owner(std::string_view owner_text) {
  const auto end = owner_text.find('\n');
  if (end != std::string_view::npos && end > 2) {
    if (const auto members = ObjectMembers::parse(owner_text.substr(1, end - 2))) {
      return fmt::format("process {} ({}) on {}", members->number("pid"), members->text("program"),
                         members->text("host"));
    }
  }
  return "another process";
}

JournalWriter::JournalWriter(Place place, std::uint64_t number) : place_(std::move(place)), number_(number) {}

Result<bool> JournalWriter::lock() {
  PAWL_TRY_ASSIGN(owner_, place_.files->open(layout::journal_owner(number_), OpenMode::create));
  PAWL_TRY_ASSIGN(owner_id_, owner_->id());
  return owner_->try_lock(layout::kWriterByte);
}

Result<std::unique_ptr<JournalWriter>> JournalWriter::take_over(const Place& place, std::uint64_t number) {
  std::unique_ptr<JournalWriter> writer(new JournalWriter(place, number));
  PAWL_TRY_ASSIGN(const bool locked, writer->lock());
  if (!locked) return std::unique_ptr<JournalWriter>();
  PAWL_TRY(writer->adopt());
  return writer;
}

Result<std::unique_ptr<JournalWriter>> JournalWriter::create(const Place& place) {
  PAWL_TRY(place.files->make_folder(layout::kJournals));
  for (std::uint64_t number = 1;; ++number) {
    PAWL_TRY(place.files->make_folder(layout::journal(number)));
    auto writer = take_over(place, number);
    if (!writer && category(writer.error().code) == Category::integrity) continue;  // that journal stays as it is
    if (!writer || *writer) return writer;
  }
}

Result<void> JournalWriter::adopt() {
  PAWL_TRY_ASSIGN(const JournalView view, read_journal(*place_.files, number_, place_.environment.owner.boot_id,
                                                       read_store_text(*place_.files)));
  if (view.damage) return std::unexpected(*view.damage);
  if (!view.watermark || view.watermark->segments_named != view.segments.size()) {
    // The process that created them may have died before their names were synced.
    PAWL_TRY(place_.files->sync_folder(layout::journal(number_), SyncPoint::takeover_name));
    PAWL_TRY(place_.files->sync_folder(layout::kJournals, SyncPoint::journal_name));
    PAWL_TRY(place_.files->sync_folder("", SyncPoint::journals_name));
  }
  if (view.copied) PAWL_TRY(clear_remains(view));
  PAWL_TRY(open_segments(view));
  for (const auto& segment : view.segments) {
    for (const Batch& batch : segment->scan.batches) {
      PAWL_TRY_ASSIGN(const auto records, decode_records(batch));
      for (const JournalRecord& record : records) {
        if (!runs_at_takeover_.contains(record.run)) runs_at_takeover_.emplace(record.run);
      }
    }
  }
  PAWL_TRY(confirm_tail(view));
  if (view.torn) PAWL_TRY(set_aside_torn(view));
  PAWL_TRY(owner_->write_at(0, encode_owner(place_.environment.owner)));
  const Lock guard(mutex_);
  first_batch_ = next_batch_;
  published_ = view.published;
  // From now on, the files are incomplete without the journal until this writer closes cleanly.
  if (published_) PAWL_TRY(owner_->write_at(kPublishedOffset, std::string(kWatermarkBytes, '\0')));
  return write_watermark(next_batch_ - 1);
}

Result<void> JournalWriter::mark_published() {
  const Lock lock(mutex_);
  if (next_batch_ == first_batch_)
    return published_ ? owner_->write_at(kPublishedOffset, encode_published(*published_)) : Result<void>();
  const bool goes_on = published_ && published_->last + 1 == first_batch_;
  const PublishedRange range{place_.environment.owner.boot_id, goes_on ? published_->first : first_batch_,
                             next_batch_ - 1, owner_id_};
  return owner_->write_at(kPublishedOffset, encode_published(range));
}

Result<void> JournalWriter::open_segments(const JournalView& view) {
  const Lock guard(mutex_);
  const bool discarded = view.watermark && view.watermark->segments_named == 0;
  std::uint64_t settled = discarded ? view.watermark->batch_number : 0;
  for (const auto& seen : view.segments) {
    Segment segment;
    segment.slot = seen->slot;
    segment.header = seen->header;
    segment.header_offset = seen->header_offset;
    PAWL_TRY_ASSIGN(segment.file, place_.files->open(layout::segment(number_, seen->slot), OpenMode::write));
    settled = std::max(settled, seen->header.settled_through);
    if (!seen->scan.batches.empty()) {
      segment.last_batch = seen->scan.batches.back().number;
      active_ = segments_.size();
      end_ = active_end_ = seen->scan.end;
    }
    segments_.push_back(std::move(segment));
  }
  next_batch_ = std::max(view.last_batch, settled) + 1;
  if (view.last_batch == 0) end_ = active_end_ = kSegmentHeaderBytes;
  if (segments_.empty()) {
    PAWL_TRY_ASSIGN(Segment first, create_segment(1, 1, settled));
    segments_.push_back(std::move(first));
    end_ = active_end_ = kSegmentHeaderBytes;
  }
  return {};
}

/// Batches after the watermark may be only in the page cache, because their writer died or its sync failed. Rewriting
/// them makes their pages dirty again, so that the sync really writes them. Without a watermark of this boot, only the
/// last batch is in doubt.
Result<void> JournalWriter::confirm_tail(const JournalView& view) {
  if (view.last_batch == 0) return {};
  const std::uint64_t confirmed = view.watermark ? view.watermark->batch_number : view.last_batch - 1;
  const Lock guard(mutex_);
  for (std::size_t i = 0; i < view.segments.size(); ++i) {
    bool rewritten = false;
    for (const Batch& batch : view.segments[i]->scan.batches) {
      if (batch.number <= confirmed) continue;
      const std::string_view bytes(view.segments[i]->bytes);
      PAWL_TRY(segments_[i].file->write_at(batch.offset, bytes.substr(batch.offset, batch.end - batch.offset)));
      rewritten = true;
    }
    if (rewritten) PAWL_TRY(segments_[i].file->sync(SyncPoint::journal_takeover));
  }
  return {};
}

/// Batches that follow the end of a copied journal belong to the original. They have the generation of the segment, so
/// they must not stay behind what is appended here.
Result<void> JournalWriter::clear_remains(const JournalView& view) {
  for (const auto& seen : view.segments) {
    const std::string path = layout::segment(number_, seen->slot);
    PAWL_TRY_ASSIGN(const auto file, place_.files->open(path, OpenMode::write));
    PAWL_TRY_ASSIGN(const std::uint64_t size, file->size());
    PAWL_TRY_ASSIGN(const std::string bytes, file->read_at(0, size));
    if (!seen->has_remains && (seen->scan.bad_batch || !hidden_batch(bytes, seen->scan, seen->header.generation)))
      continue;
    std::string_view remains = std::string_view(bytes).substr(seen->scan.end);
    remains = remains.substr(0, remains.find_last_not_of('\0') + 1);
    const std::string name = fmt::format("recovery/copied-journal-{}-{:016x}-{}-{}.bin", number_,
                                         seen->header.generation, seen->scan.end, to_hex(crc32c(remains)));
    PAWL_TRY(set_aside(*place_.files, name, remains));
    PAWL_TRY(overwrite(*file, seen->scan.end));
    PAWL_TRY(file->sync(SyncPoint::journal_takeover));
  }
  return {};
}

Result<void> JournalWriter::set_aside_torn(const JournalView& view) {
  for (const auto& seen : view.segments) {
    if (!seen->scan.bad_batch) continue;
    std::string_view torn = std::string_view(seen->bytes).substr(seen->scan.end);
    torn = torn.substr(0, torn.find_last_not_of('\0') + 1);
    // Two batches may have been torn at the same place, one after the other. The checksum gives each its own file.
    const std::string name = fmt::format("recovery/torn-{}-{:016x}-{}-{}.bin", number_, seen->header.generation,
                                         seen->scan.end, to_hex(crc32c(torn)));
    PAWL_TRY(set_aside(*place_.files, name, torn));
    PAWL_TRY(log_failure(*place_.files, place_.environment,
                         Finding{Finding::Severity::note,
                                 Code::journal_corrupt,
                                 layout::segment(number_, seen->slot),
                                 {},
                                 {},
                                 fmt::format("incomplete batch: its writer stopped while writing it, and it was never "
                                             "acknowledged; its {} bytes were moved to {}",
                                             torn.size(), name),
                                 {}}));
    // Clears the header of the torn batch, so that it is reported only once. If this write is lost, it is reported
    // again.
    const Lock guard(mutex_);
    for (Segment& segment : segments_) {
      if (segment.slot == seen->slot)
        PAWL_TRY(segment.file->write_at(seen->scan.end, std::string(kBatchHeaderBytes, '\0')));
    }
  }
  return {};
}

Result<void> JournalWriter::write_watermark(std::uint64_t batch_number) {
  const auto named = static_cast<std::uint32_t>(segments_.size());
  return owner_->write_at(kWatermarkOffset,
                          encode_watermark({place_.environment.owner.boot_id, batch_number, named, owner_id_}));
}

SegmentHeader JournalWriter::fresh_header(std::uint64_t position, std::uint64_t settled_through) const {
  return SegmentHeader{place_.store, number_, position, place_.environment.random->next() | 1U, settled_through};
}

Result<JournalWriter::Segment> JournalWriter::create_segment(std::uint64_t slot, std::uint64_t position,
                                                             std::uint64_t settled_through) {
  Segment segment;
  segment.slot = slot;
  segment.header = fresh_header(position, settled_through);
  const std::string path = layout::segment(number_, slot);
  const std::string temporary = path + ".tmp";
  const auto fill = [&]() -> Result<void> {
    PAWL_TRY_ASSIGN(segment.file, place_.files->open(temporary, OpenMode::create_empty));
    // Writes zeros first: overwriting allocated blocks changes no metadata, which would take a third of the time of a
    // sync.
    const std::string zeros(std::min(kZeroChunkBytes, place_.options.segment_bytes), '\0');
    for (std::uint64_t offset = 0; offset < place_.options.segment_bytes; offset += zeros.size()) {
      PAWL_TRY(
          segment.file->write_at(offset, std::string_view(zeros).substr(0, place_.options.segment_bytes - offset)));
    }
    PAWL_TRY(segment.file->write_at(0, encode_segment_header(segment.header)));
    PAWL_TRY(segment.file->sync(SyncPoint::segment_created));
    return place_.files->rename(temporary, path);
  };
  if (auto filled = fill(); !filled) {
    segment.file.reset();
    static_cast<void>(place_.files->remove(temporary));  // a full disk needs the blocks
    return std::unexpected(filled.error());
  }
  PAWL_TRY(place_.files->sync_folder(layout::journal(number_), SyncPoint::segment_name));
  return segment;
}

Result<void> JournalWriter::append(std::span<const std::string_view> bodies, std::uint32_t record_count) {
  if (failed_) {
    return fail(Error{Code::handle_failed, "an earlier sync of this journal failed, so it accepts no more writes",
                      layout::journal(number_), "reopen the store; saves with an id can be repeated safely", 0});
  }
  std::uint64_t body_bytes = 0;
  for (const std::string_view body : bodies) body_bytes += body.size();
  const std::uint64_t size = batch_size(body_bytes);
  if (size > kBatchBytesMax) {
    return fail(Code::state_too_large, "a batch of {} bytes exceeds the maximum of {} bytes", size, kBatchBytesMax);
  }
  // A batch larger than a segment gets a segment of its own, which grows to fit.
  if (end_ + size > place_.options.segment_bytes && end_ > kSegmentHeaderBytes) PAWL_TRY(rotate());
  std::shared_ptr<File> file;
  std::uint64_t generation = 0;
  std::uint64_t batch_number = 0;
  {
    const Lock guard(mutex_);
    file = segments_[active_].file;
    generation = segments_[active_].header.generation;
    batch_number = next_batch_;
  }
  PAWL_TRY(file->write_at(end_, encode_batch(generation, batch_number, record_count, bodies)));
  if (auto synced = file->sync(SyncPoint::journal_batch); !synced) {
    failed_ = true;
    Error error = synced.error();
    error.code = Code::outcome_unknown;
    return fail(
        with_hint(std::move(error), "reopen the store and repeat the save with the same id; it is not saved twice"));
  }
  end_ += size;
  const Lock guard(mutex_);
  segments_[active_].last_batch = batch_number;
  active_end_ = end_;
  next_batch_ = batch_number + 1;
  // The watermark is written before the batch is acknowledged, because readers return only what it covers.
  if (auto marked = write_watermark(batch_number); !marked) {
    failed_ = true;
    Error error = marked.error();
    error.code = Code::outcome_unknown;
    return fail(with_hint(std::move(error), "reopen the store and repeat the save with the same id"));
  }
  return {};
}

/// Returns the slot and position of the segment to create, or nothing if one is ready.
std::optional<std::pair<std::uint64_t, std::uint64_t>> JournalWriter::next_to_create() const {
  const Lock guard(mutex_);
  if (active_ + 1 < segments_.size()) return std::nullopt;
  std::uint64_t slot = 0;
  for (const Segment& segment : segments_) slot = std::max(slot, segment.slot);
  return std::pair(slot + 1, segments_.back().header.position + 1);
}

Result<void> JournalWriter::ensure_next() {
  const Lock growing(grow_mutex_);
  const auto next = next_to_create();
  if (!next) return {};
  if (next->first > place_.options.segments_max) {
    return fail(Error{Code::store_busy, "the journal is full and none of it has been published yet",
                      layout::journal(number_), "free disk space, then save again", 0, Advice::check_store});
  }
  PAWL_TRY_ASSIGN(Segment segment, create_segment(next->first, next->second, 0));
  const Lock guard(mutex_);
  segments_.push_back(std::move(segment));
  return {};
}

Result<void> JournalWriter::rotate() {
  PAWL_TRY(ensure_next());
  const Lock guard(mutex_);
  ++active_;
  end_ = active_end_ = kSegmentHeaderBytes;
  return {};
}

std::vector<FullSegment> JournalWriter::full_segments() const {
  const Lock guard(mutex_);
  std::vector<FullSegment> full;
  for (std::size_t i = 0; i < active_; ++i) full.push_back({segments_[i].slot, segments_[i].header});
  return full;
}

FullSegment JournalWriter::active() const {
  const Lock guard(mutex_);
  return {segments_[active_].slot, segments_[active_].header};
}

Result<std::unique_ptr<SegmentView>> JournalWriter::read(const FullSegment& segment) const {
  auto view = std::make_unique<SegmentView>();
  view->slot = segment.slot;
  std::uint64_t last_batch = 0;
  std::uint64_t end = place_.options.segment_bytes;
  {
    const Lock guard(mutex_);
    for (const Segment& own : segments_) {
      if (own.slot == segment.slot) last_batch = own.last_batch;
    }
    if (segments_[active_].slot == segment.slot) end = active_end_ + kBatchHeaderBytes;
  }
  PAWL_TRY_ASSIGN(const auto file, place_.files->open(layout::segment(number_, segment.slot), OpenMode::read));
  PAWL_TRY(read_batches(*file, *view, end));
  while (!view->scan.batches.empty() && view->scan.batches.back().number > last_batch) view->scan.batches.pop_back();
  if (last_batch != 0 && (view->scan.batches.empty() || view->scan.batches.back().number != last_batch)) {
    return fail(Error{Code::journal_corrupt,
                      "a batch that was written and synced can't be read back",
                      layout::segment(number_, segment.slot),
                      {},
                      0,
                      Advice::check_store});
  }
  return view;
}

Result<void> JournalWriter::recycle(const FullSegment& segment) {
  const Lock growing(grow_mutex_);
  SegmentHeader header;
  std::shared_ptr<File> file;
  std::uint64_t header_offset = 0;
  {
    const Lock guard(mutex_);
    PAWL_ASSERT(active_ > 0 && segments_.front().slot == segment.slot);
    header = fresh_header(segments_.back().header.position + 1, segments_.front().last_batch);
    file = segments_.front().file;
    header_offset = segments_.front().header_offset;
  }
  // Writes the other copy: if the write is interrupted, the old header remains, and everything it covers is settled.
  const std::uint64_t other = kSegmentHeaderBytes / 2 - header_offset;
  PAWL_TRY(file->write_at(other, encode_segment_header(header)));
  PAWL_TRY(file->sync(SyncPoint::segment_recycled));
  const Lock guard(mutex_);
  Segment reborn = std::move(segments_.front());
  segments_.erase(segments_.begin());
  reborn.header = header;
  reborn.header_offset = other;
  reborn.last_batch = 0;
  segments_.push_back(std::move(reborn));
  --active_;
  return {};
}

bool JournalWriter::wants_next() const {
  const Lock guard(mutex_);
  return active_ + 1 == segments_.size() && segments_.size() < place_.options.segments_max &&
         active_end_ > place_.options.segment_bytes / 2;
}

bool JournalWriter::wants_care() const {
  {
    const Lock guard(mutex_);
    // Several at once: a run's files are then opened and synced less often.
    if (active_ >= std::max<std::size_t>(1, place_.options.segments_max / 2)) return true;
  }
  return wants_next();
}

Result<void> JournalWriter::wipe_unused() {
  const Lock growing(grow_mutex_);
  std::vector<std::pair<std::shared_ptr<File>, std::uint64_t>> unused;
  {
    const Lock guard(mutex_);
    for (std::size_t i = active_; i < segments_.size(); ++i) {
      unused.emplace_back(segments_[i].file, segments_[i].last_batch == 0 ? kSegmentHeaderBytes : active_end_);
    }
  }
  for (const auto& [file, offset] : unused) {
    PAWL_TRY(overwrite(*file, offset));
    PAWL_TRY(file->sync(SyncPoint::erased_bytes));
  }
  return {};
}

/// Overwrites the batches of a segment, and what an earlier use of it left behind them. Most of a segment is zeros,
/// which are cheaper to read than to write.
Result<void> overwrite_batches(File& file) {
  PAWL_TRY_ASSIGN(std::uint64_t end, file.size());
  while (end > kSegmentHeaderBytes) {
    const std::uint64_t begin = std::max(kSegmentHeaderBytes, end - std::min(end, kZeroChunkBytes));
    PAWL_TRY_ASSIGN(const std::string piece, file.read_at(begin, end - begin));
    if (const std::size_t last = piece.find_last_not_of('\0'); last != std::string::npos)
      return file.write_at(kSegmentHeaderBytes, std::string(begin + last + 1 - kSegmentHeaderBytes, '\0'));
    end = begin;
  }
  return {};
}

/// With the new header, the old batches don't count, so that overwriting them is not damage.
Result<void> JournalWriter::disown_batches(Segment& segment, std::uint64_t position, std::uint64_t settled_through) {
  const std::uint64_t other = kSegmentHeaderBytes / 2 - segment.header_offset;
  segment.header = fresh_header(position, settled_through);
  PAWL_TRY(segment.file->write_at(other, encode_segment_header(segment.header)));
  return segment.file->sync(SyncPoint::segment_recycled);
}

Result<void> JournalWriter::discard() {
  const Lock growing(grow_mutex_);
  std::vector<Segment> segments;
  std::uint64_t last_batch = 0;
  {
    const Lock guard(mutex_);
    last_batch = next_batch_ - 1;
    segments = std::exchange(segments_, {});
    // With no segment named, this says that everything up to the last batch is settled.
    PAWL_TRY(write_watermark(last_batch));
  }
  failed_ = true;
  std::uint64_t position = segments.empty() ? 0 : segments.back().header.position;
  for (Segment& segment : segments) {
    // The header of an unused segment stays: if its other copy were torn, the segment would look damaged.
    if (segment.last_batch != 0) PAWL_TRY(disown_batches(segment, ++position, last_batch));
  }
  // Whichever segments are left if this is interrupted, one of them says that everything is settled.
  std::ranges::sort(segments, {}, [](const Segment& segment) { return segment.header.settled_through; });
  for (const Segment& segment : segments) {
    PAWL_TRY(overwrite_batches(*segment.file));
    PAWL_TRY(segment.file->sync(SyncPoint::erased_bytes));
    PAWL_TRY(place_.files->remove(layout::segment(number_, segment.slot)));
  }
  // Otherwise a power loss could bring a segment back, with records of a run that was erased in the meantime.
  return place_.files->sync_folder(layout::journal(number_), SyncPoint::segment_name);
}

Result<bool> JournalWriter::retire_active() {
  {
    const Lock guard(mutex_);
    if (segments_[active_].last_batch == 0) return true;
    if (active_ + 1 == segments_.size()) return false;
  }
  PAWL_TRY(rotate());
  return true;
}

/// As in `recycle`: if the header is interrupted, the old one remains, and everything it covers is settled.
Result<void> JournalWriter::restart_active() {
  const Lock growing(grow_mutex_);
  Segment reborn;
  std::uint64_t position = 0;
  {
    const Lock guard(mutex_);
    PAWL_ASSERT(active_ + 1 == segments_.size() && active_ == 0);
    reborn = segments_[active_];
    position = reborn.header.position + 1;
  }
  if (auto disowned = disown_batches(reborn, position, reborn.last_batch); !disowned) {
    failed_ = true;  // readers may see the new header, under which batches with the old one don't count
    return disowned;
  }
  reborn.header_offset = kSegmentHeaderBytes / 2 - reborn.header_offset;
  reborn.last_batch = 0;
  const Lock guard(mutex_);
  segments_[active_] = std::move(reborn);
  end_ = active_end_ = kSegmentHeaderBytes;
  return {};
}

bool JournalWriter::is_long() const {
  const Lock guard(mutex_);
  std::uint64_t settled = 0;
  for (const Segment& segment : segments_) settled = std::max(settled, segment.header.settled_through);
  return active_end_ >= place_.options.settle_at_close_bytes &&
         next_batch_ - 1 - std::min(settled, next_batch_ - 1) >= place_.options.settle_at_close_batches;
}

}  // namespace pawl
