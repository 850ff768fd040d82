// Finding and masking secrets in text: declared values, well-known forms, and regular expressions of the user.
//
// A masked secret is replaced by `[masked:KIND]`, or by *** if it is a declared value. Text may arrive in pieces: what
// may be the beginning of a secret is held back, at most kSecretHoldBytes. The time is linear in the text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/settings.hpp"
#include "secrets/secret_forms.hpp"

namespace re2 {
class RE2;
}

namespace pawl {

inline constexpr std::size_t kSecretHoldBytes = 8192;
inline constexpr std::size_t kExpressionBytesMax = 4096;  // of a line, for the expressions of the user

/// Number of masked values, by kind.
using MaskCounts = std::map<std::string, std::uint64_t, std::less<>>;

/// What to mask. Immutable and thread-safe.
class SecretPatterns {
 public:
  /// Masks `values` wherever they occur; empty ones are ignored. Fails with usage for an invalid regular expression.
  [[nodiscard]] static Result<std::shared_ptr<const SecretPatterns>> make(const SecretSettings& settings,
                                                                          std::vector<std::string> values);

  /// Returns false, quickly, if nothing in the text can be a secret.
  [[nodiscard]] bool may_hold(std::string_view text) const;
  [[nodiscard]] bool empty() const { return !known_forms_ && values_.empty() && expressions_.empty(); }

 private:
  friend class SecretMask;
  SecretPatterns() = default;
  [[nodiscard]] SecretFound find(SecretText& text, std::size_t at) const;
  [[nodiscard]] bool may_begin(std::string_view text, std::size_t at) const {
    return at + 1 < text.size() ? beginnings_.has(text[at], text[at + 1]) : beginnings_.has(text[at]);
  }

  bool known_forms_ = false;
  std::vector<std::string> values_;  // longest first
  std::vector<std::shared_ptr<const re2::RE2>> expressions_;
  SecretBeginnings beginnings_;
};

/// One stream of text. Not thread-safe.
class SecretMask {
 public:
  explicit SecretMask(std::shared_ptr<const SecretPatterns> patterns) : patterns_(std::move(patterns)) {}

  /// Adds text. Appends to `out` what can be decided by now.
  void add(std::string_view text, std::string& out);
  /// Call this when no more text arrives for a while. Only the possible beginning of a secret stays held back.
  void settle(std::string& out);
  /// Ends the text. Appends everything that is left.
  void finish(std::string& out);
  [[nodiscard]] const MaskCounts& counts() const { return counts_; }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string_view kind;
    SecretRest rest = SecretRest::nothing;
  };
  enum class Looked : std::uint8_t { nothing, more, found };
  /// The state of the current line within a private key.
  struct KeyLine {
    std::size_t run = 0;
    std::size_t longest_run = 0;
    std::size_t words = 0;
    bool has_colon = false;
  };

  void scan(SecretText::End end, std::string& out);
  [[nodiscard]] Looked look(SecretText& where, std::size_t at);
  [[nodiscard]] std::size_t next_candidate(std::size_t at) const;
  [[nodiscard]] std::size_t skip_rest(const SecretText& where, std::size_t at);
  [[nodiscard]] std::size_t skip_key(const SecretText& where, std::size_t at);
  [[nodiscard]] bool is_in_key(char c, char before);
  void mark(std::string_view kind, std::string& out);
  void filter_lines(SecretText::End end, std::string& out);
  [[nodiscard]] std::size_t filter_line(std::string_view line, std::size_t keep, std::string& out);

  const std::shared_ptr<const SecretPatterns> patterns_;
  MaskCounts counts_;
  std::string text_;      // some of the text that was passed on, and the rest
  std::size_t done_ = 0;  // of text_
  std::vector<Range> ranges_;
  SecretRest rest_ = SecretRest::nothing;  // of a secret that was already masked
  KeyLine key_line_;
  int bad_key_lines_ = 0;
  std::string lines_;  // for the expressions
};

/// Masks a whole text.
[[nodiscard]] std::string mask_secrets(std::string_view text, const std::shared_ptr<const SecretPatterns>& patterns,
                                       MaskCounts& counts);

}  // namespace pawl
