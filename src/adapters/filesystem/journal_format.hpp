// The bytes of a journal segment: docs/formats/journal.md.
//
//   segment = header copy (512 of 2048 bytes used) , header copy (likewise) , batch , batch , ... , anything
//   batch   = header (64 bytes) , body , zeros to the next multiple of 8
//   body    = record , record , ...
//
// Invariants:
//  1. A batch is the unit: it is valid as a whole or not at all.
//  2. Every batch repeats the segment's generation, a random number that changes with each recycling, and
//     salts its checksums with it: remains of an earlier use are never read as new.
//  3. Generation and length are stored twice in a batch's header, so that one damaged bit can't make the last
//     batch look like the end of the journal.
//  4. Batches are numbered without gaps through the segments of a journal, in the order of `position`.
//  5. A batch is written only after the one before it was synced: every batch but the last is durable.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pawl {

constexpr std::uint64_t kSegmentHeaderBytes = 4096;
constexpr std::uint64_t kSegmentHeaderUsed = 512;
constexpr std::uint64_t kBatchHeaderBytes = 64;
constexpr std::uint64_t kBatchAlignment = 8;
constexpr std::uint64_t kBatchBytesMax = 64ULL << 20;
constexpr std::uint32_t kJournalFormat = 1;

struct SegmentHeader {
  Uuid store;
  std::uint64_t journal = 0;
  std::uint64_t position = 0;  // order of the segments of one journal; grows with each recycling
  std::uint64_t generation = 0;
  std::uint64_t settled_through = 0;  // batches up to this number are in files, or never existed
  bool operator==(const SegmentHeader&) const = default;
};

[[nodiscard]] std::string encode_segment_header(const SegmentHeader& header);
/// Returns the current header: the valid copy with the higher position. Recycling writes the other copy, so that an
/// interrupted write leaves the old header intact. `offset` receives the position of the copy, and `other_is_damaged`
/// whether the other copy is neither valid nor empty.
[[nodiscard]] Result<SegmentHeader> choose_segment_header(std::string_view bytes, std::uint64_t& offset,
                                                          bool& other_is_damaged);
/// Fails with journal_corrupt if magic or checksum are wrong, and with unsupported_version if the format is newer.
[[nodiscard]] Result<SegmentHeader> decode_segment_header(std::string_view bytes);

enum class RecordType : std::uint8_t {
  run = 1,         // text: run.json
  checkpoint = 2,  // text: the checkpoint's record; number: sequence of the full checkpoint it follows
  event = 3,       // text: the event's line; number: the event's
  audit = 4,       // text: the entry's line; number: the entry's
  tombstone = 5,   // reserved: pruned or erased data
  inbox = 6,       // unused: messages have their own files
  side_write = 7,  // reserved: keyed (checkpoint, task, index)
};

enum class RecordFlags : std::uint8_t {
  none = 0,
  own_file = 1,  // a checkpoint that gets its own file
};

/// Contains views into its batch.
struct JournalRecord {
  RecordType type{};
  RecordFlags flags{};
  Uuid run_uuid;
  Sequence sequence;
  Sequence parent;
  std::uint64_t number = 0;
  std::uint32_t key_id = 0;              // 0: not encrypted
  std::array<std::uint8_t, 12> nonce{};  // of the encryption
  std::string_view run;
  std::string_view text;
};

void append_record(std::string& body, const JournalRecord& record);

/// The runs that have records in a batch, as a Bloom filter in its header. It may name more runs than that, never
/// fewer. If the body is damaged, it tells which runs are affected. Empty in batches of older versions of pawl.
struct RunsFilter {
  static constexpr std::size_t kBytes = 20;
  std::array<std::uint8_t, kBytes> bytes{};
  void add(std::string_view run);
  [[nodiscard]] bool may_have(std::string_view run) const;
  [[nodiscard]] bool empty() const { return bytes == decltype(bytes){}; }
  bool operator==(const RunsFilter&) const = default;
};

/// Returns the padded bytes of a batch, ready to be written.
[[nodiscard]] std::string encode_batch(std::uint64_t generation, std::uint64_t number, std::uint32_t record_count,
                                       std::span<const std::string_view> bodies);
[[nodiscard]] inline std::string encode_batch(std::uint64_t generation, std::uint64_t number,
                                              std::uint32_t record_count, std::string_view body) {
  return encode_batch(generation, number, record_count, std::span(&body, 1));
}
[[nodiscard]] std::uint64_t batch_size(std::uint64_t body_bytes);

