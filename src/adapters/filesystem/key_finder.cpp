#include "adapters/filesystem/key_finder.hpp"

#include <algorithm>
#include <cctype>

#include "base/hash.hpp"
#include "codec/base64.hpp"

namespace pawl {
namespace {

constexpr std::size_t kHexDigits = 2 * SecretKey::kBytes;
constexpr std::size_t kBase64Digits = (SecretKey::kBytes * 8 + 5) / 6;

std::string as_lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string as_standard_base64(std::string_view text) {
  std::string standard(text);
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  return standard + "=";
}

}  // namespace

KeyFinder::KeyFinder(std::string id, const std::optional<SecretKey>& key) : id_(std::move(id)) {
  if (!key || key_id(*key) != id_) return;
  bytes_ = key->bytes();
  hex_ = to_hex(bytes_);
  base64_ = to_base64(bytes_).substr(0, kBase64Digits);
  url_base64_ = base64_;
  std::ranges::replace(url_base64_, '+', '-');
  std::ranges::replace(url_base64_, '/', '_');
}

bool KeyFinder::is_in(std::string_view text) const {
  if (id_.empty()) return false;
  if (bytes_.empty())
    return is_a_word_in(text, kHexDigits, "") || is_a_word_in(text, kBase64Digits, "+/") ||
           is_a_word_in(text, kBase64Digits, "-_");
  for (const std::string& form : {bytes_, base64_, url_base64_}) {
    if (text.find(form) != std::string_view::npos) return true;
  }
  return as_lower(text).find(hex_) != std::string::npos;
}

/// Looks at words of letters, digits and `others`.
bool KeyFinder::is_a_word_in(std::string_view text, std::size_t length, std::string_view others) const {
  const auto in_word = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  };
  for (auto begin = text.begin(); (begin = std::find_if(begin, text.end(), in_word)) != text.end();) {
    const auto end = std::find_if_not(begin, text.end(), in_word);
    const std::string_view word(begin, end);
    begin = end;
    if (word.size() != length) continue;
    const auto key = parse_key(length == kHexDigits ? as_lower(word) : as_standard_base64(word));
    if (key && key_id(*key) == id_) return true;
  }
  return false;
}

}  // namespace pawl
