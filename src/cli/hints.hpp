// Hints about what to type next. The only place that turns errors and advice into commands.
#pragma once

#include <pawl/check.hpp>
#include <pawl/error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/run_report.hpp"

namespace pawl::cli {

/// Options that a command needs to act on the same store.
struct HintStyle {
  std::optional<std::string> store = {};  // as given with --store
};

/// `pawl resume nightly`; empty for Advice::none.
[[nodiscard]] std::string command_of(Advice advice, const Subject& subject, const HintStyle& style = {});
/// `to continue it, run: pawl resume nightly`; empty for Advice::none.
[[nodiscard]] std::string advice_text(Advice advice, const Subject& subject, const HintStyle& style = {});
/// The error's own hint, then its advice; a general hint for the code if it has neither. Never empty.
[[nodiscard]] std::string hint_text(const Error& error, const HintStyle& style = {});

/// For a command that wanted to create a run: if the error says that this run was removed or erased, adds the hint to
/// choose another id.
[[nodiscard]] Error for_new_run(Error error);

/// The same error with all of these as its hint.
[[nodiscard]] Error with_rendered_hint(Error error, const HintStyle& style = {});

/// The commands, in the same order.
[[nodiscard]] std::vector<std::string> commands_of(const std::vector<NextAction>& actions, const HintStyle& style = {});

/// What to do about a finding; may be empty.
[[nodiscard]] std::string finding_advice(const Finding& finding, const HintStyle& style = {});

/// A word of a command as a shell reads it.
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace pawl::cli
