#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "cli/command.hpp"
#include "cli/log_printer.hpp"
#include "engine/resume_facts.hpp"
#include "engine/secret_log.hpp"
#include "service/run_report.hpp"
#include "service/step_call.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kBetweenLooks_us = 200'000;
constexpr std::uint64_t kPieceBytes = 64ULL << 10;

struct LogsArguments {
  std::string run;
  std::string step;
  bool follow = false;
  std::optional<std::uint64_t> attempt;
};

/// `STEM.N.log`, where an item's stem is `pages/[17].write` (engine: file_path_of).
std::optional<LogFile> parse_log_name(const std::string& name) {
  LogFile file;
  if (name.ends_with(".log")) {
    file.stream = "log";
  } else if (name.ends_with(".out")) {
    file.stream = "out";
  } else {
    return std::nullopt;
  }
  const std::string stem = name.substr(0, name.size() - 4);
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(stem.data() + dot + 1, stem.data() + stem.size(), file.attempt);
  if (error != std::errc{} || end != stem.data() + stem.size()) return std::nullopt;
  file.step = stem.substr(0, dot);
  return file;
}

/// Returns whether `path` is `step` or inside it. `pages.write` stands for the inner step of all items.
bool belongs(std::string_view path, std::string_view step) {
  if (step.empty()) return true;
  while (!step.empty()) {
    if (path.empty()) return false;
    if (path.front() == step.front()) {
      path.remove_prefix(1);
      step.remove_prefix(1);
      continue;
    }
    const std::size_t close = path.front() == '[' ? path.find(']') : std::string_view::npos;
    if (close == std::string_view::npos) return false;
    path.remove_prefix(close + 1);
  }
  return path.empty() || path.front() == '.' || path.front() == '[';
}

/// Sorts steps by the order in which they start: those of the run as recorded, inner ones as the workflow lists them.
class StepOrder {
 public:
  StepOrder() = default;
  StepOrder(const RunState& state, const std::optional<Workflow>& workflow) {
    if (workflow) add(workflow->steps, "");
    for (const auto& [path, record] : state.steps) started_.try_emplace(path, started_.size());
  }

  /// Returns a key that sorts the path.
  [[nodiscard]] std::vector<std::uint64_t> key(std::string_view path) const {
    std::vector<std::uint64_t> key;
    std::string plain;  // without indices, as the workflow names the step
    for (std::size_t at = 0; at < path.size();) {
      if (path[at] == '[') {
        std::uint64_t index = 0;
        const auto [end, error] = std::from_chars(path.data() + at + 1, path.data() + path.size(), index);
        key.push_back(error == std::errc() ? index : UINT64_MAX);
        at = std::min(path.find(']', at), path.size() - 1) + 1;
        continue;
      }
      const std::size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
      plain += path.substr(at, end - at);
      const auto started = key.empty() ? started_.find(plain) : started_.end();
      const auto listed = listed_.find(plain);
      key.push_back(started != started_.end() ? started->second
                    : listed != listed_.end() ? listed->second
                                              : UINT64_MAX);
      at = end;
    }
    return key;
  }

 private:
  void add(const Steps& steps, const std::string& prefix) {
    for (const Step& step : steps) {
      const std::string path = prefix + step.id;
      listed_.try_emplace(path, listed_.size());
      if (const auto* loop = std::get_if<Loop>(&step.work); loop != nullptr && loop->steps)
        add(*loop->steps, path + ".");
      if (const auto* map = std::get_if<Map>(&step.work); map != nullptr && map->steps) add(*map->steps, path + ".");
    }
  }
  std::map<std::string, std::size_t, std::less<>> started_;
  std::map<std::string, std::size_t, std::less<>> listed_;
};

/// Logs of `pawl step` contain both streams of a command, and its output is also stored separately.
enum class LogStreams : std::uint8_t { all, log_only };

