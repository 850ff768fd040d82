// A line of an audit trail as views into its text. A verification reads millions of them, so nothing is copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/hash.hpp"

namespace pawl {

/// Parses 64 lower-case hexadecimal digits.
[[nodiscard]] std::optional<Sha256> hash_of_hex(std::string_view hex);
[[nodiscard]] bool equals_hex(const Sha256& hash, std::string_view hex);

struct AuditLine {
  std::uint64_t index = 0;
  std::string_view at = {};
  std::string_view type = {};  // as in JSON, with escapes
  std::uint64_t sequence = 0;
  std::string_view payload = {};
  std::uint64_t event = 0;
  std::string_view events = {};
  std::string_view previous = {};
  std::string_view hash = {};
  std::string_view body = {};  // what `hash` covers, after the previous hash

  /// Returns nothing if the line has another form. Does not check the hash.
  [[nodiscard]] static std::optional<AuditLine> parse(std::string_view line);
};

}  // namespace pawl
