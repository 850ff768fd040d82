// Errors are values. An Error has a stable code and says what failed, where, and what to do about it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

/// A stable error code, written `PAWL-0301`. Numbers are never reused. Each code has a page in `docs/errors/`, which
/// `pawl explain CODE` shows. <pawl/error_codes.def> lists all codes.
enum class Code : std::uint16_t {
#define PAWL_CODE(number, name, category, title) name = number,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};

/// The kind of an error. Exit statuses and HTTP statuses are derived from it.
enum class Category : std::uint8_t {
  usage,        // invalid input; nothing was done
  not_found,    // the named object does not exist
  refused,      // not allowed in the current state
  conflict,     // already exists, or differs from what is recorded
  busy,         // in use by another process or thread
  integrity,    // stored data is damaged or was tampered with
  version,      // written in a format that this version does not support
  storage,      // reading or writing failed
  system,       // another call to the operating system failed
  waiting,      // not finished: waiting for an approval, a signal, a larger budget or the like
  failed,       // a step or run failed
  interrupted,  // stopped on request; can be resumed
};

/// What a person can do next. Errors never name commands: the program that shows an error turns the advice into a
/// command, a button or a request of its own. The Subject of the error says which run, step and so on is meant.
enum class Advice : std::uint8_t {
#define PAWL_ADVICE(name) name,
#include <pawl/advice.def>
#undef PAWL_ADVICE
};

/// What an Advice refers to. Only the members that the advice uses are set (see <pawl/advice.def>).
struct Subject {
  std::string run = {};
  std::string step = {};
  std::uint64_t sequence = 0;  // number of a checkpoint; 0: none
  std::string value = {};      // meaning depends on the advice
};

struct [[nodiscard]] Error {
  Code code{};
  std::string message;           // what failed, in one line without a full stop
  std::string where;             // file, RUN@SEQ or position in the input; may be empty
  std::string hint;              // what to do, without naming a command; may be empty
  int os_error = 0;              // errno of the failed system call; 0: none
  Advice advice = Advice::none;  // what to do next, in addition to the hint
  Subject subject = {};          // what the advice refers to
};

/// Either a value or an Error. The compiler warns if a Result is discarded.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

/// Returns the code as text, for example `PAWL-0301`.
[[nodiscard]] std::string code_text(Code code);
/// Returns the title of the code in one line. The string has static lifetime.
[[nodiscard]] const char* code_title(Code code);
/// Returns the category of the code.
[[nodiscard]] Category category(Code code);
/// Returns the name of the category, for example `not_found`.
[[nodiscard]] std::string_view to_text(Category category);
/// Returns whether the stored data or another process prevents the operation: the category is refused, conflict, busy,
/// integrity or version.
[[nodiscard]] bool is_refusal(Code code);
/// Returns whether the disk or the operating system failed: the category is storage or system.
[[nodiscard]] bool is_machine_failure(Code code);
/// Returns "PAWL-0301: message (where)\nhint" for people, without the parts that are empty.
[[nodiscard]] std::string describe(const Error& error);

}  // namespace pawl
