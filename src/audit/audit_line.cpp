#include "audit/audit_line.hpp"

#include <array>
#include <charconv>

namespace pawl {
namespace {

constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr std::size_t kHexDigits = 64;

constexpr std::array<std::int8_t, 256> make_digits() {
  std::array<std::int8_t, 256> digits{};
  for (auto& digit : digits) digit = -1;
  for (int i = 0; i < 10; ++i) digits[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) digits[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
  return digits;
}

/// Reads members in the order in which the encoder writes them.
class Members {
 public:
  explicit Members(std::string_view body) : rest_(body) {}

  /// Returns the value of `key` if it is the next member: the content of a string or the digits of a number.
  std::optional<std::string_view> take(std::string_view key) {
    // `,"key":`
    if (rest_.size() < key.size() + 5 || rest_[1] != '"' || rest_.substr(2, key.size()) != key ||
        rest_[key.size() + 2] != '"' || rest_[key.size() + 3] != ':') {
      return std::nullopt;
    }
    const std::string_view value = rest_.substr(key.size() + 4);
    std::size_t end = 0;
    if (value.front() == '"') {
      end = 1;
      while (end < value.size() && value[end] != '"') end += value[end] == '\\' ? 2U : 1U;
      if (end >= value.size()) return std::nullopt;
      rest_ = value.substr(end + 1);
      return value.substr(1, end - 1);
    }
    while (end < value.size() && value[end] >= '0' && value[end] <= '9') ++end;
    rest_ = value.substr(end);
    return value.substr(0, end);
  }
  std::string_view text(std::string_view key) { return take(key).value_or(std::string_view()); }
  std::uint64_t number(std::string_view key) {
    const std::string_view digits = text(key);
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<Sha256> hash_of_hex(std::string_view hex) {
  static constexpr auto kDigits = make_digits();
  if (hex.size() != kHexDigits) return std::nullopt;
  Sha256 hash{};
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const std::int8_t high = kDigits[static_cast<std::uint8_t>(hex[2 * i])];
    const std::int8_t low = kDigits[static_cast<std::uint8_t>(hex[2 * i + 1])];
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return hash;
}

bool equals_hex(const Sha256& hash, std::string_view hex) {
  const auto other = hash_of_hex(hex);
  return other && *other == hash;
}

std::optional<AuditLine> AuditLine::parse(std::string_view line) {
  const std::size_t tail_bytes = kHashKey.size() + kHexDigits + 2;
  if (line.size() < tail_bytes || line.front() != '{' || !line.ends_with("\"}")) return std::nullopt;
  AuditLine entry;
  entry.body = line.substr(0, line.size() - tail_bytes);
  const std::string_view tail = line.substr(entry.body.size());
  if (!tail.starts_with(kHashKey)) return std::nullopt;
  entry.hash = tail.substr(kHashKey.size(), kHexDigits);
  Members members(entry.body);
  entry.index = members.number("i");
  entry.at = members.text("at");
  entry.type = members.text("type");
  entry.sequence = members.number("seq");
  entry.payload = members.text("payload");
  entry.event = members.number("event");
  entry.events = members.text("events");
  members.take("user");
  members.take("host");
  members.take("agent");
  for (const char* key : {"by", "reason", "checkpoints"}) members.take(key);  // of an erasure
  entry.previous = members.text("prev");
  if (entry.index == 0 || entry.at.empty() || entry.type.empty() || entry.previous.size() != kHexDigits ||
      !members.empty())
    return std::nullopt;
  return entry;
}

}  // namespace pawl