/// Returns the requested logs, sorted by the time of their last change. Short steps often have the same.
std::vector<LogFile> find_logs(LocalFiles& files, const std::string& folder, const LogsArguments& arguments,
                               LogStreams streams, const StepOrder& order) {
  std::vector<LogFile> found;
  const auto take = [&](const std::string& prefix, const std::string& place, const std::string& name) {
    std::optional<LogFile> file = parse_log_name(name);
    if (file && streams == LogStreams::log_only && file->stream != "log") return;
    if (!file || (arguments.attempt && file->attempt != *arguments.attempt)) return;
    file->step = prefix + file->step;
    if (!belongs(file->step, arguments.step)) return;
    file->path = place + "/" + name;
    file->modified = files.modified(file->path);
    found.push_back(std::move(*file));
  };
  constexpr std::size_t kFoldersMax = 64;
  const auto look_inside = [&](const auto& self, const std::string& place, const std::string& prefix,
                               std::size_t depth) -> void {
    for (const std::string& name : files.list(place)) {
      const std::string path = place + "/" + name;
      if (!files.is_folder(path)) {
        take(prefix, place, name);
      } else if (depth < kFoldersMax) {
        const bool is_whole = depth > 0 || belongs(name, arguments.step) || belongs(arguments.step, name);
        // A long name continues in the folder, so it may be a part of what is wanted.
        if (is_whole || name.size() >= 64) self(self, path, prefix + name, depth + 1);
      }
    }
  };
  look_inside(look_inside, folder, "", 0);
  std::ranges::sort(found, {}, [&](const LogFile& file) {
    return std::tuple(file.modified, order.key(file.step), file.step, file.attempt, file.path);
  });
  return found;
}

/// Returns whether the run has this step, started or not.
bool is_step(const RunState& state, const std::optional<Workflow>& workflow, const std::string& step) {
  if (workflow && find_step(*workflow, step) != nullptr) return true;
  return std::ranges::any_of(state.steps, [&](const auto& entry) { return belongs(entry.first, step); });
}

Error unknown_step(const RunId& run, const RunState& state, const std::optional<Workflow>& workflow,
                   const std::string& step) {
  std::vector<std::string> names;
  for (const auto& [path, record] : state.steps) names.push_back(path);
  if (workflow) {
    for (const Step& known : workflow->steps) names.push_back(known.id);
  }
  const std::string nearest = suggest(step, names);
  return Error{Code::step_not_found,
               fmt::format("run '{}' has no step '{}'", run.text(), step),
               {},
               nearest.empty() ? fmt::format("to list its steps, run: pawl show {}", run.text())
                               : fmt::format("did you mean `pawl logs {} {}`?", run.text(), nearest),
               0};
}

/// Refuses `pages[9]` if the map has fewer items, or the loop fewer iterations.
Result<void> check_indices(const RunState& state, const std::string& step) {
  for (std::size_t open = step.find('['); open != std::string::npos; open = step.find('[', open + 1)) {
    const StepRecord* record = state.find(step.substr(0, open));
    std::uint64_t index = 0;
    const auto [end, error] = std::from_chars(step.data() + open + 1, step.data() + step.size(), index);
    if (record == nullptr || error != std::errc{}) continue;
    if (record->map && index >= record->map->total)
      return fail(Error{Code::step_not_found,
                        fmt::format("'{}' has no item {}", step.substr(0, open), index),
                        {},
                        record->map->total == 0 ? std::string("it has no items")
                                                : fmt::format("its items are 0 to {}", record->map->total - 1),
                        0});
    if (!record->map && record->iteration > 0 && (index == 0 || index > record->iteration))
      return fail(Error{Code::step_not_found,
                        fmt::format("'{}' has no iteration {}", step.substr(0, open), index),
                        {},
                        fmt::format("its iterations are 1 to {}", record->iteration),
                        0});
  }
  return {};
}

/// Explains why there is nothing to print.
std::string no_logs(const RunId& run, const RunState& state, const std::optional<Workflow>& workflow,
                    const LogsArguments& arguments) {
  const StepRecord* record = state.find(arguments.step);
  if (record != nullptr && !record->child_run.empty())
    return fmt::format("its logs belong to run {}; run: pawl logs {}", record->child_run, record->child_run);
  if (arguments.step.empty()) return fmt::format("run {} has no output", run.text());
  const Step* step = workflow ? find_step(*workflow, arguments.step) : nullptr;
  const bool in_step = step != nullptr && arguments.step.find('.') != std::string::npos;
  // The state does not contain finished items.
  const bool inner =
      arguments.step.find('[') != std::string::npos || (in_step && std::holds_alternative<RunCommand>(step->work));
  if (!inner && (record == nullptr || record->starts == 0)) {
    const char* why = "it runs no command";
    if (step != nullptr && std::holds_alternative<RunCommand>(step->work)) {
      const bool cached = step->cache && record != nullptr && record->status == StepStatus::completed;
      why = cached ? "its output came from the cache" : "it has not run";
    }
    return fmt::format("{} has no logs: {}", arguments.step, why);
  }
  return fmt::format("{} has no output", arguments.step);
}

