#include "adapters/filesystem/journal_format.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kGeneration = 0x1122334455667789;
constexpr std::uint64_t kOldGeneration = 0x1122334455667787;

SegmentHeader some_header(std::uint64_t position, std::uint64_t generation) {
  return {*Uuid::parse("238d9491-9855-4cdb-9d45-35ed7d92bc78"), 3, position, generation, 40};
}

std::string flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

/// A segment with these bytes after its headers, followed by zeros.
std::string segment_of(std::string_view batches) {
  std::string bytes = encode_segment_header(some_header(5, kGeneration));
  bytes.resize(kSegmentHeaderBytes, '\0');
  return bytes.append(batches).append(256, '\0');
}

std::string batch(std::uint64_t number, std::string_view body, std::uint64_t generation = kGeneration) {
  return encode_batch(generation, number, 1, body);
}

TEST(SegmentHeader, GoesBothWays) {
  const std::string bytes = encode_segment_header(some_header(5, kGeneration));
  EXPECT_EQ(bytes.size(), kSegmentHeaderUsed);
  const auto back = decode_segment_header(bytes);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(*back, some_header(5, kGeneration));
}

TEST(SegmentHeader, FindsEveryFlippedBitAndEveryCut) {
  const std::string bytes = encode_segment_header(some_header(5, kGeneration));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto header = decode_segment_header(flipped(bytes, bit));
    ASSERT_TRUE(!header && header.error().code == Code::journal_corrupt) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_segment_header(bytes.substr(0, size)));
}

std::string two_copies(std::string_view first, std::string_view second) {
  std::string bytes(first);
  bytes.resize(kSegmentHeaderBytes / 2, '\0');
  bytes += second;
  bytes.resize(kSegmentHeaderBytes, '\0');
  return bytes;
}

TEST(SegmentHeader, TheCopyWithTheHigherPositionIsInForce) {
  const std::string older = encode_segment_header(some_header(5, kOldGeneration));
  const std::string newer = encode_segment_header(some_header(8, kGeneration));
  std::uint64_t offset = 1;
  bool other_is_damaged = true;
  EXPECT_EQ(choose_segment_header(two_copies(older, newer), offset, other_is_damaged)->generation, kGeneration);
  EXPECT_TRUE(offset == kSegmentHeaderBytes / 2 && !other_is_damaged);
  EXPECT_EQ(choose_segment_header(two_copies(newer, older), offset, other_is_damaged)->generation, kGeneration);
  EXPECT_TRUE(offset == 0 && !other_is_damaged);
  EXPECT_EQ(choose_segment_header(two_copies(older, ""), offset, other_is_damaged)->generation, kOldGeneration);
  EXPECT_TRUE(offset == 0 && !other_is_damaged);
}

TEST(SegmentHeader, ADamagedCopyLeavesTheOther) {
  const std::string older = encode_segment_header(some_header(5, kOldGeneration));
  const std::string newer = encode_segment_header(some_header(8, kGeneration));
  std::uint64_t offset = 1;
  bool other_is_damaged = false;
  EXPECT_EQ(choose_segment_header(two_copies(older, flipped(newer, 99)), offset, other_is_damaged)->generation,
            kOldGeneration);
  EXPECT_TRUE(offset == 0 && other_is_damaged);
  EXPECT_FALSE(choose_segment_header(two_copies(flipped(older, 99), flipped(newer, 99)), offset, other_is_damaged));
}

TEST(Batch, RecordsGoBothWays) {
  std::string body;
  JournalRecord record;
  record.type = RecordType::checkpoint;
  record.flags = RecordFlags::own_file;
  record.run_uuid = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");
  record.sequence.value = 7;
  record.parent.value = 6;
  record.number = 5;
  record.key_id = 4;
  record.nonce = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  record.run = "alpha";
  record.text = "{\"seq\":7}\n";
  append_record(body, record);
  record.text = "";
  append_record(body, record);
  const auto back = decode_records({0, 0, 1, 2, body});
  ASSERT_TRUE(back) << describe(back.error());
  ASSERT_EQ(back->size(), 2U);
  const JournalRecord& first = back->front();
  EXPECT_TRUE(first.type == record.type && first.flags == record.flags && first.run_uuid == record.run_uuid);
  EXPECT_TRUE(first.sequence == record.sequence && first.parent == record.parent && first.number == record.number);
  EXPECT_TRUE(first.key_id == record.key_id && first.nonce == record.nonce && first.run == "alpha");
  EXPECT_EQ(first.text, "{\"seq\":7}\n");
  EXPECT_EQ(back->back().text, "");
}

