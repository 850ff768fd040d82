#include "codec/tar_text.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(TarText, ReadsWhatItWrites) {
  for (const std::size_t length : {1U, 99U, 100U, 101U, 500U, 1024U}) {
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{513}, (std::uint64_t{1} << 33U) - 1,
                                     std::uint64_t{1} << 33U, std::uint64_t{1} << 40U}) {
      const TarHeader header{std::string(length, 'p'), size, 1'700'000'000};
      const std::string blocks = encode_tar_header(header);
      ASSERT_EQ(blocks.size() % kTarBlockBytes, 0U);
      ASSERT_LE(blocks.size(), kTarHeaderBytesMax);
      ASSERT_EQ(tar_header_bytes(std::string_view(blocks).substr(0, kTarBlockBytes)).value_or(0), blocks.size());
      const auto read = decode_tar_header(blocks);
      ASSERT_TRUE(read) << length << " " << size;
      EXPECT_EQ(read->path, header.path);
      EXPECT_EQ(read->size_bytes, size);
      EXPECT_EQ(read->modified_s, header.modified_s);
    }
  }
}

TEST(TarText, RefusesEveryChangedByte) {
  for (const std::size_t length : {20U, 200U}) {
    const std::string blocks = encode_tar_header({std::string(length, 'p'), 77, 1'700'000'000});
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::string changed = blocks;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      // The part of a long path that is only in its pax record has no checksum here; the list of checksums covers it.
      const bool in_path = length > 100 && i >= 512 + 9 + 100 && i < 512 + 9 + length;
      EXPECT_EQ(decode_tar_header(changed).has_value(), in_path) << "byte " << i;
    }
  }
}

TEST(TarText, RefusesLinksFoldersAndDevices) {
  for (const char type : {'1', '2', '3', '4', '5', '6', '7', 'g', 'L', 'K', 'S', '\0'}) {
    std::string block = encode_tar_header({"runs/a/run.json", 0, 0});
    block[156] = type;
    EXPECT_FALSE(tar_header_bytes(block)) << type;
    EXPECT_FALSE(decode_tar_header(block)) << type;
  }
}

}  // namespace
}  // namespace pawl
