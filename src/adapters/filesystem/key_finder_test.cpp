#include "adapters/filesystem/key_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "base/hash.hpp"
#include "codec/base64.hpp"

namespace pawl {
namespace {

SecretKey some_key() {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += static_cast<char>(255 - 7 * i);
  return SecretKey::of(bytes);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string for_urls(std::string text) {
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

TEST(KeyFinder, FindsAKnownKeyInEveryForm) {
  const SecretKey key = some_key();
  const KeyFinder finder(key_id(key), key);
  const std::string hex = to_hex(key.bytes());
  const std::string base64 = to_base64(key.bytes());
  for (const std::string& form : {hex, upper(hex), upper(hex.substr(0, 9)) + hex.substr(9), base64,
                                  base64.substr(0, 43), for_urls(base64), std::string(key.bytes())}) {
    EXPECT_TRUE(finder.is_in(form));
    EXPECT_TRUE(finder.is_in("PAWL_KEY=" + form + "\n"));
    EXPECT_TRUE(finder.is_in("in a longer word" + form + "or line"));
    EXPECT_FALSE(finder.is_in(form.substr(1)));
  }
  EXPECT_FALSE(finder.is_in(std::string(64, '0')));
  EXPECT_FALSE(finder.is_in(""));
}

TEST(KeyFinder, FindsAnUnknownKeyAsAWord) {
  const SecretKey key = some_key();
  const std::string hex = to_hex(key.bytes());
  const std::string base64 = to_base64(key.bytes());
  const SecretKey wrong = SecretKey::of(std::string(32, 'w'));
  for (const std::optional<SecretKey>& known : {std::optional<SecretKey>(), std::optional(wrong)}) {
    const KeyFinder finder(key_id(key), known);
    for (const std::string& form : {hex, upper(hex), base64, for_urls(base64)}) {
      EXPECT_TRUE(finder.is_in(form));
      EXPECT_TRUE(finder.is_in("export PAWL_KEY=" + form + " # the key\n"));
      EXPECT_TRUE(finder.is_in("key: \"" + form + "\"\n"));
    }
    EXPECT_FALSE(finder.is_in(std::string(64, '0') + " " + std::string(43, 'x') + "="));
  }
}

TEST(KeyFinder, FindsNothingWithoutEncryption) {
  const KeyFinder finder({}, {});
  EXPECT_FALSE(finder.is_in(to_hex(some_key().bytes())));
}

}  // namespace
}  // namespace pawl
