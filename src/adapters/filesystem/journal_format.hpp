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
//  3. Generation and length stand twice in a batch's header, so that one damaged bit can't make the last
//     batch look like the end of the journal.
//  4. Batches are numbered without gaps through the segments of a journal, in the order of `position`.
//  5. A batch is written only after the one before it was synced: every batch but the last is durable.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
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
  std::uint64_t settled_through = 0;  // batches up to this number stand in files, or never existed
  bool operator==(const SegmentHeader&) const = default;
};

[[nodiscard]] std::string encode_segment_header(const SegmentHeader& header);
/// The header in force: of the two copies the valid one with the higher position. A recycling writes the
/// other copy, so that one that is cut short leaves the old header. `offset` receives where it stands,
/// `other_is_damaged` whether the other copy is neither valid nor empty.
[[nodiscard]] Result<SegmentHeader> choose_segment_header(std::string_view bytes, std::uint64_t& offset,
                                                          bool& other_is_damaged);
/// journal_corrupt where magic or checksum are wrong, unsupported_version where the format is newer.
[[nodiscard]] Result<SegmentHeader> decode_segment_header(std::string_view bytes);

enum class RecordType : std::uint8_t {
  run = 1,         // text: run.json
  checkpoint = 2,  // text: the checkpoint's record; number: sequence of the whole one it follows
  event = 3,       // text: the event's line; number: the event's
  audit = 4,       // text: the entry's line; number: the entry's
  tombstone = 5,   // a later issue's: what was pruned or erased
  inbox = 6,       // not used: messages are files of their own
  side_write = 7,  // a later issue's: keyed (checkpoint, task, index)
};

enum class RecordFlags : std::uint8_t {
  none = 0,
  own_file = 1,  // a checkpoint that becomes a file of its own
};

/// Views into the batch that holds it.
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

/// The bytes of a batch, padded, ready to be written.
[[nodiscard]] std::string encode_batch(std::uint64_t generation, std::uint64_t number, std::uint32_t record_count,
                                       std::string_view body);
[[nodiscard]] std::uint64_t batch_size(std::uint64_t body_bytes);

struct Batch {
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t end = 0;     // where the next one begins
  std::uint64_t number = 0;
  std::uint32_t record_count = 0;
  std::string_view body;
};

/// The records of a valid batch. journal_corrupt where they don't add up (a defect or a forgery: the
/// checksum was right).
[[nodiscard]] Result<std::vector<JournalRecord>> decode_records(const Batch& batch);

/// What the bytes of a segment hold. Never fails: what is bad is described.
struct SegmentScan {
  std::vector<Batch> batches;               // valid ones, in order, up to the first that is not
  std::uint64_t end = kSegmentHeaderBytes;  // behind the last valid batch
  bool bad_batch = false;                   // at `end` there is a batch of this generation that is not valid
  bool valid_after_bad = false;             // and a valid one somewhere behind it: damage, not a torn write
};
[[nodiscard]] SegmentScan scan_segment(std::string_view segment, std::uint64_t generation);
/// Whether a valid batch stands behind what looks like the end: several damaged bits. Reads all of the
/// segment, so it is fsck's to ask.
[[nodiscard]] bool hidden_batch(std::string_view segment, const SegmentScan& scan, std::uint64_t generation);

/// How far a journal's batches are known to be durable. Its writer puts this beside the journal after each
/// sync, without syncing it: it is for readers and successors on the same boot of the machine, who see the
/// page cache and must not show what the disk may not have.
struct Watermark {
  std::string boot_id;
  std::uint64_t batch_number = 0;
  std::uint32_t segments_named = 0;  // how many segments' names are known to be durable
  bool operator==(const Watermark&) const = default;
};
constexpr std::uint64_t kWatermarkOffset = 512;  // in the owner file, behind its text
constexpr std::uint64_t kWatermarkBytes = 64;
[[nodiscard]] std::string encode_watermark(const Watermark& mark);
[[nodiscard]] std::optional<Watermark> decode_watermark(std::string_view bytes);

/// Batches whose records a writer had put into the runs' files when it closed. Not synced, as those files are not: it
/// tells who verifies, on the same boot of the machine, that what is missing there was taken away.
struct PublishedRange {
  std::string boot_id;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool has(std::uint64_t batch) const { return first <= batch && batch <= last; }
};
constexpr std::uint64_t kPublishedOffset = kWatermarkOffset + kWatermarkBytes;
[[nodiscard]] std::string encode_published(const PublishedRange& range);
[[nodiscard]] std::optional<PublishedRange> decode_published(std::string_view bytes);

}  // namespace pawl
