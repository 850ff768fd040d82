// Reads journals from hostile bytes. The first byte selects whether the rest is used as it is or with corrected
// checksums, so that the code after the checksum tests is reached.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>
#include <vector>

#include "adapters/filesystem/journal_format.hpp"
#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace {

using namespace pawl;

constexpr std::uint64_t kGeneration = 0x4141414141414141ULL;

bool inside(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

std::string segment_of(std::string_view content) {
  SegmentHeader header;
  header.generation = kGeneration;
  std::string segment = encode_segment_header(header);
  segment.resize(kSegmentHeaderBytes, '\0');
  return segment.append(content);
}

/// For any bytes, the result of a scan must be consistent and lie within them.
SegmentScan scan(std::string_view segment, std::uint64_t generation) {
  SegmentScan found = scan_segment(segment, generation);
  std::uint64_t end = kSegmentHeaderBytes;
  for (const Batch& batch : found.batches) {
    PAWL_ASSERT(batch.offset == end && inside(batch.body, segment));
    PAWL_ASSERT(batch.end == batch.offset + batch_size(batch.body.size()));
    end = batch.end;
    if (const auto records = decode_records(batch)) {
      PAWL_ASSERT(records->size() == batch.record_count);
      for (const JournalRecord& record : *records)
        PAWL_ASSERT(inside(record.run, batch.body) && inside(record.text, batch.body));
    }
  }
  PAWL_ASSERT(found.end == end && (found.bad_batch || !found.valid_after_bad));
  if (found.valid_after_bad) PAWL_ASSERT(hidden_batch(segment, found, generation));
  return found;
}

/// Scans a segment file as it is.
void scan_raw(std::string_view bytes) {
  std::uint64_t offset = 0;
  bool other_is_damaged = false;
  if (const auto header = choose_segment_header(bytes, offset, other_is_damaged)) scan(bytes, header->generation);
  scan(bytes, kGeneration);
  scan(segment_of(bytes), kGeneration);
}

/// Decodes a header with a correct checksum: encoding it must return the same bytes.
void header_with_checksum(std::string bytes) {
  bytes.resize(kSegmentHeaderUsed, '\0');
  store_int(bytes.data() + kSegmentHeaderUsed - 4, crc32c(std::string_view(bytes).substr(0, kSegmentHeaderUsed - 4)));
  const auto header = decode_segment_header(bytes);
  if (!header) return;
  const auto again = decode_segment_header(encode_segment_header(*header));
  PAWL_ASSERT(again && *again == *header);
}

/// Decodes records with a correct checksum: encoding them must return the same bytes, except for reserved ones.
void records_with_checksum(std::string_view body) {
  for (std::uint32_t count = 0; count < 6; ++count) {
    const std::string segment = segment_of(encode_batch(kGeneration, 7, count, body));
    const SegmentScan found = scan(segment, kGeneration);
    PAWL_ASSERT(found.batches.size() == 1 && !found.bad_batch && found.end == segment.size());
    PAWL_ASSERT(found.batches[0].body == body && found.batches[0].number == 7 &&
                found.batches[0].record_count == count);
    const auto records = decode_records(found.batches[0]);
    if (!records) continue;
    std::string again;
    for (const JournalRecord& record : *records) append_record(again, record);
    PAWL_ASSERT(again.size() == body.size());
    const auto twice = decode_records(Batch{0, 0, 7, count, again});
    PAWL_ASSERT(twice && twice->size() == records->size());
    for (std::size_t i = 0; i < records->size(); ++i) {
      const JournalRecord& a = (*records)[i];
      const JournalRecord& b = (*twice)[i];
      PAWL_ASSERT(a.type == b.type && a.flags == b.flags && a.run_uuid == b.run_uuid && a.sequence == b.sequence);
      PAWL_ASSERT(a.parent == b.parent && a.number == b.number && a.key_id == b.key_id && a.nonce == b.nonce);
      PAWL_ASSERT(a.run == b.run && a.text == b.text);
    }
  }
}

/// Chooses between two copies of a header, each with a correct checksum or as it is. The chosen one must be valid, and
/// no valid one may have a higher position.
void header_copies(FuzzedDataProvider& data) {
  std::string segment;
  for (int copy = 0; copy < 2; ++copy) {
    std::string bytes = "PAWLJRN1" + data.ConsumeRandomLengthString(kSegmentHeaderUsed);
    bytes.resize(kSegmentHeaderUsed, '\0');
    if (data.ConsumeBool()) {
      store_int(bytes.data() + kSegmentHeaderUsed - 4,
                crc32c(std::string_view(bytes).substr(0, kSegmentHeaderUsed - 4)));
    }
    segment += bytes;
    segment.resize(kSegmentHeaderBytes / 2 * static_cast<std::size_t>(copy + 1), '\0');
  }
  std::uint64_t offset = 0;
  bool other_is_damaged = false;
  const auto chosen = choose_segment_header(segment, offset, other_is_damaged);
  const auto first = decode_segment_header(segment);
  const auto second = decode_segment_header(std::string_view(segment).substr(kSegmentHeaderBytes / 2));
  PAWL_ASSERT(chosen.has_value() == (first.has_value() || second.has_value()));
  if (!chosen) return;
  PAWL_ASSERT(offset == 0 || offset == kSegmentHeaderBytes / 2);
  PAWL_ASSERT(*chosen == (offset == 0 ? *first : *second));
  PAWL_ASSERT((!first || first->position <= chosen->position) && (!second || second->position <= chosen->position));
  PAWL_ASSERT(other_is_damaged == !(offset == 0 ? second : first) || !other_is_damaged);
  scan(segment, chosen->generation);
}

/// Scans batches, some of them damaged, followed by anything. The scan must return exactly the batches before the first
/// damaged one, and report whether a valid one follows it.
void damaged_batches(FuzzedDataProvider& data) {
  std::string content;
  std::uint64_t good_before = 0;
  bool damaged = false;
  bool good_behind = false;
  const int count = data.ConsumeIntegralInRange<int>(0, 6);
  for (int i = 0; i < count; ++i) {
    const std::string body = data.ConsumeRandomLengthString(200);
    std::string batch = encode_batch(kGeneration, static_cast<std::uint64_t>(i) + 1, 1, body);
    const bool damage = data.ConsumeBool();
    if (damage) {
      // Any bit except those of the padding, which nothing depends on.
      const auto bit = data.ConsumeIntegralInRange<std::size_t>(0, (kBatchHeaderBytes + body.size()) * 8 - 1);
      batch[bit / 8] = static_cast<char>(batch[bit / 8] ^ (1 << (bit % 8)));
    }
    if (!damage && !damaged) ++good_before;
    if (!damage && damaged) good_behind = true;
    damaged |= damage;
    content += batch;
  }
  const bool clean_end = data.ConsumeBool();
  const std::string rest = clean_end ? std::string(kBatchHeaderBytes, '\0') : data.ConsumeRemainingBytesAsString();
  const std::string segment = segment_of(content + rest);
  const SegmentScan found = scan(segment, kGeneration);
  if (!clean_end) return;  // the rest may contain a valid batch that the fuzzer has learnt to write
  PAWL_ASSERT(found.batches.size() == good_before);
  PAWL_ASSERT(found.bad_batch == damaged && found.valid_after_bad == good_behind);
}

void watermark(std::string bytes) {
  static_cast<void>(decode_watermark(bytes));
  bytes.resize(kWatermarkBytes, '\0');
  store_int(bytes.data() + kWatermarkBytes - 4, crc32c(std::string_view(bytes).substr(0, kWatermarkBytes - 4)));
  const auto mark = decode_watermark(bytes);
  PAWL_ASSERT(mark.has_value());
  PAWL_ASSERT(decode_watermark(encode_watermark(*mark)) == mark);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  switch (bytes[0] % 6) {
    case 0: scan_raw(rest); break;
    case 1: header_with_checksum(std::string(rest)); break;
    case 2: records_with_checksum(rest); break;
    case 3: {
      FuzzedDataProvider data(bytes + 1, size - 1);
      damaged_batches(data);
      break;
    }
    case 4: watermark(std::string(rest)); break;
    default: {
      FuzzedDataProvider data(bytes + 1, size - 1);
      header_copies(data);
      break;
    }
  }
  return 0;
}
