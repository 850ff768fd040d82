#include "cli/hints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::cli {
namespace {

/// "{purpose}: {command}{rest}"
struct Wording {
  std::string purpose;
  std::string command;
  std::string rest = {};
};

/// Builds commands word by word.
class Hints {
 public:
  Hints(const Subject& subject, const HintStyle& style) : subject_(subject), style_(style) {
    run_ = subject.run.empty() ? "RUN" : shell_word(subject.run);
    step_ = subject.step.empty() ? std::string() : " " + shell_word(subject.step);
    address_ = subject.sequence == 0 ? run_ + "@SEQ" : fmt::format("{}@{}", run_, subject.sequence);
  }

  [[nodiscard]] Wording of(Advice advice) const;

 private:
  [[nodiscard]] Wording looking(Advice advice) const;
  [[nodiscard]] Wording resuming(Advice advice) const;
  [[nodiscard]] Wording acting(Advice advice) const;

  [[nodiscard]] std::string pawl(std::string_view words) const {
    return fmt::format("pawl {}{}", words, style_.store ? " --store " + shell_word(*style_.store) : "");
  }
  [[nodiscard]] std::string resume(std::string_view options = {}) const {
    return pawl(fmt::format("resume {}{}", run_, options));
  }
  [[nodiscard]] std::string known_run() const { return subject_.run.empty() ? "" : " " + run_; }
  [[nodiscard]] std::string skipped() const { return subject_.value.empty() ? "" : " --skip-bad-events"; }
  [[nodiscard]] std::string given_values() const;
  [[nodiscard]] std::string given_working_dir() const {
    return subject_.value.empty() ? "" : " --working-dir " + shell_word(subject_.value);
  }

