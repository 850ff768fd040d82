#include "adapters/filesystem/journal_format.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "codec/sealed_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kMagic = "PAWLJRN1";
constexpr std::size_t kHeaderCrcAt = kSegmentHeaderUsed - 4;
constexpr std::size_t kBatchHeaderCrcAt = kBatchHeaderBytes - 4;
constexpr std::size_t kRecordFixedBytes = 1 + 1 + 2 + 16 + 8 + 8 + 8 + 4 + 12 + 4 + 4;
constexpr std::size_t kBootIdBytes = 36;
static_assert(kHeaderCrcAt == 508 && kBatchHeaderCrcAt == 60 && kRecordFixedBytes == 68,
              "docs/formats/journal.md says so");
static_assert(kWatermarkOffset + kWatermarkBytes == 576 && kBootIdBytes + 8 + 4 <= kWatermarkBytes - 4);
static_assert(kSegmentHeaderBytes % kBatchAlignment == 0 && kBatchHeaderBytes % kBatchAlignment == 0);
static_assert(kSegmentHeaderUsed <= kSegmentHeaderBytes / 2, "there are two copies");

std::uint32_t salt_of(std::uint64_t generation) {
  std::string bytes;
  put_int(bytes, generation);
  return crc32c(bytes);
}

std::string_view bytes_of(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}

Uuid take_uuid(ByteReader& reader) {
  Uuid uuid;
  const std::string_view raw = reader.take(uuid.bytes.size());
  if (raw.size() == uuid.bytes.size()) std::memcpy(uuid.bytes.data(), raw.data(), raw.size());
  return uuid;
}

/// Returns whether a batch of this generation starts here, according to either copy of the header.
bool claims_generation(std::string_view at, std::uint64_t generation) {
  return load_int<std::uint64_t>(at.data()) == generation || load_int<std::uint64_t>(at.data() + 24) == generation;
}

std::optional<Batch> valid_batch(std::string_view segment, std::uint64_t offset, std::uint64_t generation) {
  if (offset + kBatchHeaderBytes > segment.size()) return std::nullopt;
  const std::string_view header = segment.substr(offset, kBatchHeaderBytes);
  const std::uint32_t salt = salt_of(generation);
  if (load_int<std::uint64_t>(header.data()) != generation) return std::nullopt;
  if (load_int<std::uint32_t>(header.data() + kBatchHeaderCrcAt) != crc32c(header.substr(0, kBatchHeaderCrcAt), salt)) {
    return std::nullopt;
  }
  const auto body_bytes = load_int<std::uint32_t>(header.data() + 8);
  if (body_bytes > segment.size() - offset - kBatchHeaderBytes) return std::nullopt;
  const std::string_view body = segment.substr(offset + kBatchHeaderBytes, body_bytes);
  if (load_int<std::uint32_t>(header.data() + 56) != crc32c(body, salt)) return std::nullopt;
  Batch batch;
  batch.offset = offset;
  batch.end = offset + batch_size(body_bytes);
  batch.number = load_int<std::uint64_t>(header.data() + 16);
  batch.record_count = load_int<std::uint32_t>(header.data() + 12);
  batch.body = body;
  return batch;
}

bool any_valid_batch_behind(std::string_view segment, std::uint64_t from, std::uint64_t generation) {
  for (std::uint64_t at = from + kBatchAlignment; at + kBatchHeaderBytes <= segment.size(); at += kBatchAlignment) {
    if (load_int<std::uint64_t>(segment.data() + at) == generation && valid_batch(segment, at, generation)) return true;
  }
  return false;
}

// The layout after the owner's text: a boot id, numbers, zeros, a checksum.

std::string with_mark_checksum(std::string mark) {
  mark.resize(kWatermarkBytes - 4, '\0');
  put_int(mark, crc32c(mark));
  return mark;
}

bool is_mark(std::string_view bytes) {
  return bytes.size() == kWatermarkBytes &&
         load_int<std::uint32_t>(bytes.data() + kWatermarkBytes - 4) == crc32c(bytes.substr(0, kWatermarkBytes - 4));
}

