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
static_assert(kWatermarkOffset + kWatermarkBytes == 576 && kBootIdBytes + 8 + 4 + 8 <= kWatermarkBytes - 4);
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

std::optional<Batch> next_valid_batch(std::string_view segment, std::uint64_t from, std::uint64_t generation) {
  for (std::uint64_t at = from + kBatchAlignment; at + kBatchHeaderBytes <= segment.size(); at += kBatchAlignment) {
    if (load_int<std::uint64_t>(segment.data() + at) != generation) continue;
    if (auto batch = valid_batch(segment, at, generation)) return batch;
  }
  return std::nullopt;
}

/// Three of 160 bits for each run.
std::array<std::uint64_t, 3> filter_bits(std::string_view run) {
  constexpr std::uint64_t kBits = RunsFilter::kBytes * 8;
  std::uint64_t mixed = crc32c(run) + 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  return {mixed % kBits, (mixed >> 20U) % kBits, (mixed >> 40U) % kBits};
}

JournalRecord take_record(ByteReader& reader) {
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
  return record;
}

/// Reads only what leads to the name of each record's run.
void add_runs(std::string_view body, RunsFilter& runs) {
  constexpr std::size_t kRunLengthAt = kRecordFixedBytes - 8;
  std::string_view last;
  while (body.size() >= kRecordFixedBytes) {
    const auto run_bytes = load_int<std::uint32_t>(body.data() + kRunLengthAt);
    if (run_bytes > body.size() - kRecordFixedBytes) break;
    const std::string_view run = body.substr(kRunLengthAt + 4, run_bytes);
    if (run != last) runs.add(run);
    last = run;
    const auto text_bytes = load_int<std::uint32_t>(body.data() + kRunLengthAt + 4 + run_bytes);
    if (text_bytes > body.size() - kRecordFixedBytes - run_bytes) break;
    body.remove_prefix(kRecordFixedBytes + run_bytes + text_bytes);
  }
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
  while (reader.ok() && !reader.rest().empty()) records.push_back(take_record(reader));
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
  RunsFilter runs;
  for (const std::string_view body : bodies) add_runs(body, runs);
  out.append(reinterpret_cast<const char*>(runs.bytes.data()), runs.bytes.size());
  put_int(out, body_crc);
  put_int(out, crc32c(out, salt));
  PAWL_ASSERT(out.size() == kBatchHeaderBytes);
  for (const std::string_view body : bodies) out += body;
  out.resize(batch_size(size), '\0');
  return out;
}

void RunsFilter::add(std::string_view run) {
  for (const std::uint64_t bit : filter_bits(run)) bytes[bit / 8] |= static_cast<std::uint8_t>(1U << (bit % 8));
}

bool RunsFilter::may_have(std::string_view run) const {
  for (const std::uint64_t bit : filter_bits(run)) {
    if ((bytes[bit / 8] & (1U << (bit % 8))) == 0) return false;
  }
  return true;
}

namespace {

/// Finds the valid batches after an invalid one at `scan.end`, and the holes before and between them.
void scan_behind_damage(std::string_view segment, std::uint64_t generation, SegmentScan& scan) {
  std::uint64_t end = scan.end;
  while (const auto next = next_valid_batch(segment, end, generation)) {
    scan.holes.push_back({end, next->offset});
    for (auto batch = next; batch; batch = valid_batch(segment, end, generation)) {
      scan.after.push_back(*batch);
      end = batch->end;
    }
    scan.valid_after_bad = true;
    scan.after_end = end;
    const bool more = end + kBatchHeaderBytes <= segment.size() && claims_generation(segment.substr(end), generation);
    if (!more) break;
  }
}

}  // namespace

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
    scan_behind_damage(segment, generation, scan);
  }
  return scan;
}

void look_behind_end(std::string_view segment, std::uint64_t generation, SegmentScan& scan) {
  if (scan.bad_batch) return;
  scan_behind_damage(segment, generation, scan);
  scan.bad_batch = scan.valid_after_bad;
}

std::uint64_t skip_batches(std::string_view segment, std::uint64_t offset, std::uint64_t generation) {
  while (offset + kBatchHeaderBytes <= segment.size() && claims_generation(segment.substr(offset), generation))
    offset += batch_size(load_int<std::uint32_t>(segment.data() + offset + 8));
  return offset;
}

