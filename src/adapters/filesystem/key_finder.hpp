// Finds the outer key of an encrypted store in files that people or steps have put into its folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/store_keys.hpp"

namespace pawl {

class KeyFinder {
 public:
  /// `id` is the ID of the key; empty if the store is not encrypted. Without the key itself, only hexadecimal digits
  /// and base64 that are not part of a longer word are recognised.
  KeyFinder(std::string id, const std::optional<SecretKey>& key);

  /// Returns whether the text contains the key: in hexadecimal, in base64 (also for URLs), or its bytes.
  [[nodiscard]] bool is_in(std::string_view text) const;

  /// Pieces of a longer text must overlap by so much.
  static constexpr std::size_t kOverlapBytes = 2 * SecretKey::kBytes + 2;

 private:
  [[nodiscard]] bool is_a_word_in(std::string_view text, std::size_t length, std::string_view others) const;

  const std::string id_;
  std::string bytes_;       // all empty if the key is unknown
  std::string hex_;         // lower case
  std::string base64_;      // without padding
  std::string url_base64_;  // the same
};

}  // namespace pawl
