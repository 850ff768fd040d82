#include "engine/launcher.hpp"

#include <csignal>

#include "base/error_line.hpp"
#include "base/fault.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "engine/environment_entries.hpp"
#include "machine/names.hpp"

namespace pawl {
namespace {

constexpr std::size_t kVariableBytesMax = 128U << 10;  // of one string in an environment (the kernel's MAX_ARG_STRLEN)
constexpr std::uint64_t kEndAll_ms = 2'000;
constexpr std::uint64_t kHandlerOutputBytesMax = 8ULL << 20;

std::string text_of_error(const Error& error) { return error.message + (error.hint.empty() ? "" : "; " + error.hint); }

machine::fact::Party party_of(Fault fault) {
  return fault == Fault::machine ? machine::fact::Party::machine : machine::fact::Party::work;
}

/// What a handler returned.
struct HandlerOutcome {
  machine::fact::AttemptEnded ended;
  StepReport report;
};

HandlerOutcome outcome_of(const Result<HandlerResult>& result) {
  HandlerOutcome out;
  if (!result) {
    out.ended.error = describe_in_line(result.error());
    out.ended.exit_code = 1;
    const Category kind = category(result.error().code);
    out.ended.retryable = kind != Category::usage && kind != Category::not_found && !is_refusal(result.error().code);
    return out;
  }
  if (const Result<void> checked = check_json(result->output, kHandlerOutputBytesMax); !checked) {
    out.ended.error = fmt::format("the handler returned invalid JSON: {}", checked.error().message);
    out.ended.exit_code = 1;
    return out;
  }
  out.ended.output = Json::parse(result->output, nullptr, false);
  std::string lines;
  for (const std::string& line : result->report) lines += line + "\n";
  if (!lines.empty()) out.report = parse_report(lines, LastLine::finished);
  out.ended.report = report_of(out.report);
  if (out.report.output) out.ended.output = *out.report.output;
  if (out.report.add_steps) out.ended.add_steps = *out.report.add_steps;
  return out;
}

HandlerOutcome call(const Handler& handler, const HandlerCall& given) {
  HandlerOutcome out;
  try {
    return outcome_of(handler(given));
  } catch (const std::exception& error) {
    out.ended.error = fmt::format("the handler threw an exception: {}", error.what());
  } catch (...) {
    out.ended.error = "the handler threw an exception of an unknown type";
  }
  out.ended.exit_code = 1;
  return out;
}

}  // namespace

std::string Launcher::mark_of(const Attempt& attempt) const {
  const ProcessRunner* processes = context_.loop.processes();
  return fmt::format("PAWL_ATTEMPT_ID={}#{}@{}", attempt.command.idempotency_key, attempt.command.start,
                     processes == nullptr ? std::string() : processes->place());
}

void Launcher::start(const machine::command::StartAttempt& command) {
  const machine::Node* node = context_.node(command.node);
  if (node == nullptr) return;
  auto attempt = std::make_shared<Attempt>();
  attempt->command = command;
  // The list that it is from may be replaced meanwhile by a longer one.
  attempt->step =
      node->own != nullptr ? node->own : std::shared_ptr<const Step>(context_.scope_of(*node).steps, node->step);
  attempt->began_us = context_.services.clock.monotonic_us();
  attempts_[command.node] = attempt;
  recorder_.drop_details(event_type::kAttemptFailed, command.path);
  if (std::holds_alternative<CallHandler>(attempt->step->work)) return launch_handler(attempt, *node);
  trees_.prepare(*node, [this, attempt](const std::optional<Worktrees::Trouble>& trouble) {
    if (!trouble) return launch_command(attempt);
    not_started(attempt, Error{trouble->machine ? Code::process_failed : Code::step_failed, trouble->error, {}, {}, 0});
  });
}

void Launcher::launch_command(const Shared& attempt) {
  const machine::Node* node = context_.node(attempt->command.node);
  if (node == nullptr || attempt->stopping) return ended(attempt, {}, {.error = "stopped", .exit_code = 128 + SIGTERM});
  const Result<ProcessSpec> spec = command_spec(*attempt, *node);
  if (!spec) return not_started(attempt, spec.error());
  attempt->began_us = context_.services.clock.monotonic_us();
  attempt->process = context_.loop.start_process(*spec, [this, alive = context_.alive, attempt](const ProcessEnd& end) {
    if (*alive) process_ended(attempt, end);
  });
  context_.feed(machine::fact::AttemptStarted{attempt->command.node, attempt->command.start});
}

/// Reported from the loop: the end of an item starts the next one, so thousands of failing launches would otherwise
/// overflow the stack.
void Launcher::not_started(const Shared& attempt, const Error& error) {
  context_.loop.post([this, alive = context_.alive, attempt, error] {
    if (!*alive) return;
    attempts_.erase(attempt->command.node);
    if (fault_of(error) == Fault::machine) trouble_ = error;
    context_.feed(machine::fact::AttemptNotStarted{.node = attempt->command.node,
                                                   .start = attempt->command.start,
                                                   .party = party_of(fault_of(error)),
                                                   .error = text_of_error(error)});
  });
}

Result<std::vector<std::string>> Launcher::environment_of(const Attempt& attempt, const machine::Node& node,
                                                          Json& arguments) {
  const machine::StateNames names(context_.state, context_.scope_of(node), &node);
  std::vector<std::string> entries = context_.environment;
  for (const std::string& file : node.step->env_files) {
    const std::string path = context_.services.files.absolute(file, context_.base.working_dir);
    PAWL_TRY_ASSIGN(const std::string text, context_.services.files.read(path, 1 << 20));
    PAWL_TRY_ASSIGN(std::vector<std::string> read, parse_env_file(text, path));
    for (std::string& entry : read) set_entry(entries, std::move(entry));
  }
  for (const auto& [name, value] : node.step->env) {
    PAWL_TRY_ASSIGN(const std::string text, value.render(names));
    set_entry(entries, name + "=" + text);
  }
  PAWL_TRY_ASSIGN(arguments, set_arguments(entries, std::get<RunCommand>(node.step->work).command, names));
  const Json& previous = node.record.partial;
  set_entry(entries, "PAWL_RUN=" + context_.id.text());
  set_entry(entries, "PAWL_RUN_UUID=" + context_.uuid.text());
  set_entry(entries, "PAWL_STEP=" + node.path);
  set_entry(entries, fmt::format("PAWL_ATTEMPT={}", attempt.command.attempt));
  set_entry(entries, mark_of(attempt));
  set_entry(entries, "PAWL_IDEMPOTENCY_KEY=" + attempt.command.idempotency_key);
  set_entry(entries, "PAWL_RESULT=" + attempt.stems.work + ".result");
  set_entry(entries, "PAWL_INPUT=" + attempt.stems.work + ".input.json");
  set_entry(entries, "PAWL_STORE=" + context_.services.store_uri);
  std::string progress = "PAWL_PREVIOUS=" + (previous.is_null() ? std::string() : compact(previous));
  // What is too large for a variable is in the input file only; a step must never be unable to start because of it.
  if (progress.size() >= kVariableBytesMax) progress = "PAWL_PREVIOUS=";
  set_entry(entries, std::move(progress));
  return entries;
}

Result<ProcessSpec> Launcher::command_spec(Attempt& attempt, const machine::Node& node) {
  PAWL_TRY_ASSIGN(attempt.stems, files_.prepare(attempt.command.path, attempt.command.start));
  Json arguments = Json::array();
  PAWL_TRY_ASSIGN(std::vector<std::string> entries, environment_of(attempt, node, arguments));
  const machine::Scope& scope = context_.scope_of(node);
  if (scope.kind == machine::ScopeKind::reduce) {
    const std::string& map = machine::node_at(context_.state, scope.owner).path;
    const std::string file = context_.work + "/" + map + ".items.jsonl";
    PAWL_TRY(items_.write_results(machine::node_at(context_.state, scope.owner), file));
    set_entry(entries, "PAWL_ITEMS=" + file);
  }
  for (const std::string& entry : entries) {
    if (entry.size() < kVariableBytesMax) continue;
    return fail(Error{Code::value_too_large,
                      fmt::format("'{}' has {} bytes; an environment variable can hold at most {}",
                                  entry.substr(0, entry.find('=')), entry.size(), kVariableBytesMax - 1),
                      {},
                      "read it from the JSON file $PAWL_INPUT instead",
                      0});
  }
  PAWL_TRY(write_input(attempt, node, arguments));
  ProcessSpec spec;
  spec.environment = std::move(entries);
  const std::string tree = trees_.tree_of(node);
  spec.working_dir = tree.empty() ? context_.base.working_dir : tree;
  if (node.step->working_dir) {
    PAWL_TRY_ASSIGN(const std::string place,
                    node.step->working_dir->render(machine::StateNames(context_.state, scope, &node)));
    spec.working_dir = context_.services.files.absolute(place, spec.working_dir);
  }
  const auto& command = std::get<RunCommand>(node.step->work);
  spec.argv = shell_words_of(command.command, command.shell);
  open_outputs(attempt, node.step->capture, spec);
  return spec;
}

void Launcher::open_outputs(Attempt& attempt, const Capture& capture, ProcessSpec& spec) {
  std::function<void(std::string_view)> shown;
  RunObserver* observer = context_.services.observer;
  if (observer != nullptr && observer->wants_output()) {
    shown = [observer, run = context_.id.text(), path = attempt.command.path](std::string_view text) {
      observer->on_output(run, path, text);
    };
  }
  attempt.log = context_.make_output(attempt.stems.log + ".log", {.tail_bytes = kTailBytes, .shown = shown});
  if (capture.format != CaptureFormat::none)
    attempt.captured = context_.make_output(
        attempt.stems.log + ".out", {.tail_bytes = kTailBytes, .captured_bytes = kCaptureBytesMax, .shown = shown});
  spec.errors = attempt.log;
  spec.output = attempt.captured != nullptr ? attempt.captured : attempt.log;
}

Result<void> Launcher::write_input(const Attempt& attempt, const machine::Node& node, const Json& arguments) {
  const machine::Scope& scope = context_.scope_of(node);
  const machine::StateNames names(context_.state, scope, &node);
  Json input = {{"run", context_.id.text()},
                {"step", node.path},
                {"vars", context_.base.vars},
                {"arguments", arguments},
                {"previous", node.record.partial}};
  for (const char* name : {"item", "index", "loop", "map"}) {
    const Result<Json> value = names.find(std::vector<PathPart>{PathPart(std::string(name))});
    if (value) input[name] = *value;
  }
  Json& steps = input["steps"] = Json::object();
  for (const std::size_t before : node.step->after) {
    const machine::Node& other = machine::node_at(context_.state, scope.nodes[before]);
    Json entry = {{"status", to_text(other.record.status)}, {"output", Json()}};
    Result<Json> output = items_.output_of(other);
    if (output) {
      entry["output"] = std::move(*output);
    } else if (output.error().code == Code::value_too_large) {
      entry["omitted"] = output.error().message;
    } else {
      return fail(output.error());
    }
    steps[other.step->id] = std::move(entry);
  }
  return files_.write_input(attempt.stems.work + ".input.json", input);
}

void Launcher::launch_handler(const Shared& attempt, const machine::Node& node) {
  const auto& work = std::get<CallHandler>(attempt->step->work);
  const machine::Scope& scope = context_.scope_of(node);
  Result<Handler> handler = context_.services.handlers.get(work.name);
  const Result<Json> with = work.with.evaluate(machine::StateNames(context_.state, scope, &node));
  if (!handler || !with) return not_started(attempt, !handler ? handler.error() : with.error());
  HandlerCall given{.run = context_.id.text(),
                    .step = node.path,
                    .idempotency_key = attempt->command.idempotency_key,
                    .attempt = attempt->command.attempt,
                    .input = compact(*with),
                    .previous = compact(node.record.partial)};
  if (scope.kind == machine::ScopeKind::item) {
    given.item = compact(*scope.item);
    given.index = scope.index;
  }
  context_.loop.start_work([this, alive = context_.alive, attempt, handler = std::move(*handler),
                            given = std::move(given)]() -> EventLoop::Task {
    auto outcome = std::make_shared<HandlerOutcome>(call(handler, given));
    return [this, alive, attempt, outcome] {
      if (*alive) ended(attempt, std::move(outcome->report), std::move(outcome->ended));
    };
  });
  context_.feed(machine::fact::AttemptStarted{attempt->command.node, attempt->command.start});
}

void Launcher::stop(const machine::command::StopAttempt& command) {
  const auto found = attempts_.find(command.node);
  if (found == attempts_.end() || found->second->command.start != command.start) return;
  const Shared attempt = found->second;
  attempt->stopping = true;
  if (!attempt->process) return;  // a handler, or git: it ends by itself
  const ProcessRunner::Number number = *attempt->process;
  context_.loop.signal_process(number, SIGTERM);
  context_.loop.signal_process(number, SIGCONT);
  const std::int64_t grace_us = std::chrono::microseconds(context_.workflow->grace).count();
  attempt->grace = context_.loop.after(grace_us, [this, alive = context_.alive, attempt, number] {
    if (*alive && attempt->process == number) context_.loop.signal_process(number, SIGKILL);
  });
}

void Launcher::process_ended(const Shared& attempt, const ProcessEnd& end) {
  attempt->process.reset();
  context_.loop.cancel(attempt->grace);
  // Processes that it started in other sessions must not run concurrently with the next attempt.
  if (attempt->stopping && context_.loop.processes() != nullptr)
    static_cast<void>(context_.loop.processes()->end_all(mark_of(*attempt), kEndAll_ms));
  if (context_.masks.has_keys()) context_.services.files.remove(attempt->stems.work + ".input.json");
  const machine::command::StartAttempt& command = attempt->command;
  const bool lost = end.how == ProcessEnd::How::lost;
  const LastLine last = end.how == ProcessEnd::How::exited ? LastLine::finished : LastLine::may_be_cut;
  ProcessResult result{.end = end};
  Result<std::optional<StepReport>> report = files_.read_report(attempt->stems.work + ".result", last);
  if (!report) {
    result.report_error = fmt::format("can't read $PAWL_RESULT: {}", report.error().message);
    result.report.faults.push_back(result.report_error);
  } else if (*report) {
    result.report = std::move(**report);
  }
  attempt->has_report = !report || *report;
  if (end.how == ProcessEnd::How::not_started) {
    over(attempt);
    if (end.fault == Fault::machine) trouble_ = Error{Code::process_failed, end.error, {}, {}, 0};
    return context_.feed(machine::fact::AttemptNotStarted{
        .node = command.node, .start = command.start, .party = party_of(end.fault), .error = end.error});
  }
  if (lost) {
    over(attempt);
    tell_report(command.path, result.report);
    return context_.feed(machine::fact::AttemptLost{command.node, command.start, report_of(result.report)});
  }
  if (attempt->captured != nullptr) {
    result.captured = context_.masks.text(attempt->captured->captured());
    result.printed_bytes = attempt->captured->printed_bytes();
  }
  Json details = Json::object();
  for (const auto& printed : {attempt->log, attempt->captured}) {  // many tools report errors on standard output
    if (printed == nullptr || printed->tail().empty() || details.contains("log")) continue;
    details["log"] = readable_tail(std::string(printed->tail()));
  }
  if (end.memory_peak_bytes > 0) details["memory_peak_bytes"] = end.memory_peak_bytes;
  StepReport told = result.report;
  machine::fact::AttemptEnded fact;
  evaluate(attempt->step->capture, std::move(result), fact);
  const bool succeeded = fact.error.empty() && !attempt->stopping;
  if (!succeeded) recorder_.add_details(event_type::kAttemptFailed, command.path, std::move(details));
  if (!context_.masks.has_keys()) files_.reuse(attempt->stems.work + ".input.json");
  const machine::Node* node = context_.node(command.node);
  if (!succeeded || node == nullptr) return ended(attempt, std::move(told), std::move(fact));
  const auto then = [this, attempt, told = std::move(told),
                     fact = std::move(fact)](const std::optional<Worktrees::Trouble>& trouble) mutable {
    if (trouble && trouble->machine) {
      over(attempt);
      return context_.feed(
          machine::fact::AttemptLost{attempt->command.node, attempt->command.start, std::move(fact.report)});
    }
    if (trouble) {
      fact.error = trouble->error;
      fact.exit_code = 1;
      fact.retryable = false;
    }
    ended(attempt, std::move(told), std::move(fact));
  };
  if (trees_.shares_tree(*node)) return trees_.keep_changes(*node, then);
  trees_.merge_step(*node, then);
}

void Launcher::tell_report(const std::string& path, const StepReport& report) {
  for (const Json& decision : report.decisions) context_.tell(event_type::kDecision, path, decision);
  for (const std::string& blocker : report.blockers)
    context_.tell(event_type::kBlocker, path, {{"description", blocker}});
  for (const std::string& message : report.messages) context_.tell(event_type::kMessage, path, {{"text", message}});
  for (const std::string& fault : report.faults) context_.tell(event_type::kReportFault, path, {{"error", fault}});
  if (report.context_usage) context_.tell(event_type::kContextUsage, path, {{"share", *report.context_usage}});
  for (const Json& evaluation : report.evaluations)
    context_.tell(event_type::kEvaluation, path, {{"evaluation", evaluation}});
}

/// Returns the next part of a report that has a checkpoint of its own, and takes it out of the report: a decision if
/// they are not batched, an evaluation, a confidence that crosses its threshold. The attempt ends when it is durable.
std::optional<machine::Report> Launcher::next_part(const Shared& attempt, StepReport& report) {
  const machine::Saving& saving = context_.state.saving;
  const machine::Node* node = context_.node(attempt->command.node);
  if (node == nullptr || saving.memory_only || saving.given_up || attempt->stopping) return std::nullopt;
  const std::string& path = attempt->command.path;
  if (!context_.services.settings.performance.batch_decisions && !report.decisions.empty()) {
    context_.tell(event_type::kDecision, path, report.decisions.front());
    report.decisions.erase(report.decisions.begin());
    return machine::Report{.usage = report.usage, .decisions = node->record.decisions + 1};
  }
  if (!report.evaluations.empty()) {
    for (const Json& evaluation : report.evaluations)
      context_.tell(event_type::kEvaluation, path, {{"evaluation", evaluation}});
    report.evaluations.clear();
    return machine::Report{.usage = report.usage, .evaluations = 1};
  }
  if (attempt->told_confidence || !report.confidence || !machine::crosses(*node, *report.confidence))
    return std::nullopt;
  attempt->told_confidence = true;
  return machine::Report{.usage = report.usage, .confidence = report.confidence};
}

/// Called when the end of the attempt is fed: only then is what it reported in the next save.
void Launcher::over(const Shared& attempt) {
  if (attempt->has_report) recorder_.remove_when_durable(attempt->stems.work + ".result");
  attempts_.erase(attempt->command.node);
}

void Launcher::ended(const Shared& attempt, StepReport report, machine::fact::AttemptEnded fact) {
  const machine::command::StartAttempt& command = attempt->command;
  if (std::optional<machine::Report> apart = next_part(attempt, report)) {
    recorder_.when_durable(
        [this, alive = context_.alive, attempt, report = std::move(report), fact = std::move(fact)]() mutable {
          if (*alive) ended(attempt, std::move(report), std::move(fact));
        });
    return context_.feed(machine::fact::AttemptReported{command.node, command.start, std::move(*apart)});
  }
  over(attempt);
  tell_report(command.path, report);
  fact.node = command.node;
  fact.start = command.start;
  fact.retry_after = report.retry_after;
  const std::int64_t took_us = context_.services.clock.monotonic_us() - attempt->began_us;
  fact.ms = static_cast<std::uint64_t>(std::max<std::int64_t>(took_us, 0)) / 1000;
  context_.feed(std::move(fact));
}

void Launcher::report_left() {
  for (const AttemptFiles::Left& left : files_.left_reports()) {
    const Result<std::optional<StepReport>> read = files_.read_report(left.file, LastLine::may_be_cut);
    const std::uint64_t before = context_.state.records;
    StepReport report = read && *read ? **read : StepReport{};
    const machine::Node* node = machine::find_node(context_.state, left.path);
    const std::size_t saved =
        node == nullptr ? 0 : std::min<std::size_t>(node->record.decisions, report.decisions.size());
    context_.feed(machine::fact::AttemptLeft{left.path, left.start, report_of(report)});
    recorder_.remove_when_durable(left.file);
    if (context_.state.records == before) continue;  // the step has finished
    report.decisions.erase(report.decisions.begin(), report.decisions.begin() + static_cast<std::ptrdiff_t>(saved));
    tell_report(left.path, report);
  }
}

void Launcher::read_reports() {
  std::vector<machine::fact::AttemptReported> reports;
  for (const auto& [id, attempt] : attempts_) {
    if (!attempt->process) continue;
    const std::string file = attempt->stems.work + ".result";
    const std::uint64_t bytes = context_.services.files.size(file);
    if (bytes == attempt->report_bytes || bytes > kResultBytesMax) continue;
    attempt->report_bytes = bytes;
    const Result<std::optional<StepReport>> report = files_.read_report(file, LastLine::may_be_cut);
    if (!report || !*report) continue;
    machine::Report known = report_of(**report);
    known.evaluations = 0;  // counted once, at the end
    if (known.usage == Usage{} && known.progress.is_null() && !known.confidence) continue;
    reports.push_back({id, attempt->command.start, std::move(known)});
  }
  for (machine::fact::AttemptReported& report : reports) context_.feed(std::move(report));
}

}  // namespace pawl