  const Subject& subject_;
  const HintStyle& style_;
  std::string run_;
  std::string step_;
  std::string address_;
};

/// ` --var a=VALUE --var b=VALUE`
std::string Hints::given_values() const {
  std::string options;
  std::string_view names = subject_.value;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    options += " --var " + shell_word(names.substr(0, end)) + "=VALUE";
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return options;
}

Wording Hints::looking(Advice advice) const {
  switch (advice) {
    case Advice::check_store: return {"to see what is damaged, run", pawl("fsck" + known_run())};
    case Advice::list_runs:
      return subject_.value.empty()
                 ? Wording{"to list the runs, run", pawl("list")}
                 : Wording{"to list its runs, run", pawl("list --session " + shell_word(subject_.value))};
    case Advice::list_removed: return {"to list removed runs, run", pawl("list --removed")};
    case Advice::list_checkpoints: return {"to list its checkpoints, run", pawl("show " + run_ + " --checkpoints")};
    case Advice::show_run: return {"to see its steps and status, run", pawl("show " + run_)};
    case Advice::show_everything: return {"to see all of it, run", pawl("show " + run_ + " --all")};
    case Advice::show_events: return {"to see its events, run", pawl("show " + run_ + " --events")};
    case Advice::show_checkpoint: return {"to see that checkpoint, run", pawl("show " + address_)};
    case Advice::show_logs: return {"to see what it printed, run", pawl("logs " + run_ + step_)};
    case Advice::show_state:
      return {"to see the state, run", pawl("restore " + (subject_.sequence == 0 ? run_ : address_))};
    case Advice::show_intact: return {"to see the newest intact state, run", pawl("restore " + run_ + " --fallback")};
    case Advice::look_at_damage:
      return {"to see what is damaged, run", pawl("fsck " + run_),
              fmt::format("; to see the newest intact state: {}; to continue from an older checkpoint: {}",
                          pawl("restore " + run_ + " --fallback"), pawl("rollback " + run_ + "@SEQ"))};
    case Advice::show_growth: return {"to see what makes it large, run", pawl("stats " + run_)};
    case Advice::show_settings:
      return {"to see the settings, run", pawl(subject_.value.empty() ? "config" : "config " + subject_.value)};
    case Advice::explain: return {"for details, run", "pawl explain " + subject_.value};
    default: return {};
  }
}

Wording Hints::resuming(Advice advice) const {
  switch (advice) {
    case Advice::resume: return {"to continue it, run", resume()};
    case Advice::resume_session:
      return {"to continue its runs, run", pawl("resume --session " + shell_word(subject_.value))};
    case Advice::run_or_resume:
      return {"to continue it, run", resume(),
              " (or repeat the command with --resume; without --run-id, a new run starts)"};
    case Advice::try_again: return {"to try again, run", resume()};
    case Advice::fix_and_resume: return {"fix the cause, then run", resume()};
    case Advice::fix_failed_step:
      return {"fix the cause, then run", resume(),
              fmt::format("; to see what the steps printed, run: {}", pawl("logs " + run_))};
    case Advice::raise_loop_max:
      return {"to continue with more iterations, raise `max` of the loop, then run", resume(" --accept-changes"),
              fmt::format("; to see what the steps printed, run: {}", pawl("logs " + run_))};
    case Advice::wait_and_resume: return {"to continue once it arrives, run", resume()};
    case Advice::accept_changes:
      return {"undo the change, or continue with the changed workflow",
              resume(" --accept-changes" + given_working_dir())};
    case Advice::accept_rerun: return {"to run these steps again, run", resume(" --accept-rerun" + skipped())};
    case Advice::fall_back_and_rerun:
      return {"restore the damaged file from a backup, or run", resume(" --fallback --accept-rerun" + skipped())};
    case Advice::name_workflow:
      return {"if the project was moved, run", resume(" --working-dir DIR"),
              fmt::format("; if only its workflow file was: {}", resume(" --workflow FILE"))};
    case Advice::name_working_dir: return {"if the project was moved, run", resume(" --working-dir DIR")};
    case Advice::raise_budget:
      return {"to continue with a larger budget, run", resume(" --budget-usd N"), " (or --budget-tokens N)"};
    case Advice::give_values: return {"to pass it again, run", resume(given_values())};
    case Advice::fall_back:
      return {fmt::format("to use checkpoint {}, the newest intact one, add --fallback; to see what is damaged, run",
                          subject_.sequence),
              pawl("fsck" + known_run())};
    default: return {};
  }
}

Wording Hints::acting(Advice advice) const {
  switch (advice) {
    case Advice::repair_store: return {"to repair it, run", pawl("fsck --repair")};
    case Advice::wait_for_run:
      return {"wait until it finishes, for example with --wait-lock 30s; to see its status, run", pawl("show " + run_)};
    case Advice::wait_or_cancel: return {"wait until it finishes, or run", pawl("cancel " + run_)};
    case Advice::force_removal: return {"to remove it anyway, run", pawl("rm " + run_ + " --force")};
    case Advice::remove_together: return {"to remove both, run", pawl("rm " + run_ + " " + shell_word(subject_.value))};
    case Advice::decide:
      return {"to decide, run", pawl("approve " + run_ + step_),
              fmt::format(" (or {}), then: {}", pawl("reject " + run_ + step_),
                          pawl("resume " + shell_word(subject_.value.empty() ? subject_.run : subject_.value)))};
    case Advice::approve: return {"for example", pawl("approve " + run_ + step_)};
    case Advice::send_signal:
      return {"to send it, run", pawl(fmt::format("signal {} {}", run_, shell_word(subject_.value)))};
    case Advice::list_dead_letters: return {"to list the failed items, run", pawl("dlq list " + run_ + step_)};
    case Advice::retry_dead_letters: return {"to run its failed items again, run", pawl("dlq retry " + run_)};
    case Advice::show_dead_letter:
      return {"name the map, for example",
              pawl(fmt::format("dlq show {}{} {}", run_, step_, subject_.value.empty() ? "INDEX" : subject_.value))};
    case Advice::queue_and_accept_changes:
      return {"restore it, or run", pawl(fmt::format("dlq retry {} --no-run", run_)),
              fmt::format(" && {}", resume(" --accept-changes"))};
    case Advice::fork: return {"to continue from there as a new run", pawl("fork " + address_)};
    case Advice::roll_back_or_fork:
      return {"to run them again", pawl("rollback " + address_ + " --accept-rerun"),
              fmt::format("; to leave this run as it is: {}", pawl("fork " + address_))};
    case Advice::repeat_step: return {"to run it again", pawl("step --again" + step_ + " -- COMMAND")};
    case Advice::brief_run: return {"to hand it over, run", pawl("handoff " + run_)};
    case Advice::make_encrypted_store: return {"to create an encrypted store, run", pawl("init --encrypt")};
    case Advice::make_other_encrypted_store:
      return {"to create an encrypted store in another folder, run", "pawl init --encrypt --store OTHER"};
    case Advice::cancel_run: return {"to end them, run", pawl("cancel " + run_)};
    case Advice::destroy_run: return {"to destroy its data, run", pawl("erase " + run_ + " --reason TEXT")};
    case Advice::finish_erasure:
      return {"to finish it, run", pawl("fsck --repair"),
              fmt::format(" (or {})", pawl("erase " + run_ + " --reason TEXT"))};
    default: return {};
  }
}

Wording Hints::of(Advice advice) const {
  for (const auto part : {&Hints::looking, &Hints::resuming, &Hints::acting}) {
    Wording wording = (this->*part)(advice);
    if (!wording.command.empty()) return wording;
  }
  return {};
}

/// For errors without a hint of their own.
std::string general_hint(const Error& error, const HintStyle& style) {
  switch (error.code) {
    case Code::state_too_large:
      return "keep large values in files and only their names in the state, or raise "
             "checkpoint.checkpoint_size_limit_mb; " +
             advice_text(Advice::show_settings, {.value = "checkpoint"}, style);
    case Code::run_not_found: return advice_text(Advice::list_runs, {}, style);
    case Code::checkpoint_not_found: return advice_text(Advice::list_checkpoints, {}, style);
    case Code::store_not_found: return "name an existing store with --store or PAWL_STORE, or create one: pawl init";
    case Code::invalid_run_id: return "a run id is a letter or digit, then up to 127 letters, digits, '.', '_' or '-'";
    case Code::invalid_address:
      return "write RUN, RUN@SEQ, RUN@latest, RUN@name:X, RUN@stage:X, RUN@step:X or RUN@UUID";
    default: return advice_text(Advice::explain, {.value = code_text(error.code)}, style);
  }
}

}  // namespace

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,[]";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_of(Advice advice, const Subject& subject, const HintStyle& style) {
  return Hints(subject, style).of(advice).command;
}

