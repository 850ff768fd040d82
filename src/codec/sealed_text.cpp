#include "codec/sealed_text.hpp"

#include "base/hash.hpp"

namespace pawl {

void seal(std::string& open_object, std::uint32_t seed) {
  const std::uint32_t checksum = crc32c(open_object, seed);
  open_object += kSealKey;
  open_object += to_hex(checksum);
  open_object += "\"}";
}

std::optional<std::string_view> unseal(std::string_view text, std::uint32_t seed) {
  if (text.size() <= kSealBytes || !text.ends_with("\"}")) return std::nullopt;
  const std::string_view body = text.substr(0, text.size() - kSealBytes);
  const std::string_view tail = text.substr(body.size());
  if (!tail.starts_with(kSealKey)) return std::nullopt;
  if (tail.substr(kSealKey.size(), 8) != to_hex(crc32c(body, seed))) return std::nullopt;
  return body;
}

Error newer_format(std::string_view what, std::uint64_t format, std::uint64_t newest) {
  return Error{Code::unsupported_version,
               fmt::format("{} has format {}; this version of pawl reads formats up to {}", what, format, newest),
               {},
               "use the version of pawl that wrote it, or a newer one",
               0};
}

}  // namespace pawl