Error no_attempt(const RunId& run, const LogsArguments& arguments) {
  const std::string step = arguments.step.empty() ? "" : " " + arguments.step;
  return Error{
      Code::step_not_found,
      arguments.step.empty()
          ? fmt::format("no step of run '{}' has printed anything in attempt {}", run.text(), *arguments.attempt)
          : fmt::format("step '{}' of run '{}' has no attempt {}", arguments.step, run.text(), *arguments.attempt),
      {},
      fmt::format("to print all attempts, run: pawl logs {}{}", run.text(), step),
      0};
}

class Logs {
 public:
  /// `goes_on` returns whether more may be printed.
  Logs(const Invocation& invocation, std::function<Result<bool>()> goes_on, const LogsArguments& arguments,
       std::string folder, std::shared_ptr<LogCipher> cipher, LogStreams streams, StepOrder order)
      : invocation_(invocation),
        goes_on_(std::move(goes_on)),
        arguments_(arguments),
        folder_(std::move(folder)),
        streams_(streams),
        order_(std::move(order)),
        files_(invocation.context().workflows->files),
        reader_(files_, std::move(cipher), folder_),
        printer_(invocation.context().out, invocation.json()                      ? LogForm::json
                                           : invocation.context().out_is_terminal ? LogForm::terminal
                                                                                  : LogForm::bytes) {}

  /// Prints new output. Returns whether there was any.
  Result<bool> print(PrefixLines prefixes) {
    std::vector<LogFile> found = find_logs(files_, folder_, arguments_, streams_, order_);
    if (prefixes == PrefixLines::where_several) {
      const bool several =
          std::ranges::any_of(found, [&](const LogFile& file) { return file.step != found.front().step; });
      prefixes = several ? PrefixLines::always : PrefixLines::never;
    }
    printer_.set_prefixes(prefixes);
    bool any = false;
    for (const LogFile& file : found) {
      PAWL_TRY_ASSIGN(const bool printed, print_rest(file));
      any = any || printed;
    }
    PAWL_TRY(invocation_.context().out.flush());
    return any;
  }

  Result<void> follow(PrefixLines prefixes) {
    while (true) {
      // Checked before reading, so that output written just before the end is not missed.
      PAWL_TRY_ASSIGN(const bool goes_on, goes_on_());
      PAWL_TRY_ASSIGN(const bool any, print(prefixes));
      if (!goes_on && !any) break;
      invocation_.context().clock.sleep_us(kBetweenLooks_us);
    }
    printer_.end_line();
    return {};
  }

  void end() { printer_.end_line(); }

 private:
  Result<bool> print_rest(const LogFile& file) {
    std::uint64_t& offset = offsets_[file.path];
    const std::uint64_t size = files_.size(file.path);
    if (size <= offset) return false;
    while (offset < size) {
      PAWL_TRY_ASSIGN(const std::string piece, reader_.read(file.path, offset, std::min(kPieceBytes, size - offset)));
      if (piece.empty()) break;
      printer_.print(file, piece);
    }
    return true;
  }

  const Invocation& invocation_;
  const std::function<Result<bool>()> goes_on_;
  const LogsArguments& arguments_;
  const std::string folder_;
  const LogStreams streams_;
  const StepOrder order_;
  LocalFiles& files_;
  LogReader reader_;
  LogPrinter printer_;
  std::map<std::string, std::uint64_t> offsets_;  // how much of each file was printed
};

