// A journal that this process owns: taking over, appending, rotating, recycling.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_reader.hpp"
#include "adapters/filesystem/options.hpp"
#include "base/mutex.hpp"

namespace pawl {

/// A segment whose records may be published: nothing more is written to it.
struct FullSegment {
  std::uint64_t slot = 0;
  SegmentHeader header;
};

/// Only one thread may append. Other threads may list full segments, recycle and prepare.
class JournalWriter {
 public:
  struct Place {
    FileSystem* files = nullptr;
    Environment environment;
    Uuid store;
    FilesystemOptions options;
  };

  /// Takes over journal `number`. Returns null if another writer holds it. Rewrites and syncs the batches that its last
  /// writer left after the watermark before it returns. A torn tail is set aside and reported in
  /// recovery/failures.jsonl. Fails with journal_corrupt if the journal is damaged.
  [[nodiscard]] static Result<std::unique_ptr<JournalWriter>> take_over(const Place& place, std::uint64_t number);
  /// Creates a journal with the lowest unused number.
  [[nodiscard]] static Result<std::unique_ptr<JournalWriter>> create(const Place& place);

  [[nodiscard]] std::uint64_t number() const { return number_; }

  /// Writes one batch and syncs it; the batch is durable on return. If the write fails, nothing was appended and the
  /// call may be repeated. If the sync fails, the error is outcome_unknown, and all later calls fail with
  /// handle_failed. Fails with store_busy if there is no room because all segments wait to be published.
  Result<void> append(std::span<const std::string_view> bodies, std::uint32_t record_count);

  [[nodiscard]] const Place& place() const { return place_; }
  /// Oldest first.
  [[nodiscard]] std::vector<FullSegment> full_segments() const;
  /// Returns the batches of one segment as they are in the file.
  Result<std::unique_ptr<SegmentView>> read(const FullSegment& segment) const;
  [[nodiscard]] FullSegment active() const;
  /// Reuses a published segment as the last one. Its records must be durable in files.
  Result<void> recycle(const FullSegment& segment);
  /// Creates the next segment, for when the active one is full, unless one is ready. Fails with store_busy if there is
  /// no room.
  Result<void> ensure_next();
  /// Returns whether the active segment is so full that the next one should be created.
  [[nodiscard]] bool wants_next() const;
  /// Returns whether the publisher has work: a full segment, or a next segment to create.
  [[nodiscard]] bool wants_care() const;
  /// Overwrites with zeros everything after the last batch of the active segment and all segments without batches, and
  /// syncs them. Nothing may be appended meanwhile.
  Result<void> wipe_unused();
  /// Records that everything appended by this writer was written to the files of the runs, though not synced.
  Result<void> mark_published();
  /// Removes all segments, after overwriting what they contain. Everything in them must be durable in files. The
  /// journal can't be used after that; the next writer that takes it over creates new segments.
  Result<void> discard();
  /// Returns the runs that the batches of this journal mentioned when it was taken over.
  [[nodiscard]] const std::set<std::string, std::less<>>& runs_at_takeover() const { return runs_at_takeover_; }
  /// Starts the next segment, so that the active one counts as full. Does nothing if the active one is empty. Returns
  /// false if there is no next one.
  Result<bool> retire_active();
  /// Makes the only segment empty. Everything in it must be durable in files, and nothing may be appended meanwhile.
  Result<void> restart_active();
  /// Returns whether reading it takes every process that opens the store a while.
  [[nodiscard]] bool is_long() const;

 private:
  struct Segment {
    std::uint64_t slot = 0;
    SegmentHeader header;
    std::uint64_t header_offset = 0;
    std::shared_ptr<File> file;
    std::uint64_t last_batch = 0;
  };
  explicit JournalWriter(Place place, std::uint64_t number);
  Result<bool> lock();
  Result<void> adopt();
  Result<void> confirm_tail(const JournalView& view);
  Result<void> clear_remains(const JournalView& view);
  Result<void> set_aside_torn(const JournalView& view);
  Result<void> open_segments(const JournalView& view);
  Result<void> write_watermark(std::uint64_t batch_number) PAWL_REQUIRES(mutex_);
  Result<void> disown_batches(Segment& segment, std::uint64_t position, std::uint64_t settled_through);
  Result<Segment> create_segment(std::uint64_t slot, std::uint64_t position, std::uint64_t settled_through);
  Result<void> rotate();
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> next_to_create() const;
  [[nodiscard]] SegmentHeader fresh_header(std::uint64_t position, std::uint64_t settled_through) const;

  const Place place_;
  const std::uint64_t number_;
  std::unique_ptr<File> owner_;  // holds the kernel lock
  std::uint64_t owner_id_ = 0;   // of that file

  std::set<std::string, std::less<>> runs_at_takeover_;  // constant after construction

  // Used only by the appending thread.
  std::uint64_t end_ = 0;
  bool failed_ = false;

  Mutex grow_mutex_;  // taken before mutex_; only one segment is created or recycled at a time
  mutable Mutex mutex_;
  std::vector<Segment> segments_ PAWL_GUARDED_BY(mutex_);  // by position
  std::size_t active_ PAWL_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_batch_ PAWL_GUARDED_BY(mutex_) = 1;
  std::uint64_t first_batch_ PAWL_GUARDED_BY(mutex_) = 1;            // first batch of this writer
  std::optional<PublishedRange> published_ PAWL_GUARDED_BY(mutex_);  // by earlier writers on this boot
  std::uint64_t active_end_ PAWL_GUARDED_BY(mutex_) = 0;             // `end_` for other threads
};

/// For messages: "pid 4711 (pawl) on host.example since ...".
[[nodiscard]] std::string encode_owner(const Owner& owner);
[[nodiscard]] std::string describe_owner(std::string_view owner_text);

}  // namespace pawl
