#include "codec/base64.hpp"

#include <array>
#include <cstdint>

namespace pawl {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> values_of_digits() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = values_of_digits();

constexpr std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data();
  for (std::size_t i = 0; i < bytes.size(); i += 3, out += 4) {
    const std::uint32_t bits = byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    out[0] = kDigits[bits >> 18U];
    out[1] = kDigits[bits >> 12U & 63U];
    if (i + 1 < bytes.size()) out[2] = kDigits[bits >> 6U & 63U];
    if (i + 2 < bytes.size()) out[3] = kDigits[bits & 63U];
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  std::uint32_t wrong = 0;
  std::size_t i = 0;
  for (; i + 4 <= text.size(); i += 4) {
    bits = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::uint8_t value = kValues[static_cast<unsigned char>(text[i + j])];
      wrong |= value & 0xC0U;
      bits = bits << 6U | (value & 63U);
    }
    const char three[] = {static_cast<char>(bits >> 16U), static_cast<char>(bits >> 8U), static_cast<char>(bits)};
    bytes.append(three, 3);
  }
  const std::size_t left = text.size() - i;
  if ((left == 0) != (padding == 0) || (left != 0 && left + padding != 4)) return std::nullopt;
  if (left != 0) {
    bits = 0;
    for (std::size_t j = 0; j < left; ++j) {
      const std::uint8_t value = kValues[static_cast<unsigned char>(text[i + j])];
      wrong |= value & 0xC0U;
      bits = bits << 6U | (value & 63U);
    }
    bits <<= 6U * (4 - left);
    bytes += static_cast<char>(bits >> 16U);
    if (left == 3) bytes += static_cast<char>(bits >> 8U);
    wrong |= left == 3 ? bits & 0xFFU : bits & 0xFFFFU;  // bits that stand for nothing
  }
  if (wrong != 0) return std::nullopt;
  return bytes;
}

}  // namespace pawl
