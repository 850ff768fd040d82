// A line of an audit trail as views into it: millions of them are looked at, so nothing is copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/hash.hpp"

namespace pawl {

/// 64 lower-case hexadecimal digits as bytes.
[[nodiscard]] std::optional<Sha256> hash_of_hex(std::string_view hex);
[[nodiscard]] bool equals_hex(const Sha256& hash, std::string_view hex);

struct AuditLine {
  std::uint64_t index = 0;
  std::string_view at = {};
  std::string_view type = {};  // as in JSON: escapes stay
  std::uint64_t sequence = 0;
  std::string_view payload = {};
  std::uint64_t event = 0;
  std::string_view events = {};
  std::string_view previous = {};
  std::string_view hash = {};
  std::string_view body = {};  // what `hash` covers, behind the previous hash

  /// Nothing where it has another shape. The hash is not checked.
  [[nodiscard]] static std::optional<AuditLine> parse(std::string_view line);
};

}  // namespace pawl
