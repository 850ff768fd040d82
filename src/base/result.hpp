// Result helpers on top of the public Error and Result.
#pragma once

#include <fmt/format.h>
#include <pawl/error.hpp>
#include <string>
#include <utility>

namespace pawl {

/// Builds the error side of a Result: `return fail(Code::run_not_found, "run '{}' ...", id);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(Code code, fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Error{code, fmt::format(text, std::forward<Args>(args)...), {}, {}, 0});
}

[[nodiscard]] inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }

/// Returns the error with a place, unless it has one already. The innermost place is the most exact one.
[[nodiscard]] inline Error at(Error error, std::string where) {
  if (error.where.empty()) error.where = std::move(where);
  return error;
}

/// Returns the error with a hint, unless it already says what to do.
[[nodiscard]] inline Error with_hint(Error error, std::string hint) {
  if (error.hint.empty() && error.advice == Advice::none) error.hint = std::move(hint);
  return error;
}

/// Returns the error with this advice in place of its hint and advice.
[[nodiscard]] inline Error with_other_advice(Error error, Advice advice, Subject subject = {}) {
  error.hint.clear();
  error.advice = advice;
  error.subject = std::move(subject);
  return error;
}

/// Returns the error with this advice, unless it already says what to do. If it has the same advice, only the subject
/// is replaced.
[[nodiscard]] inline Error with_advice(Error error, Advice advice, Subject subject = {}) {
  const bool silent = error.hint.empty() && error.advice == Advice::none;
  if (!silent && error.advice != advice) return error;
  error.advice = advice;
  error.subject = std::move(subject);
  return error;
}

}  // namespace pawl

#define PAWL_CONCAT_INNER(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_INNER(a, b)

/// Returns the error of `expression` from this function, if it has one.
#define PAWL_TRY(expression)                                                          \
  do {                                                                                \
    auto&& pawl_try_result = (expression);                                            \
    if (!pawl_try_result) return std::unexpected(std::move(pawl_try_result).error()); \
  } while (false)

/// `PAWL_TRY_ASSIGN(auto x, f());` binds the value, or returns the error from this function.
#define PAWL_TRY_ASSIGN(declaration, expression) \
  PAWL_TRY_ASSIGN_INNER(PAWL_CONCAT(pawl_try_, __LINE__), declaration, expression)
#define PAWL_TRY_ASSIGN_INNER(temporary, declaration, expression)       \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  declaration = std::move(*temporary)
