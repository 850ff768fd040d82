// A place in a text file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pawl {

/// A line and a column, both counted from 1. Both are 0 if the place is unknown.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
  std::uint32_t file = 0;  // 0: the workflow; otherwise the number of a file of templates
};

/// Something in a file that may be meant as it is written: a warning for people.
struct Remark {
  enum class About : std::uint8_t { doubt, ignored_key };
  Place place = {};
  std::string message = {};
  About about = About::doubt;
};

}  // namespace pawl
