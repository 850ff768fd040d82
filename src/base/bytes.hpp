// Little-endian reading and writing of fixed-width integers, and spans of bytes.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

static_assert(std::endian::native == std::endian::little, "formats are little-endian; add byte swaps for this machine");

template <std::unsigned_integral T>
void put_int(std::string& out, T value) {
  std::array<char, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof(T));
  out.append(raw.data(), raw.size());
}

template <std::unsigned_integral T>
void store_int(char* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

template <std::unsigned_integral T>
[[nodiscard]] T load_int(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Reads forward through untrusted bytes. Every read returns whether enough bytes were left.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  template <std::unsigned_integral T>
  T take_int() {
    const std::string_view raw = take(sizeof(T));
    return raw.size() == sizeof(T) ? load_int<T>(raw.data()) : T{};
  }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  /// Reads a 32-bit length and then a string of that length.
  std::string_view take_string() { return take(take_int<std::uint32_t>()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline void put_string(std::string& out, std::string_view text) {
  put_int(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

}  // namespace pawl
