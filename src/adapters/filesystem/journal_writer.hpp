// A journal that this process owns: taking over, appending, rotating, recycling.
#pragma once

#include <memory>
#include <vector>

#include "adapters/filesystem/journal_reader.hpp"
#include "adapters/filesystem/options.hpp"
#include "base/mutex.hpp"

namespace pawl {

/// A segment whose records may be published: nothing is written to it any more.
struct FullSegment {
  std::uint64_t slot = 0;
  SegmentHeader header;
};

/// One thread appends; others may ask for full segments, recycle and prepare.
class JournalWriter {
 public:
  struct Place {
    FileSystem* files = nullptr;
    Environment environment;
    Uuid store;
    FilesystemOptions options;
  };

  /// Takes over journal `number`; null where someone else holds it. What its last writer left behind the
  /// watermark is written again and synced before this returns; a torn tail is set aside and reported in
  /// recovery/failures.jsonl. Fails with journal_corrupt where it is damaged.
  [[nodiscard]] static Result<std::unique_ptr<JournalWriter>> take_over(const Place& place, std::uint64_t number);
  /// Makes a journal with the lowest number that is not in use.
  [[nodiscard]] static Result<std::unique_ptr<JournalWriter>> create(const Place& place);

  [[nodiscard]] std::uint64_t number() const { return number_; }

  /// Writes one batch and syncs it. Durable when it returns. On write failure nothing was appended and it
  /// may be tried again. On sync failure the error is outcome_unknown, and from then on handle_failed.
  /// Fails with store_busy where there is no room: all segments wait to be published.
  Result<void> append(std::string_view body, std::uint32_t record_count);

  /// Oldest first.
  [[nodiscard]] std::vector<FullSegment> full_segments() const;
  /// The batches of one segment as they are in the file.
  Result<std::unique_ptr<SegmentView>> read(const FullSegment& segment) const;
  [[nodiscard]] FullSegment active() const;
  /// Gives a published segment a new life behind all others. Its records must be durable in files.
  Result<void> recycle(const FullSegment& segment);
  /// Makes a segment for when the active one is full, unless one is ready. store_busy: there is no room.
  Result<void> ensure_next();
  /// Whether the active segment is so full that the next one should be made.
  [[nodiscard]] bool wants_next() const;
  /// Whether there is anything for the publisher to do: a full segment, or the next one to be made.
  [[nodiscard]] bool wants_care() const;
  /// Puts zeros over what stands behind the last batch of the active segment and in those that hold none, and syncs
  /// them. Nothing may be appended meanwhile.
  Result<void> wipe_unused();
  /// All that this writer has appended is in the runs' files, as far as the kernel is concerned.
  Result<void> mark_published();
  /// Starts a new segment, so that the active one becomes a full one. Nothing where it is empty.
  Result<void> retire_active();

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
  Result<void> set_aside_torn(const JournalView& view);
  Result<void> open_segments(const JournalView& view);
  Result<void> write_watermark(std::uint64_t batch_number) PAWL_REQUIRES(mutex_);
  Result<Segment> create_segment(std::uint64_t slot, std::uint64_t position, std::uint64_t settled_through);
  Result<void> rotate();
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> next_to_create() const;
  [[nodiscard]] SegmentHeader fresh_header(std::uint64_t position, std::uint64_t settled_through) const;

  const Place place_;
  const std::uint64_t number_;
  std::unique_ptr<File> owner_;  // holds the kernel lock

  // The appending thread's alone.
  std::uint64_t end_ = 0;
  bool failed_ = false;

  Mutex grow_mutex_;  // taken before mutex_: one segment is made or recycled at a time
  mutable Mutex mutex_;
  std::vector<Segment> segments_ PAWL_GUARDED_BY(mutex_);  // by position
  std::size_t active_ PAWL_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_batch_ PAWL_GUARDED_BY(mutex_) = 1;
  std::uint64_t first_batch_ PAWL_GUARDED_BY(mutex_) = 1;            // of this writer's own
  std::optional<PublishedRange> published_ PAWL_GUARDED_BY(mutex_);  // by those before it, on this boot
  std::uint64_t active_end_ PAWL_GUARDED_BY(mutex_) = 0;             // what others may know of `end_`
};

/// For messages: "pid 4711 (pawl) on host.example since ...".
[[nodiscard]] std::string encode_owner(const Owner& owner);
[[nodiscard]] std::string describe_owner(std::string_view owner_text);

}  // namespace pawl