std::string boot_id_in(std::string_view mark) {
  std::string id(mark.substr(0, kBootIdBytes));
  id.resize(std::strlen(id.c_str()));
  return id;
}

}  // namespace

std::string encode_segment_header(const SegmentHeader& header) {
  std::string out(kMagic);
  put_int(out, kJournalFormat);
  put_int(out, std::uint32_t{0});
  out += bytes_of(header.store);
  put_int(out, header.journal);
  put_int(out, header.position);
  put_int(out, header.generation);
  put_int(out, header.settled_through);
  out.resize(kHeaderCrcAt, '\0');
  put_int(out, crc32c(out));
  return out;
}

Result<SegmentHeader> decode_segment_header(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderUsed) return fail(Code::journal_corrupt, "a journal segment is too short");
  bytes = bytes.substr(0, kSegmentHeaderUsed);
  const bool intact = load_int<std::uint32_t>(bytes.data() + kHeaderCrcAt) == crc32c(bytes.substr(0, kHeaderCrcAt));
  if (!intact || !bytes.starts_with(kMagic))
    return fail(Code::journal_corrupt, "a journal segment's header is damaged");
  ByteReader reader(bytes.substr(kMagic.size()));
  const auto format = reader.take_int<std::uint32_t>();
  if (format > kJournalFormat) {
    return fail(newer_format("a journal", format, kJournalFormat));
  }
  reader.take(4);
  SegmentHeader header;
  header.store = take_uuid(reader);
  header.journal = reader.take_int<std::uint64_t>();
  header.position = reader.take_int<std::uint64_t>();
  header.generation = reader.take_int<std::uint64_t>();
  header.settled_through = reader.take_int<std::uint64_t>();
  return header;
}

Result<SegmentHeader> choose_segment_header(std::string_view bytes, std::uint64_t& offset, bool& other_is_damaged) {
  if (bytes.size() < kSegmentHeaderBytes) return fail(Code::journal_corrupt, "a journal segment is too short");
  constexpr std::uint64_t kSecond = kSegmentHeaderBytes / 2;
  auto first = decode_segment_header(bytes);
  auto second = decode_segment_header(bytes.substr(kSecond));
  if (!first && !second) return first;
  const bool take_second = !first || (second && second->position > first->position);
  offset = take_second ? kSecond : 0;
  const std::string_view other = bytes.substr(take_second ? 0 : kSecond, kSegmentHeaderUsed);
  other_is_damaged = !(take_second ? first : second) && other.find_first_not_of('\0') != std::string_view::npos;
  return take_second ? second : first;
}

void append_record(std::string& body, const JournalRecord& record) {
  put_int(body, static_cast<std::uint8_t>(record.type));
  put_int(body, static_cast<std::uint8_t>(record.flags));
  put_int(body, std::uint16_t{0});
  body += bytes_of(record.run_uuid);
  put_int(body, record.sequence.value);
  put_int(body, record.parent.value);
  put_int(body, record.number);
  put_int(body, record.key_id);
  body.append(reinterpret_cast<const char*>(record.nonce.data()), record.nonce.size());
  put_string(body, record.run);
  put_string(body, record.text);
}

Result<std::vector<JournalRecord>> decode_records(const Batch& batch) {
  std::vector<JournalRecord> records;
  records.reserve(std::min<std::size_t>(batch.record_count, batch.body.size() / kRecordFixedBytes));
  ByteReader reader(batch.body);
  while (reader.ok() && !reader.rest().empty()) {
    JournalRecord record;
    record.type = static_cast<RecordType>(reader.take_int<std::uint8_t>());
    record.flags = static_cast<RecordFlags>(reader.take_int<std::uint8_t>());
    reader.take(2);
    record.run_uuid = take_uuid(reader);
    record.sequence.value = reader.take_int<std::uint64_t>();
    record.parent.value = reader.take_int<std::uint64_t>();
    record.number = reader.take_int<std::uint64_t>();
    record.key_id = reader.take_int<std::uint32_t>();
    const std::string_view nonce = reader.take(record.nonce.size());
    if (nonce.size() == record.nonce.size()) std::memcpy(record.nonce.data(), nonce.data(), nonce.size());
    record.run = reader.take_string();
    record.text = reader.take_string();
    records.push_back(record);
  }
  if (!reader.ok() || records.size() != batch.record_count) {
    return fail(Code::journal_corrupt, "the records of batch {} of a journal don't match its header", batch.number);
  }
  return records;
}

