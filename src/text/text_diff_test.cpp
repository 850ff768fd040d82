#include "text/text_diff.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "text/utf8.hpp"

namespace pawl {
namespace {

using Splices = std::vector<Splice>;

std::size_t inserted_bytes(const Splices& splices) {
  std::size_t bytes = 0;
  for (const Splice& splice : splices) bytes += splice.inserted.size();
  return bytes;
}

/// Checks what holds for any two texts, and returns the splices.
Splices checked(const std::string& before, const std::string& after) {
  const Splices splices = diff_text(before, after);
  EXPECT_EQ(apply_splices(before, splices), after);
  if (is_valid_utf8(before) && is_valid_utf8(after)) {
    for (const Splice& splice : splices) EXPECT_TRUE(is_valid_utf8(splice.inserted)) << splice.inserted;
  }
  return splices;
}

/// A conversation like those of agents: all messages are different.
std::string conversation(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = R"({"step":1,"messages":[)";
  while (text.size() < bytes) {
    text += R"({"role":"assistant","content":")";
    for (std::size_t words = 20 + random() % 40; words > 0; --words) text += std::to_string(random()) + ' ';
    text += "\"},\n";
  }
  return text + R"({}],"tokens":12345,"done":false})";
}

std::string replaced(std::string text, std::size_t at, std::size_t removed, std::string_view inserted) {
  return text.replace(at, removed, inserted);
}

TEST(TextDiff, FindsNothingInEqualTexts) {
  EXPECT_TRUE(diff_text("", "").empty());
  EXPECT_TRUE(diff_text("same", "same").empty());
}

TEST(TextDiff, FindsOneChange) {
  EXPECT_EQ(checked("abcdef", "abXdef"), (Splices{{2, 1, "X"}}));
  EXPECT_EQ(checked("abc", "abcdef"), (Splices{{3, 0, "def"}}));
  EXPECT_EQ(checked("", "new"), (Splices{{0, 0, "new"}}));
  EXPECT_EQ(checked("old", ""), (Splices{{0, 3, ""}}));
  EXPECT_EQ(checked("aaa", "aaaa"), (Splices{{3, 0, "a"}}));
}

TEST(TextDiff, KeepsSequencesOfUtf8Whole) {
  EXPECT_EQ(checked("aéb", "aèb"), (Splices{{1, 2, "è"}}));                 // the first byte is the same
  EXPECT_EQ(checked("a\u00E9b", "a\u0169b"), (Splices{{1, 2, "\u0169"}}));  // the last byte is the same
  EXPECT_EQ(checked("😀", "😁"), (Splices{{0, 4, "😁"}}));
}

TEST(TextDiff, CostsAboutAsMuchAsAnAppendedMessage) {
  const std::string before = conversation(100'000, 1);
  const std::string message = R"({"role":"user","content":"go on"},)";
  const Splices splices = checked(before, replaced(before, before.rfind("{}]"), 0, message));
  EXPECT_EQ(splices.size(), 1U);
  EXPECT_EQ(inserted_bytes(splices), message.size());
}

TEST(TextDiff, CostsAboutAsMuchAsTwoDistantChanges) {
  const std::string before = conversation(100'000, 2);
  std::string after = replaced(before, before.find("1,\"messages"), 1, "42");
  after = replaced(after, after.rfind("12345"), 5, "678901");
  const Splices splices = checked(before, after);
  EXPECT_LE(splices.size(), 3U);
  EXPECT_LE(inserted_bytes(splices), 16U);
}

TEST(TextDiff, CostsAboutAsMuchAsManySmallChanges) {
  const std::string before = conversation(500'000, 3);
  std::string after = before;
  std::size_t changed = 0;
  for (std::size_t at = 10'000; at < after.size(); at += 20'000, ++changed) after.replace(at, changed % 9, "~changed~");
  const Splices splices = checked(before, after);
  EXPECT_LE(splices.size(), 2 * changed);
  EXPECT_LE(inserted_bytes(splices), 20 * changed);
}

TEST(TextDiff, FindsARestBehindALongRemovalOrInsertion) {
  const std::string before = conversation(400'000, 4);
  const std::string shorter = "{\"x\":0," + before.substr(300'000, 80'000) + "}";
  EXPECT_LE(inserted_bytes(checked(before, shorter)), 20'000U);
  const std::string longer = "{\"x\":0," + conversation(200'000, 5) + before.substr(1) + " ";
  EXPECT_LE(inserted_bytes(checked(before, longer)), 210'000U);
}

TEST(TextDiff, DoesNotFallForBoilerplateFarAhead) {
  std::string before;
  for (int i = 0; i < 2'000; ++i)
    before += R"({"role":"assistant","content":"message )" + std::to_string(i * 7919) + "\"},";
  const std::string fresh = R"({"role":"assistant","content":"something that was not there before"},)";
  std::string after = replaced(before, 0, 0, fresh);
  after = replaced(after, 50'000, 3, "xyz");
  EXPECT_LE(inserted_bytes(checked(before, after + "!")), 1'000U);
}

TEST(TextDiff, RebuildsRandomTexts) {
  std::mt19937 random(6);
  for (int round = 0; round < 4'000; ++round) {
    const std::size_t letters = 1 + random() % 4;
    const auto text = [&](std::size_t size_max) {
      std::string made;
      for (std::size_t left = random() % (size_max + 1); left > 0; --left) {
        constexpr std::string_view kLetters[] = {"a", "é", "😀", "b"};
        made += kLetters[random() % letters];
      }
      return made;
    };
    const std::string before = text(3'000);
    std::string after = before;
    for (std::size_t edits = random() % 5; edits > 0; --edits) {
      const std::size_t at = utf8_cut(after, random() % (after.size() + 1));
      const std::size_t end = utf8_cut(after, at + random() % 300);
      after.replace(at, end - at, text(100));
    }
    checked(before, round % 10 == 0 ? text(3'000) : after);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(TextDiff, RebuildsRandomBytes) {
  std::mt19937 random(8);
  for (int round = 0; round < 2'000; ++round) {
    const auto bytes = [&] {
      std::string made;
      for (std::size_t left = random() % 600; left > 0; --left) made += static_cast<char>(0x7E + random() % 4);
      return made;
    };
    const std::string same = bytes();
    checked(bytes() + same + bytes(), bytes() + same + bytes());
  }
}

TEST(TextDiff, StaysLinearOnHostileTexts) {
  const std::string zeros(4'000'000, '0');
  std::string sawtooth;
  while (sawtooth.size() < 4'000'000) sawtooth += std::string(33, '0') + "1";
  std::string blocks;
  while (blocks.size() < 4'000'000) blocks += conversation(40, static_cast<unsigned>(blocks.size() / 4096 % 7));
  // A search that is not linear takes hours here, which exceeds the time limit of the test program.
  checked(zeros, sawtooth);
  checked(sawtooth, zeros);
  checked(blocks, sawtooth + blocks.substr(1'000'000));
  checked("x" + zeros + "y", "a" + zeros.substr(5) + "b");
  checked(conversation(6'000'000, 1), conversation(6'000'000, 2));
}

TEST(TextDiff, RefusesSplicesThatDoNotFit) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(apply_splices("abc", {{4, 0, "x"}}), std::nullopt);
  EXPECT_EQ(apply_splices("abc", {{0, 4, "x"}}), std::nullopt);
  EXPECT_EQ(apply_splices("abc", {{3, kMost, ""}}), std::nullopt);
  EXPECT_EQ(apply_splices("abc", {{kMost, kMost, ""}}), std::nullopt);
  EXPECT_EQ(apply_splices("abc", {{2, 1, "x"}, {1, 0, "y"}}), std::nullopt);
  EXPECT_EQ(apply_splices("abc", {{0, 2, "x"}, {1, 1, "y"}}), std::nullopt);
  EXPECT_EQ(apply_splices("abc", {{3, 0, "x"}, {3, 0, "y"}}), "abcxy");
  EXPECT_EQ(apply_splices("abc", {}), "abc");
}

}  // namespace
}  // namespace pawl
