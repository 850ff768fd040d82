// The members of one small JSON object: metadata, run.json, lines of events. Not for states.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pawl {

class ObjectMembers {
 public:
  /// `members` is an object without its braces; a trailing comma is allowed. Fails with checkpoint_corrupt.
  [[nodiscard]] static Result<ObjectMembers> parse(std::string_view members);

  /// Returns an empty text if the member is missing or not a string.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view otherwise) const;
  /// Returns 0 if the member is missing or not a number.
  [[nodiscard]] std::uint64_t number(std::string_view key) const;
  /// Returns the value as it is written, or an empty text if the member is missing.
  [[nodiscard]] std::string raw(std::string_view key) const;

 private:
  std::string text_;
  nlohmann::ordered_json object_;
};

}  // namespace pawl