std::string advice_text(Advice advice, const Subject& subject, const HintStyle& style) {
  const Wording wording = Hints(subject, style).of(advice);
  return wording.command.empty() ? "" : fmt::format("{}: {}{}", wording.purpose, wording.command, wording.rest);
}

std::string hint_text(const Error& error, const HintStyle& style) {
  const std::string advice = advice_text(error.advice, error.subject, style);
  if (error.hint.empty() && advice.empty()) return general_hint(error, style);
  if (error.hint.empty() || advice.empty()) return error.hint + advice;
  return error.hint + "; " + advice;
}

Error for_new_run(Error error) {
  if (error.code == Code::run_removed && error.hint.empty())
    error.hint = "the ids of removed runs are not reused: choose another id";
  if (error.code == Code::run_erased) error.hint = "the ids of erased runs are not reused: choose another id";
  return error;
}

std::vector<std::string> commands_of(const std::vector<NextAction>& actions, const HintStyle& style) {
  std::vector<std::string> commands;
  for (const NextAction& action : actions) commands.push_back(command_of(action.advice, action.subject, style));
  return commands;
}

std::string finding_advice(const Finding& finding, const HintStyle& style) {
  if (finding.severity == Finding::Severity::mended) return {};  // nothing is left to do
  const std::string action = advice_text(finding.action, {.run = finding.run}, style);
  const bool both = !finding.advice.empty() && !action.empty();
  return finding.advice + (both ? "; " : "") + action;
}

Error with_rendered_hint(Error error, const HintStyle& style) {
  error.hint = hint_text(error, style);
  error.advice = Advice::none;
  return error;
}

}  // namespace pawl::cli
