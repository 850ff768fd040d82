#include "audit/trail_archive.hpp"

#include <gtest/gtest.h>

#include "codec/compression.hpp"
#include "codec/record_text.hpp"

namespace pawl {
namespace {

/// Returns the lines of a trail, without newlines.
std::vector<std::string> make_trail(std::uint64_t count) {
  std::vector<std::string> lines;
  std::string previous(first_previous_hash());
  for (std::uint64_t i = 1; i <= count; ++i) {
    AuditEntry entry{.index = i,
                     .at = Timestamp{1'700'000'000'000'000 + static_cast<std::int64_t>(i) * 7919},
                     .type = i % 5 == 0 ? "approved" : "checkpoint_saved",
                     .sequence = Sequence{i},
                     .payload = "sha256:" + to_hex(sha256(std::to_string(i))),
                     .previous = previous};
    if (i % 5 == 0) entry.agent = "ann \"the\\ boss\" \xC3\xA4";
    std::string line = encode_audit(entry);
    line.pop_back();
    lines.push_back(std::move(line));
    previous = entry.hash;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string packed(const std::vector<std::string>& lines) {
  TrailPacker packer({});
  for (const std::string& line : lines) EXPECT_TRUE(packer.add(line));
  return packer.take();
}

TEST(TrailArchive, ReturnsTheSameLinesInLessThanAThirdOfTheSpace) {
  const auto lines = make_trail(1000);
  const std::string archive = packed(lines);
  const auto part = unpack_trail(archive);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->lines, joined(lines));
  EXPECT_EQ(part->begin.entry, 0U);
  EXPECT_EQ(part->end.entry, 1000U);
  EXPECT_EQ(part->stored_bytes, archive.size());
  EXPECT_LT(archive.size(), 100 * lines.size());
}

TEST(TrailArchive, PartsFollowEachOther) {
  const auto lines = make_trail(7);
  TrailPacker packer({});
  std::string archive;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_TRUE(packer.add(lines[i]));
    if (i == 2 || i == 6) archive += packer.take();
  }
  const auto first = unpack_trail(archive);
  ASSERT_TRUE(first);
  const auto second = unpack_trail(std::string_view(archive).substr(first->stored_bytes));
  ASSERT_TRUE(second);
  EXPECT_EQ(first->lines + second->lines, joined(lines));
  EXPECT_EQ(second->begin, first->end);
}

TEST(TrailArchive, RefusesEntriesThatDoNotFollow) {
  const auto lines = make_trail(4);
  TrailPacker packer({});
  EXPECT_FALSE(packer.add(lines[1]));
  EXPECT_TRUE(packer.add(lines[0]));
  EXPECT_FALSE(packer.add(lines[0]));
  EXPECT_FALSE(packer.add(lines[2]));
  std::string changed = lines[1];
  changed.replace(changed.find("sha256:") + 7, 1, "x");
  EXPECT_FALSE(packer.add(changed));
  EXPECT_FALSE(packer.add(lines[1] + " "));
  EXPECT_FALSE(packer.add(""));
  EXPECT_FALSE(packer.add("{}"));
  EXPECT_TRUE(packer.add(lines[1]));
}

TEST(TrailArchive, NoticesEveryFlippedBit) {
  const auto lines = make_trail(6);
  const std::string archive = packed(lines);
  for (std::size_t at = 0; at < archive.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = archive;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << static_cast<unsigned>(bit)));
      const auto part = unpack_trail(damaged);
      // Time, system and flags in the header of gzip mean nothing.
      if (part) {
        EXPECT_EQ(part->lines, joined(lines)) << at;
      }
    }
  }
  for (std::size_t size = 0; size < archive.size(); ++size)
    EXPECT_FALSE(unpack_trail(std::string_view(archive).substr(0, size))) << size;
}

TEST(TrailArchive, NoticesAChangedEntryWithARightChecksum) {
  const std::string archive = packed(make_trail(6));
  const auto text = decompress_gzip(archive, 1 << 20);
  ASSERT_TRUE(text);
  for (std::size_t at = 0; at < text->size(); ++at) {
    std::string forged = *text;
    forged[at] = forged[at] == '7' ? '8' : '7';
    const auto part = unpack_trail(compress_gzip(forged));
    // The link before the first entry is compared with what is before it.
    if (part) {
      EXPECT_NE(part->begin, TrailPoint()) << at;
    }
  }
}

TEST(TrailArchive, RefusesABomb) {
  const std::string bomb = compress_gzip(std::string(kTrailPartBytesMax + 1, ' '));
  EXPECT_FALSE(unpack_trail(bomb));
}

}  // namespace
}  // namespace pawl