std::uint64_t batch_size(std::uint64_t body_bytes) {
  return (kBatchHeaderBytes + body_bytes + kBatchAlignment - 1) / kBatchAlignment * kBatchAlignment;
}

std::string encode_batch(std::uint64_t generation, std::uint64_t number, std::uint32_t record_count,
                         std::span<const std::string_view> bodies) {
  std::uint64_t size = 0;
  for (const std::string_view body : bodies) size += body.size();
  PAWL_ASSERT(size < (std::uint64_t{1} << 31));
  const std::uint32_t salt = salt_of(generation);
  const auto body_bytes = static_cast<std::uint32_t>(size);
  std::uint32_t body_crc = salt;
  for (const std::string_view body : bodies) body_crc = crc32c(body, body_crc);
  std::string out;
  out.reserve(batch_size(size));
  put_int(out, generation);
  put_int(out, body_bytes);
  put_int(out, record_count);
  put_int(out, number);
  put_int(out, generation);
  put_int(out, body_bytes);
  out.resize(56, '\0');
  put_int(out, body_crc);
  put_int(out, crc32c(out, salt));
  PAWL_ASSERT(out.size() == kBatchHeaderBytes);
  for (const std::string_view body : bodies) out += body;
  out.resize(batch_size(size), '\0');
  return out;
}

SegmentScan scan_segment(std::string_view segment, std::uint64_t generation) {
  SegmentScan scan;
  while (scan.end + kBatchHeaderBytes <= segment.size()) {
    auto batch = valid_batch(segment, scan.end, generation);
    if (!batch) break;
    scan.end = batch->end;
    scan.batches.push_back(*batch);
  }
  if (scan.end + kBatchHeaderBytes <= segment.size() && claims_generation(segment.substr(scan.end), generation)) {
    scan.bad_batch = true;
    scan.valid_after_bad = any_valid_batch_behind(segment, scan.end, generation);
  }
  return scan;
}

bool hidden_batch(std::string_view segment, const SegmentScan& scan, std::uint64_t generation) {
  return any_valid_batch_behind(segment, scan.end, generation);
}

std::string encode_watermark(const Watermark& mark) {
  std::string out = mark.boot_id;
  out.resize(kBootIdBytes, '\0');
  put_int(out, mark.batch_number);
  put_int(out, mark.segments_named);
  return with_mark_checksum(std::move(out));
}

std::optional<Watermark> decode_watermark(std::string_view bytes) {
  if (!is_mark(bytes)) return std::nullopt;
  Watermark mark;
  mark.boot_id = boot_id_in(bytes);
  mark.batch_number = load_int<std::uint64_t>(bytes.data() + kBootIdBytes);
  mark.segments_named = load_int<std::uint32_t>(bytes.data() + kBootIdBytes + 8);
  return mark;
}

std::string encode_published(const PublishedRange& range) {
  std::string out = range.boot_id;
  out.resize(kBootIdBytes, '\0');
  put_int(out, range.first);
  put_int(out, range.last);
  return with_mark_checksum(std::move(out));
}

std::optional<PublishedRange> decode_published(std::string_view bytes) {
  if (!is_mark(bytes)) return std::nullopt;
  return PublishedRange{boot_id_in(bytes), load_int<std::uint64_t>(bytes.data() + kBootIdBytes),
                        load_int<std::uint64_t>(bytes.data() + kBootIdBytes + 8)};
}

}  // namespace pawl
