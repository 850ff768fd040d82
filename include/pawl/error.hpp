// Errors are values: a stable code, what happened, where, and what to do about it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

/// A stable code, written `PAWL-0301`. A number is never reused. Each has a page in `docs/errors/`,
/// shown by `pawl explain CODE`. The table below is the only list of them.
enum class Code : std::uint16_t {
#define PAWL_CODE(number, name, category, title) name = number,
#include <pawl/error_codes.def>
#undef PAWL_CODE
};

/// What kind of error a code stands for. Exit statuses and the like are derived from it.
enum class Category : std::uint8_t {
  usage,        // wrong input: nothing was done
  not_found,    // what was named does not exist
  refused,      // not possible in this state
  conflict,     // it exists already, or differs from what is recorded
  busy,         // another process is working on it
  integrity,    // stored data is damaged or was changed
  version,      // written by another version
  storage,      // reading or writing failed
  system,       // the operating system refused something else
  waiting,      // not finished: something is missing that will come
  failed,       // a step or run failed
  interrupted,  // stopped on request; can be continued
};

/// What a person can do next. Whoever shows the error turns it into words, with the command, button or request that
/// it offers; errors name no commands. The subject of an error says which run, step and so on.
enum class Advice : std::uint8_t {
#define PAWL_ADVICE(name) name,
#include <pawl/advice.def>
#undef PAWL_ADVICE
};

/// What an advice is about; only the members that it needs are set.
struct Subject {
  std::string run = {};
  std::string step = {};
  std::uint64_t sequence = 0;  // of a checkpoint
  std::string value = {};      // as the advice says
};

struct [[nodiscard]] Error {
  Code code{};
  std::string message;           // what happened, in one sentence without a final full stop
  std::string where;             // file, run@sequence or input position; may be empty
  std::string hint;              // what to do, without naming a command; may be empty
  int os_error = 0;              // errno, if the operating system refused
  Advice advice = Advice::none;  // what to do next, in addition to the hint
  Subject subject = {};          // of the advice
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
[[nodiscard]] Category category(Code code);
/// `not_found`
[[nodiscard]] std::string_view to_text(Category category);
/// Whether the state of what is stored forbids it: neither wrong input nor a failure of the machine.
[[nodiscard]] bool is_refusal(Code code);
/// Whether the machine failed.
[[nodiscard]] bool is_machine_failure(Code code);
/// "PAWL-0301: message (where)\nhint" for people.
[[nodiscard]] std::string describe(const Error& error);

}  // namespace pawl