TEST(Batch, RecordsThatDoNotAddUpAreRefused) {
  std::string body;
  append_record(body, {});
  EXPECT_TRUE(decode_records({0, 0, 1, 1, body}));
  EXPECT_FALSE(decode_records({0, 0, 1, 0, body}));
  EXPECT_FALSE(decode_records({0, 0, 1, 2, body}));
  for (std::size_t size = 1; size < body.size(); ++size)
    EXPECT_FALSE(decode_records({0, 0, 1, 1, std::string_view(body).substr(0, size)}));
  EXPECT_TRUE(decode_records({0, 0, 1, 0, ""}));
}

TEST(Batch, IsPaddedToAMultipleOfEight) {
  for (std::size_t size = 0; size < 20; ++size) {
    const std::string bytes = batch(1, std::string(size, 'x'));
    EXPECT_EQ(bytes.size() % kBatchAlignment, 0U);
    EXPECT_EQ(bytes.size(), batch_size(size));
  }
}

TEST(Scan, FindsTheBatchesAndTheEnd) {
  const std::string segment = segment_of(batch(7, "one") + batch(8, "") + batch(9, "three"));
  const SegmentScan scan = scan_segment(segment, kGeneration);
  ASSERT_EQ(scan.batches.size(), 3U);
  EXPECT_EQ(scan.batches[0].number, 7U);
  EXPECT_EQ(scan.batches[0].body, "one");
  EXPECT_EQ(scan.batches[2].body, "three");
  EXPECT_EQ(scan.end, segment.size() - 256);
  EXPECT_FALSE(scan.bad_batch || scan.valid_after_bad || hidden_batch(segment, scan, kGeneration));
}

TEST(Scan, DoesNotReadRemainsOfAnEarlierUse) {
  const std::string segment = segment_of(batch(7, "new") + batch(3, "old", kOldGeneration));
  const SegmentScan scan = scan_segment(segment, kGeneration);
  EXPECT_EQ(scan.batches.size(), 1U);
  EXPECT_FALSE(scan.bad_batch || hidden_batch(segment, scan, kGeneration));
}

/// Flips every bit of the last batch's header and body. None of them makes it look like the end of the journal.
TEST(Scan, EveryFlippedBitOfTheLastBatchIsABadBatch) {
  const std::string first = batch(7, "first");
  const std::string last = batch(8, "last body");
  for (std::size_t bit = 0; bit < (kBatchHeaderBytes + 9) * 8; ++bit) {
    const SegmentScan scan = scan_segment(segment_of(first + flipped(last, bit)), kGeneration);
    ASSERT_EQ(scan.batches.size(), 1U) << bit;
    ASSERT_TRUE(scan.bad_batch && !scan.valid_after_bad) << bit;
  }
}

TEST(Scan, EveryFlippedBitBeforeAValidBatchIsDamage) {
  const std::string first = batch(7, "first");
  const std::string last = batch(8, "last body");
  for (std::size_t bit = 0; bit < (kBatchHeaderBytes + 5) * 8; ++bit) {
    const SegmentScan scan = scan_segment(segment_of(flipped(first, bit) + last), kGeneration);
    ASSERT_TRUE(scan.batches.empty() && scan.bad_batch && scan.valid_after_bad) << bit;
  }
}

TEST(Scan, ABatchThatWasCutIsBad) {
  const std::string last = batch(8, std::string(200, 'x'));
  for (std::size_t size = 1; size < kBatchHeaderBytes + 200; ++size) {
    const SegmentScan scan = scan_segment(segment_of(last.substr(0, size)), kGeneration);
    EXPECT_TRUE(scan.batches.empty()) << size;
    EXPECT_EQ(scan.bad_batch, size >= 8) << size;
  }
}

