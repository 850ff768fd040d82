// An error as one line, for records of steps and for use inside another sentence.
#pragma once

#include <algorithm>
#include <pawl/error.hpp>
#include <string>

namespace pawl {

/// Returns "PAWL-0301: message (where); hint". A message of several lines is joined into one.
[[nodiscard]] inline std::string describe_in_line(const Error& error) {
  Error without_hint = error;
  without_hint.hint.clear();
  const std::string text = describe(without_hint) + (error.hint.empty() ? "" : "; " + error.hint);
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    line.append(line.empty() ? "" : " ").append(text, begin, end - begin);
    begin = std::min(text.find_first_not_of(' ', end + (end < text.size() ? 1 : 0)), text.size());
  }
  return line;
}

}  // namespace pawl
