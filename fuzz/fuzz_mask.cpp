// Masking of secrets: any text in any pieces. The result must not depend on the pieces, text without candidates must
// stay, and a token inserted into the text must not survive.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "secrets/secret_patterns.hpp"

namespace {

std::string in_pieces(std::string_view text, const std::shared_ptr<const pawl::SecretPatterns>& patterns,
                      std::size_t size) {
  pawl::SecretMask mask(patterns);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) mask.add(text.substr(0, size), out);
  mask.finish(out);
  return out;
}

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto patterns = *pawl::SecretPatterns::make({}, {"hush-hush-7", "x1"});
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 32U + 1;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = in_pieces(text, patterns, text.size() + 1);
  check(in_pieces(text, patterns, piece) == whole || text.size() > pawl::kSecretHoldBytes);
  check(whole.find("hush-hush-7") == std::string::npos);
  if (!patterns->may_hold(text)) check(whole == text);
  const std::string token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const std::size_t at = text.size() / 2;
  const std::string with_token = in_pieces(text.substr(0, at) + "\n" + token + "\n" + text.substr(at), patterns, piece);
  check(with_token.find(token) == std::string::npos);
  return 0;
}
