#include "codec/erased_text.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

ErasedRecord record() {
  return {.run = "alpha",
          .uuid = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca"),
          .created = *Timestamp::parse("2026-01-11T14:30:00.000000Z"),
          .at = *Timestamp::parse("2026-02-01T08:00:00.000001Z"),
          .by = "ada@host",
          .reason = "request \"17\"",
          .checkpoints = 12,
          .latest = {14},
          .finished = false};
}

TEST(ErasedText, AMarkComesBackAsItWasAndEveryChangedBitIsFound) {
  const std::string text = encode_erased(record());
  EXPECT_EQ(
      text,
      R"({"pawl":1,"run":"alpha","uuid":"f204a1d5-8a93-4062-89ff-98071e9ca6ca","created":"2026-01-11T14:30:00.000000Z",)"
      R"("erased":"2026-02-01T08:00:00.000001Z","by":"ada@host","reason":"request \"17\"","checkpoints":12,"latest":14,)"
      R"("state":"pending","crc":")" +
          text.substr(text.size() - 11));
  const auto back = decode_erased(text);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(encode_erased(*back), text);
  EXPECT_FALSE(back->finished);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 4);
    EXPECT_FALSE(decode_erased(other)) << i;
  }
}

TEST(ErasedText, AFinishedMarkSaysSo) {
  ErasedRecord finished = record();
  finished.finished = true;
  EXPECT_TRUE(decode_erased(encode_erased(finished))->finished);
}

TEST(ErasedText, ANewerFormatIsRefused) {
  std::string text = encode_erased(record());
  text.replace(text.find("\"pawl\":1"), 8, "\"pawl\":2");
  EXPECT_FALSE(decode_erased(text));
}

TEST(ErasedText, TheLastEntryOfAnAuditTrailIsChainedToTheRest) {
  AuditEntry first{1, record().created, "checkpoint_saved", {1}, "sha256:00", std::string(first_previous_hash()), {}};
  static_cast<void>(encode_audit(first));
  const std::string line = encode_erased_entry(record(), 2, first.hash);
  const auto entry = decode_audit(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->type, "erased");
  EXPECT_EQ(entry->index, 2U);
  EXPECT_EQ(entry->previous, first.hash);
  EXPECT_FALSE(entry->sequence);
  EXPECT_NE(line.find(R"("by":"ada@host","reason":"request \"17\"","checkpoints":12,)"), std::string::npos) << line;
}

}  // namespace
}  // namespace pawl