std::optional<std::uint64_t> generation_of_first_batch(std::string_view segment) {
  if (segment.size() < kSegmentHeaderBytes + kBatchHeaderBytes) return std::nullopt;
  const auto generation = load_int<std::uint64_t>(segment.data() + kSegmentHeaderBytes);
  if (!valid_batch(segment, kSegmentHeaderBytes, generation)) return std::nullopt;
  return generation;
}

std::vector<SalvagedBatch> salvage(std::string_view segment, const Hole& hole, std::uint64_t generation) {
  std::vector<SalvagedBatch> found;
  const std::uint64_t end = std::min<std::uint64_t>(hole.end, segment.size());
  for (std::uint64_t at = hole.offset; at < end; at = found.back().place.end) {
    SalvagedBatch& batch = found.emplace_back();
    batch.place = {at, end};
    if (at + kBatchHeaderBytes > end) break;
    const std::string_view header = segment.substr(at, kBatchHeaderBytes);
    if (!claims_generation(header, generation)) break;
    const std::uint32_t salt = salt_of(generation);
    batch.header_valid =
        load_int<std::uint32_t>(header.data() + kBatchHeaderCrcAt) == crc32c(header.substr(0, kBatchHeaderCrcAt), salt);
    if (batch.header_valid) {
      batch.number = load_int<std::uint64_t>(header.data() + 16);
      batch.record_count = load_int<std::uint32_t>(header.data() + 12);
      std::memcpy(batch.runs.bytes.data(), header.data() + 36, batch.runs.bytes.size());
    }
    const std::uint64_t room = end - at - kBatchHeaderBytes;
    const auto body_sum = load_int<std::uint32_t>(header.data() + 56);
    std::optional<std::uint64_t> length;
    for (const std::size_t copy : {8U, 32U}) {
      const auto claimed = load_int<std::uint32_t>(header.data() + copy);
      if (claimed > room) continue;
      batch.body_valid = crc32c(segment.substr(at + kBatchHeaderBytes, claimed), salt) == body_sum;
      // Without a valid body, a length from a damaged header counts only if it ends where the hole ends.
      if (batch.body_valid || batch.header_valid || at + batch_size(claimed) == end) length = claimed;
      if (batch.body_valid) break;
    }
    if (!length) break;
    batch.place.end = std::min(end, at + batch_size(*length));
    ByteReader reader(segment.substr(at + kBatchHeaderBytes, *length));
    while (reader.ok() && !reader.rest().empty()) batch.records.push_back(take_record(reader));
    batch.complete = reader.ok() && (!batch.header_valid || batch.records.size() == batch.record_count);
    if (!reader.ok()) batch.records.pop_back();
  }
  return found;
}

bool hidden_batch(std::string_view segment, const SegmentScan& scan, std::uint64_t generation) {
  return next_valid_batch(segment, scan.end, generation).has_value();
}

std::string encode_watermark(const Watermark& mark) {
  std::string out = mark.boot_id;
  out.resize(kBootIdBytes, '\0');
  put_int(out, mark.batch_number);
  put_int(out, mark.segments_named);
  put_int(out, mark.file_id);
  return with_mark_checksum(std::move(out));
}

std::optional<Watermark> decode_watermark(std::string_view bytes) {
  if (!is_mark(bytes)) return std::nullopt;
  Watermark mark;
  mark.boot_id = boot_id_in(bytes);
  mark.batch_number = load_int<std::uint64_t>(bytes.data() + kBootIdBytes);
  mark.segments_named = load_int<std::uint32_t>(bytes.data() + kBootIdBytes + 8);
  mark.file_id = load_int<std::uint64_t>(bytes.data() + kBootIdBytes + 12);
  return mark;
}

std::string encode_published(const PublishedRange& range) {
  std::string out = range.boot_id;
  out.resize(kBootIdBytes, '\0');
  put_int(out, range.first);
  put_int(out, range.last);
  put_int(out, range.file_id);
  return with_mark_checksum(std::move(out));
}

std::optional<PublishedRange> decode_published(std::string_view bytes) {
  if (!is_mark(bytes)) return std::nullopt;
  return PublishedRange{boot_id_in(bytes), load_int<std::uint64_t>(bytes.data() + kBootIdBytes),
                        load_int<std::uint64_t>(bytes.data() + kBootIdBytes + 8),
                        load_int<std::uint64_t>(bytes.data() + kBootIdBytes + 16)};
}

}  // namespace pawl
