// A place in a text file.
#pragma once

#include <cstddef>
#include <string>

namespace pawl {

/// A line and a column, both counted from 1. Both are 0 if the place is unknown.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
};

/// Something in a file that may be meant as it is written: a warning for people.
struct Remark {
  Place place = {};
  std::string message = {};
};

}  // namespace pawl
