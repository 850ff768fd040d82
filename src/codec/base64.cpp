#include "codec/base64.hpp"

#include <openssl/evp.h>

namespace pawl {
namespace {

// OpenSSL uses int for sizes, so long inputs are converted in pieces.
constexpr std::size_t kBytesAtOnce = 3U << 20U;
constexpr std::size_t kDigitsAtOnce = kBytesAtOnce / 3 * 4;

const unsigned char* unsigned_data(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  // EVP_EncodeBlock ends its output with a NUL.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  auto* out = reinterpret_cast<unsigned char*>(text.data());
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kBytesAtOnce);
    out += EVP_EncodeBlock(out, unsigned_data(piece), static_cast<int>(piece.size()));
    bytes.remove_prefix(piece.size());
  }
  text.pop_back();
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  auto* out = reinterpret_cast<unsigned char*>(bytes.data());
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view piece = rest.substr(0, kDigitsAtOnce);
    const int written = EVP_DecodeBlock(out, unsigned_data(piece), static_cast<int>(piece.size()));
    if (written < 0 || static_cast<std::size_t>(written) != piece.size() / 4 * 3) return std::nullopt;
    out += written;
    rest.remove_prefix(piece.size());
  }
  // EVP_DecodeBlock returns a zero byte for each padding character.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(bytes.size() - padding);
  // It also accepts white space, padding in the middle and unused bits.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace pawl
