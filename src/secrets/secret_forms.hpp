// Well-known forms of secrets: tokens of providers, private keys, passwords in URLs and assignments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

/// Which of the following characters belong to a secret that continues in the next piece of text.
enum class SecretRest : std::uint8_t {
  nothing,
  token,        // letters, digits, _ and -
  dotted,       // the same, and dots
  value,        // up to the end of a value
  private_key,  // up to the END line
};

[[nodiscard]] bool belongs_to(SecretRest rest, char c);

struct SecretFound {
  enum class Sure : std::uint8_t { no, more, yes };  // more: cannot be decided without more text
  Sure sure = Sure::no;
  std::size_t begin = 0;  // start of the part to mask
  std::size_t end = 0;
  std::string_view kind = {};
  SecretRest rest = SecretRest::nothing;  // applies if `end` is the end of the text
};

/// A text that is searched position by position, in linear time altogether.
class SecretText {
 public:
  enum class End : std::uint8_t { open, final };
  SecretText(std::string_view text, End end) : text_(text), end_(end) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool is_final() const { return end_ == End::final; }
  /// Treats the text as complete.
  void finish() { end_ = End::final; }
  /// Returns the end of the letters, digits, _ and - at `at`.
  [[nodiscard]] std::size_t token_end(std::size_t at);

 private:
  std::string_view text_;
  End end_;
  std::size_t run_begin_ = 0;  // of the run of token characters that was examined last
  std::size_t run_end_ = 0;
};

inline constexpr std::size_t kSecretLookBehind = 64;  // number of preceding bytes that may matter

/// The first two bytes of possible secrets.
struct SecretBeginnings {
  std::array<bool, 256> first{};
  std::array<std::uint64_t, 1024> pairs{};

  constexpr void add(char a_char, char b_char) {
    const auto a = static_cast<unsigned char>(a_char);
    const auto b = static_cast<unsigned char>(b_char);
    first[a] = true;
    pairs[a * 4U + b / 64U] |= std::uint64_t{1} << (b % 64U);
  }
  /// Adds `a` followed by any byte.
  constexpr void add(char a_char) {
    const auto a = static_cast<unsigned char>(a_char);
    first[a] = true;
    for (unsigned i = 0; i < 4; ++i) pairs[a * 4U + i] = ~std::uint64_t{0};
  }
  [[nodiscard]] bool has(char a_char, char b_char) const {
    const auto a = static_cast<unsigned char>(a_char);
    const auto b = static_cast<unsigned char>(b_char);
    return ((pairs[a * 4U + b / 64U] >> (b % 64U)) & 1U) != 0;
  }
  [[nodiscard]] bool has(char a) const { return first[static_cast<unsigned char>(a)]; }
};

/// Returns the beginnings of all known forms.
[[nodiscard]] const SecretBeginnings& known_secret_beginnings();

/// Finds a secret of a known form that is recognised by the text at `at`.
[[nodiscard]] SecretFound find_known_secret(SecretText& text, std::size_t at);

}  // namespace pawl
