#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace pawl {
namespace {

TEST(Bytes, IntegersAreLittleEndian) {
  std::string out;
  put_int(out, std::uint8_t{0x01});
  put_int(out, std::uint16_t{0x0302});
  put_int(out, std::uint32_t{0x07060504});
  put_int(out, std::uint64_t{0x0F0E0D0C0B0A0908});
  EXPECT_EQ(out, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F");
  EXPECT_EQ(load_int<std::uint32_t>(out.data() + 3), 0x07060504U);
  store_int(out.data(), std::uint16_t{0xFFFE});
  EXPECT_EQ(out.substr(0, 3), "\xFE\xFF\x03");
}

TEST(ByteReader, ReadsWhatWasPut) {
  std::string out;
  put_int(out, std::numeric_limits<std::uint64_t>::max());
  put_string(out, "text");
  put_string(out, "");
  ByteReader reader(out);
  EXPECT_EQ(reader.take_int<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.take_string(), "text");
  EXPECT_EQ(reader.take_string(), "");
  EXPECT_TRUE(reader.ok() && reader.rest().empty());
}

TEST(ByteReader, SaysWhenSomethingDoesNotFit) {
  std::string out;
  put_string(out, "text");
  for (std::size_t size = 0; size < out.size(); ++size) {
    ByteReader reader(std::string_view(out).substr(0, size));
    EXPECT_EQ(reader.take_string(), "") << size;
    EXPECT_FALSE(reader.ok()) << size;
    EXPECT_TRUE(reader.rest().empty()) << size;
  }
}

TEST(ByteReader, StaysBadAfterAMiss) {
  ByteReader reader("abc");
  EXPECT_EQ(reader.take_int<std::uint32_t>(), 0U);
  EXPECT_EQ(reader.take(1), "");
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, IsNotFooledByAHugeLength) {
  std::string out;
  put_int(out, std::numeric_limits<std::uint32_t>::max());
  out += "few";
  ByteReader reader(out);
  EXPECT_EQ(reader.take_string(), "");
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace pawl