struct Batch {
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t end = 0;     // start of the next batch
  std::uint64_t number = 0;
  std::uint32_t record_count = 0;
  std::string_view body;
};

/// Returns the records of a valid batch. Fails with journal_corrupt if they are inconsistent although the checksum is
/// right, which means a bug or a forgery.
[[nodiscard]] Result<std::vector<JournalRecord>> decode_records(const Batch& batch);

/// A part of a segment that contains no valid batch.
struct Hole {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
};

/// Scans the bytes of a segment. Never fails: invalid content is described in the result.
struct SegmentScan {
  std::vector<Batch> batches;               // the valid batches before the first invalid one, in order
  std::uint64_t end = kSegmentHeaderBytes;  // end of the last valid batch
  bool bad_batch = false;                   // there is an invalid batch of this generation at `end`
  bool valid_after_bad = false;             // a valid batch follows the invalid one: damage, not a torn write
  std::vector<Hole> holes;                  // if a valid batch follows: the invalid parts before it and between others
  std::vector<Batch> after;                 // the valid batches after the first hole, in order
  std::uint64_t after_end = 0;              // end of the last of them
};
[[nodiscard]] SegmentScan scan_segment(std::string_view segment, std::uint64_t generation);
/// Returns where the batches end that start at `offset`, according to their headers alone. May be behind the segment.
[[nodiscard]] std::uint64_t skip_batches(std::string_view segment, std::uint64_t offset, std::uint64_t generation);
/// What a damaged batch still tells.
struct SalvagedBatch {
  Hole place;
  bool header_valid = false;
  std::uint64_t number = 0;        // 0: unknown
  std::uint32_t record_count = 0;  // 0: unknown
  RunsFilter runs;                 // empty: unknown
  bool body_valid = false;         // its records are intact: only the header is damaged
  bool complete = false;           // all of its records have boundaries that make sense
  std::vector<JournalRecord> records;
};
/// Returns the batches in a hole, as far as they can be told apart. The last one reaches to the end of the hole.
[[nodiscard]] std::vector<SalvagedBatch> salvage(std::string_view segment, const Hole& hole, std::uint64_t generation);
/// Returns the generation of the batch at the start of a segment whose header is unreadable, if that batch is valid.
[[nodiscard]] std::optional<std::uint64_t> generation_of_first_batch(std::string_view segment);

/// If valid batches follow the apparent end, its header is lost: treats it as an invalid batch.
void look_behind_end(std::string_view segment, std::uint64_t generation, SegmentScan& scan);
/// Returns whether a valid batch follows the apparent end, which takes several damaged bits. Reads the whole segment,
/// so only fsck calls it.
[[nodiscard]] bool hidden_batch(std::string_view segment, const SegmentScan& scan, std::uint64_t generation);

/// The position up to which the batches of a journal are known to be durable. The writer stores it beside the journal
/// after each sync, without syncing it. It is for readers and later writers on the same boot of the machine: they see
/// the page cache and must not show data that may not be on the disk.
struct Watermark {
  std::string boot_id;
  std::uint64_t batch_number = 0;
  std::uint32_t segments_named = 0;  // number of segments whose names are known to be durable
  std::uint64_t file_id = 0;         // of the owner file; a copy of the journal has another one. 0: unknown
  bool operator==(const Watermark&) const = default;
};
constexpr std::uint64_t kWatermarkOffset = 512;  // in the owner file, after its text
constexpr std::uint64_t kWatermarkBytes = 64;
[[nodiscard]] std::string encode_watermark(const Watermark& mark);
[[nodiscard]] std::optional<Watermark> decode_watermark(std::string_view bytes);

/// The batches whose records a writer had copied to the files of the runs when it closed. Not synced, because those
/// files are not. It tells a verifier on the same boot of the machine that a missing record was removed.
struct PublishedRange {
  std::string boot_id;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t file_id = 0;  // of the owner file, as in the watermark
  [[nodiscard]] bool has(std::uint64_t batch) const { return first <= batch && batch <= last; }
};
constexpr std::uint64_t kPublishedOffset = kWatermarkOffset + kWatermarkBytes;
[[nodiscard]] std::string encode_published(const PublishedRange& range);
[[nodiscard]] std::optional<PublishedRange> decode_published(std::string_view bytes);

}  // namespace pawl
