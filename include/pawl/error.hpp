// Errors are values: a stable code, what happened, where, and what to type next.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace pawl {

/// A stable code, written `PAWL-0301`. A number is never reused. Each has a page in `docs/errors/`,
/// shown by `pawl explain CODE`. The table below is the only list of them.
enum class Code : std::uint16_t {
#define PAWL_CODE(number, name, exit_status, title) name = number,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};

struct [[nodiscard]] Error {
  Code code{};
  std::string message;  // what happened, in one sentence without a final full stop
  std::string where;    // file, run@sequence or input position; may be empty
  std::string hint;     // what to type or do next; may be empty
  int os_error = 0;     // errno, where the operating system said no
};

/// A value or an Error. Can't be ignored.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

/// `PAWL-0301`
[[nodiscard]] std::string code_text(Code code);
/// One line that says what this code is about.
[[nodiscard]] const char* code_title(Code code);
/// The exit status of a program that ends with this error.
[[nodiscard]] int exit_status(Code code);
/// "PAWL-0301: message (where)\nhint" for people.
[[nodiscard]] std::string describe(const Error& error);

}  // namespace pawl
