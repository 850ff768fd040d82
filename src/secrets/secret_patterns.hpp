// Finding secrets in texts and masking them: those that were declared, those of known forms, those of the user's own
// expressions.
//
// A masked secret leaves a visible mark: `[masked:KIND]`, or *** for a declared one. Texts may come in pieces: what
// may be the beginning of a secret is held back, at most kSecretHoldBytes of it. The time is linear in the text.
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
inline constexpr std::size_t kExpressionBytesMax = 4096;  // of a line, for the user's expressions

/// How many values were masked, by kind.
using MaskCounts = std::map<std::string, std::uint64_t, std::less<>>;

/// What is to be masked. Immutable, for any number of threads.
class SecretPatterns {
 public:
  /// usage for an expression that is none. `values` are masked wherever they stand; empty ones are none.
  [[nodiscard]] static Result<std::shared_ptr<const SecretPatterns>> make(const SecretSettings& settings,
                                                                          std::vector<std::string> values);

  /// False where nothing in it can be a secret; quickly.
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

  /// Appends to `out` what is certain by now.
  void add(std::string_view text, std::string& out);
  /// Nothing comes for a while: only what is the beginning of a secret stays held back.
  void settle(std::string& out);
  /// Nothing comes any more.
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
  /// Of the line within a private key that is being read.
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
  std::string text_;      // a little of what was passed on, and what was not
  std::size_t done_ = 0;  // of text_
  std::vector<Range> ranges_;
  SecretRest rest_ = SecretRest::nothing;  // of a secret that has been marked
  KeyLine key_line_;
  int bad_key_lines_ = 0;
  std::string lines_;  // for the expressions
};

/// A whole text.
[[nodiscard]] std::string mask_secrets(std::string_view text, const std::shared_ptr<const SecretPatterns>& patterns,
                                       MaskCounts& counts);

}  // namespace pawl