TEST(Scan, SeesWhatIsHiddenBehindAnErasedHeader) {
  const std::string segment = segment_of(std::string(kBatchHeaderBytes, '\0') + batch(8, "hidden"));
  const SegmentScan scan = scan_segment(segment, kGeneration);
  EXPECT_FALSE(scan.bad_batch);
  EXPECT_TRUE(hidden_batch(segment, scan, kGeneration));
}

TEST(Scan, OfTooFewBytesIsEmpty) {
  for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 4159U}) {
    const SegmentScan scan = scan_segment(std::string(size, '\0'), kGeneration);
    EXPECT_TRUE(scan.batches.empty() && !scan.bad_batch) << size;
  }
}

TEST(Watermark, GoesBothWaysAndFindsEveryFlippedBit) {
  const Watermark mark{"01234567-89ab-cdef-0123-456789abcdef", 41, 2};
  const std::string bytes = encode_watermark(mark);
  EXPECT_EQ(bytes.size(), kWatermarkBytes);
  EXPECT_EQ(decode_watermark(bytes), mark);
  EXPECT_EQ(decode_watermark(encode_watermark({"boot", 1, 1})), (Watermark{"boot", 1, 1}));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) EXPECT_FALSE(decode_watermark(flipped(bytes, bit))) << bit;
  EXPECT_FALSE(decode_watermark(""));
  EXPECT_FALSE(decode_watermark(bytes + "x"));
}

std::string record_of(std::string_view run, std::uint64_t sequence) {
  JournalRecord record;
  record.type = RecordType::checkpoint;
  record.run = run;
  record.sequence.value = sequence;
  record.text = "text\n";
  std::string body;
  append_record(body, record);
  return body;
}

TEST(RunsFilter, ContainsEveryRunOfTheBatchAndFewOthers) {
  RunsFilter filter;
  EXPECT_TRUE(filter.empty());
  for (int i = 0; i < 8; ++i) filter.add("run-" + std::to_string(i));
  std::size_t others = 0;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(filter.may_have("run-" + std::to_string(i)));
  for (int i = 0; i < 1000; ++i) others += filter.may_have("other-" + std::to_string(i)) ? 1U : 0U;
  EXPECT_LT(others, 30U);
}

TEST(Salvage, BatchesAfterADamagedOneAreFound) {
  const std::string first = batch(41, record_of("a", 1));
  const std::string second = batch(42, record_of("b", 2));
  const std::string third = batch(43, record_of("c", 3));
  const std::string good = segment_of(first + second + third);
  for (std::size_t byte = 0; byte < 64 + record_of("b", 2).size(); ++byte) {
    const std::string segment = flipped(good, (kSegmentHeaderBytes + first.size() + byte) * 8 + byte % 8);
    const SegmentScan scan = scan_segment(segment, kGeneration);
    ASSERT_TRUE(scan.valid_after_bad && scan.batches.size() == 1 && scan.after.size() == 1) << byte;
    EXPECT_EQ(scan.after.front().number, 43U);
    ASSERT_EQ(scan.holes.size(), 1U);
    const auto parts = salvage(segment, scan.holes.front(), kGeneration);
    ASSERT_EQ(parts.size(), 1U) << byte;
    if (byte >= kBatchHeaderBytes) {
      EXPECT_TRUE(parts[0].header_valid && !parts[0].body_valid && parts[0].number == 42);
      EXPECT_TRUE(parts[0].runs.may_have("b") && !parts[0].runs.may_have("a") && !parts[0].runs.may_have("c"));
    } else {
      const bool body_sum = byte >= 56 && byte < 60;
      EXPECT_TRUE(!parts[0].header_valid && parts[0].body_valid != body_sum) << byte;
      ASSERT_TRUE(parts[0].complete) << byte;
      EXPECT_EQ(parts[0].records.front().run, "b");
    }
  }
}

TEST(Salvage, TheFirstBatchTellsTheGeneration) {
  const std::string segment = segment_of(batch(41, record_of("a", 1)));
  EXPECT_EQ(generation_of_first_batch(segment), kGeneration);
  EXPECT_FALSE(generation_of_first_batch(flipped(segment, (kSegmentHeaderBytes + 70) * 8)));
  EXPECT_FALSE(generation_of_first_batch(segment_of("")));
}

}  // namespace
}  // namespace pawl
