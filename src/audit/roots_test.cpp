#include "audit/roots.hpp"

#include <gtest/gtest.h>

#include "audit/audit_line.hpp"
#include "codec/record_text.hpp"

namespace pawl {
namespace {

constexpr std::uint32_t kSeed = 7;

std::vector<std::string> trail(std::size_t count) {
  std::vector<std::string> lines;
  std::string previous(first_previous_hash());
  for (std::size_t i = 1; i <= count; ++i) {
    AuditEntry entry{i, Timestamp{static_cast<std::int64_t>(i)}, "checkpoint_saved", Sequence{i}, "sha256:00", previous,
                     {}};
    if (i % 3 == 0) entry.agent = "a \"quoted\" agent";
    lines.push_back(encode_audit(entry));
    previous = entry.hash;
  }
  return lines;
}

/// A file that grew at the given sizes.
std::string roots_file(const std::vector<std::string>& lines, const std::vector<std::size_t>& sizes) {
  std::string text;
  SettledRoot root;
  std::uint64_t end = 0;
  for (const std::size_t size : sizes) {
    while (root.tree.size() < size) EXPECT_TRUE(add_entry(root, lines[root.tree.size()]));
    text.resize(end);
    text += next_root_text(root, end, kSeed);
    end = text.size() - kRootsEnd.size();
  }
  return text;
}

TEST(Roots, AFileThatGrewIsReadBackAndIsJson) {
  const auto lines = trail(20);
  const std::string text = roots_file(lines, {3, 4, 20});
  const RootsText parsed = parse_roots(text, kSeed);
  EXPECT_EQ(parsed.fault, "");
  ASSERT_EQ(parsed.roots.size(), 3U);
  EXPECT_EQ(parsed.end + kRootsEnd.size(), text.size());
  EXPECT_EQ(parsed.roots.back().tree.size(), 20U);
  std::uint64_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  EXPECT_EQ(parsed.roots.back().bytes, bytes);
  EXPECT_TRUE(text.starts_with("[\n{\"size\":3,"));
}

TEST(Roots, EveryChangeAndCutIsFound) {
  const std::string text = roots_file(trail(9), {2, 9});
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_NE(parse_roots(changed, kSeed).fault, "") << "byte " << i << " bit " << bit;
    }
    EXPECT_NE(parse_roots(text.substr(0, i), kSeed).fault, "") << "cut at " << i;
    EXPECT_NE(parse_roots(text.substr(0, i) + text.substr(i + 1), kSeed).fault, "") << "without " << i;
  }
  EXPECT_NE(parse_roots(text, kSeed + 1).fault, "") << "of another run";
  EXPECT_NE(parse_roots(text + "\n", kSeed).fault, "");
}

TEST(Roots, ACutFileKeepsWhatIsWhole) {
  const std::string text = roots_file(trail(9), {2, 9});
  const RootsText parsed = parse_roots(text.substr(0, text.size() - 20), kSeed);
  ASSERT_EQ(parsed.roots.size(), 1U);
  EXPECT_EQ(parsed.roots[0].tree.size(), 2U);
}

TEST(Roots, OnlyTheNextEntryIsTaken) {
  const auto lines = trail(3);
  SettledRoot root;
  EXPECT_FALSE(add_entry(root, lines[1]));
  EXPECT_TRUE(add_entry(root, lines[0]));
  EXPECT_FALSE(add_entry(root, lines[0]));
  EXPECT_FALSE(add_entry(root, "{}\n"));
  EXPECT_EQ(root.tree.size(), 1U);
}

TEST(AuditLine, SeesWhatTheDecoderSees) {
  AuditEntry entry{12,
                   Timestamp{5},
                   "approved \\ \"x\"",
                   Sequence{3},
                   "sha256:ab",
                   std::string(64, 'a'),
                   {},
                   9,
                   "sha256:cd",
                   "user \"u\"",
                   "host",
                   "agent, \"prev\":",
                   {}};
  const std::string line = encode_audit(entry);
  const auto parsed = AuditLine::parse(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->index, 12U);
  EXPECT_EQ(parsed->at, Timestamp{5}.text());
  EXPECT_EQ(parsed->type, R"(approved \\ \"x\")");
  EXPECT_EQ(parsed->sequence, 3U);
  EXPECT_EQ(parsed->payload, "sha256:ab");
  EXPECT_EQ(parsed->event, 9U);
  EXPECT_EQ(parsed->events, "sha256:cd");
  EXPECT_EQ(parsed->previous, entry.previous);
  EXPECT_EQ(parsed->hash, entry.hash);
  EXPECT_TRUE(equals_hex(sha256(from_hex(entry.previous), parsed->body), parsed->hash));
  EXPECT_EQ(decode_audit(std::string_view(line).substr(0, line.size() - 1))->agent, entry.agent);
}

TEST(AuditLine, RefusesEveryBeginningOfALine) {
  AuditEntry entry{1, Timestamp{5}, "x", Sequence{3}, {}, std::string(64, 'a'), {}};
  const std::string line = encode_audit(entry);
  for (std::size_t size = 0; size + 1 < line.size(); ++size)
    EXPECT_FALSE(AuditLine::parse(std::string_view(line).substr(0, size))) << size;
}

}  // namespace
}  // namespace pawl