/// Prints the logs of a run of `pawl step`.
Result<void> step_logs(const Invocation& invocation, Store& store, const RunId& run, const LogsArguments& arguments) {
  PAWL_TRY_ASSIGN(const StepsStatus steps, steps_status(store, run));
  if (!arguments.step.empty() && steps.ledger.find(arguments.step) == nullptr) {
    RunState state;
    state.steps = steps.ledger.steps;
    return fail(unknown_step(run, state, std::nullopt, arguments.step));
  }
  PAWL_TRY_ASSIGN(std::string folder, store.local_folder(run));
  PAWL_TRY_ASSIGN(std::shared_ptr<LogCipher> cipher, store.log_cipher(run));
  const auto goes_on = [&]() -> Result<bool> {
    PAWL_TRY_ASSIGN(const StepsStatus now, steps_status(store, run));
    return now.status == RunStatus::running;
  };
  Logs printed(invocation, goes_on, arguments, std::move(folder), std::move(cipher), LogStreams::log_only, StepOrder());
  if (arguments.follow) return printed.follow(arguments.step.empty() ? PrefixLines::always : PrefixLines::never);
  PAWL_TRY_ASSIGN(const bool any, printed.print(PrefixLines::where_several));
  printed.end();
  if (!any && arguments.attempt) {
    const StepRecord* const record = steps.ledger.find(arguments.step);
    if (record == nullptr || *arguments.attempt > record->attempts + 1) return fail(no_attempt(run, arguments));
  }
  if (!any)
    invocation.note(arguments.step.empty() ? fmt::format("run {} has printed nothing", run.text())
                                           : fmt::format("{} has printed nothing", arguments.step));
  return {};
}

Result<void> logs(const Invocation& invocation, const LogsArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  if (is_steps_run(*store, run)) return step_logs(invocation, *store, run, arguments);
  PAWL_TRY_ASSIGN(const StandingRun standing, standing_run(*store, run));
  const std::optional<Workflow> workflow = recorded_workflow(*store, run, standing.state);
  if (!arguments.step.empty() && !is_step(standing.state, workflow, arguments.step))
    return fail(unknown_step(run, standing.state, workflow, arguments.step));
  PAWL_TRY(check_indices(standing.state, arguments.step));
  PAWL_TRY_ASSIGN(std::string folder, store->local_folder(run));
  PAWL_TRY_ASSIGN(std::shared_ptr<LogCipher> cipher, store->log_cipher(run));
  const auto goes_on = [&]() -> Result<bool> {
    PAWL_TRY_ASSIGN(const std::optional<std::string> owner, store->owner(run));
    return owner.has_value();
  };
  Logs printed(invocation, goes_on, arguments, std::move(folder), std::move(cipher), LogStreams::all,
               StepOrder(standing.state, workflow));
  if (arguments.follow) {
    const Step* step = workflow && !arguments.step.empty() ? find_step(*workflow, arguments.step) : nullptr;
    const bool one = step != nullptr && std::holds_alternative<RunCommand>(step->work);
    return printed.follow(one ? PrefixLines::never : PrefixLines::always);
  }
  PAWL_TRY_ASSIGN(const bool any, printed.print(PrefixLines::where_several));
  printed.end();
  PAWL_TRY_ASSIGN(const std::optional<ForkInfo> origin, store->origin_of(run));
  if (!any && !origin && arguments.attempt) {
    const StepRecord* const record = standing.state.find(arguments.step);
    if (record == nullptr || *arguments.attempt > record->starts) return fail(no_attempt(run, arguments));
  }
  if (!any && !origin) invocation.note(no_logs(run, standing.state, workflow, arguments));
  if (origin) {
    const std::string step = arguments.step.empty() ? "" : " " + arguments.step;
    invocation.note(fmt::format("{}for output from before the fork, run: pawl logs {}{}",
                                any ? "" : "no output since the fork; ", origin->run.text(), step));
  }
  return {};
}

}  // namespace

Command add_logs(Options& root) {
  const auto arguments = std::make_shared<LogsArguments>();
  Options& app = root.command("logs", "Print the output of a run's steps");
  app.group(kLookGroup);
  app.text("RUN", arguments->run, "Run id").required();
  app.text("STEP", arguments->step,
           "Step, with its inner steps: pages, pages[17], pages[17].write, pages.write (default: all)");
  app.flag("-f,--follow", arguments->follow, "Keep printing until the run finishes");
  app.number("--attempt", arguments->attempt, "Only this attempt, starting at 1 (default: all)",
             {.lowest = 1, .highest = UINT32_MAX});
  app.footer(
      "Examples:\n"
      "  pawl logs notes-k3f9\n"
      "  pawl logs notes-k3f9 gather --attempt 2\n"
      "  pawl logs notes-k3f9 -f");
  return {&app, [arguments](const Invocation& invocation) { return logs(invocation, *arguments); }};
}

}  // namespace pawl::cli
