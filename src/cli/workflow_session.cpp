#include "cli/workflow_session.hpp"

#include <cerrno>

#include "cli/exit_status.hpp"
#include "cli/recovery_options.hpp"
#include "cli/run_view.hpp"
#include "cli/terminal_prompts.hpp"
#include "cli/terminal_text.hpp"
#include "cli/this_person.hpp"
#include "domain/event_types.hpp"
#include "engine/run_or_resume.hpp"
#include "engine/workflow_warnings.hpp"
#include "service/run_status.hpp"

namespace pawl::cli {
namespace {

bool can_ask(const Invocation& invocation) {
  const CliContext& context = invocation.context();
  return context.in_is_terminal && context.out_is_terminal && !invocation.json();
}

/// The host of a session that is shown in `view`. `prompts` is null without a terminal that can be asked.
Result<SessionHost> host_of(const Invocation& invocation, RunView& view, TerminalPrompts* prompts) {
  CliContext& context = invocation.context();
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  SessionHost host{.world = *context.workflows,
                   .clock = context.clock,
                   .view = view,
                   .open_store = {},
                   .read_file = context.read_file,
                   .store_uri = absolute_path(context, invocation.store_uri()),
                   .settings = config->settings};
  host.open_store = [&invocation, &context, config]() -> Result<std::unique_ptr<Store>> {
    if (config->settings.checkpoint.enabled) return invocation.open_store(StoreAccess::serve);
    return context.open_store("memory:", StoreAccess::serve, config->settings);
  };
  host.person = this_person(context);
  if (prompts != nullptr) {
    host.prompt = [prompts](const Gate& gate, std::function<void(GateAnswer)> answered) {
      return prompts->open(gate, std::move(answered));
    };
  }
  return host;
}

std::string spent_text(const Resumption& resumption) {
  const ResumePlan& plan = resumption.plan;
  if (plan.kept_steps == 0) return {};
  std::vector<std::string> saved;
  if (plan.kept_ms > 0) saved.push_back(elapsed_text(static_cast<std::int64_t>(plan.kept_ms)));
  const std::string used = used_text(plan.kept_usage.usd, plan.kept_usage.tokens);
  if (!used.empty()) saved.push_back(used);
  const std::string text = fmt::format("reused {} completed step{}", plan.kept_steps, plan.kept_steps == 1 ? "" : "s");
  return saved.empty() ? text : fmt::format("{} (saved {})", text, fmt::join(saved, ", "));
}

/// Printed to standard error with and without --json, because nothing of the run is kept.
void say_checkpoints_are_off(const Invocation& invocation, const Config& config) {
  CliContext& context = invocation.context();
  context.err.write(
      fmt::format("pawl: checkpoints are off (checkpoint.enabled: false in {}): this run can't be resumed\n",
                  printable(config.origin("checkpoint", "enabled"))));
  static_cast<void>(context.err.flush());
}

/// Prints a separate line before the events.
void tell_recovery(const Invocation& invocation, const RunId& run, const RecoveryResult& recovery) {
  if (!invocation.json()) return invocation.note(recovery_text(recovery));
  Json line = {{"event", "recovery"}, {"run", run.text()}, {"at", invocation.context().clock.now().text()}};
  line.update(to_json(recovery));
  invocation.print(compact(line) + "\n");
}

/// ": 4 succeeded, 1 failed (5 items)"; nothing if none failed. A run with failed items may have to exit with 1.
std::string items_text(const Invocation& invocation, const RunId& run, const ItemCounts& items,
                       const ShowOptions& show) {
  if (items.failed == 0) return {};
  if (show.fail_on_dlq) invocation.context().status = exit_status(Code::run_failed);
  invocation.note(fmt::format("to see the failed items, run: pawl dlq list {}", run.text()));
  return fmt::format(": {} succeeded, {} failed ({} items)", items.succeeded, items.failed,
                     items.succeeded + items.failed);
}

Result<void> tell_finished(const Invocation& invocation, const RunId& id, const FinishedRun& run,
                           const ShowOptions& show) {
  PAWL_TRY(how_it_finished(id, run.state));
  const std::string items = items_text(invocation, id, run.items, show);
  if (!invocation.json()) {
    const std::string when = age(run.at, invocation.context().clock.now());
    invocation.print(
        fmt::format("run {} already completed ({}){}\n", id.text(), when == "now" ? "just now" : when, items));
  } else {
    invocation.print(compact({{"event", event_type::kRunCompleted}, {"run", id.text()}, {"at", run.at.text()}}) + "\n");
  }
  return {};
}

/// Shows a session, and prints what its view does not show.
class SessionTeller {
 public:
  SessionTeller(const Invocation& invocation, const RunId& run, const ShowOptions& show)
      : invocation_(invocation),
        run_(run),
        show_(show),
        plain_(!invocation.json() && !shows_live(invocation, show.view)),  // the live display shows these itself
        view_(make_view(invocation, show.view)) {
    if (show.background != nullptr) view_ = make_detached_view(std::move(view_), *show.background, log_path_);
    const WorkflowWorld* world = invocation.context().workflows;
    if (show.background != nullptr || !can_ask(invocation) || !world->open_terminal) return;
    prompts_ = std::make_unique<TerminalPrompts>(
        world->open_terminal(),
        TerminalPrompts::Screen{.hold = [this] { view_->hold(); }, .release = [this] { view_->release(); }});
  }
  SessionTeller(const SessionTeller&) = delete;
  SessionTeller& operator=(const SessionTeller&) = delete;

  [[nodiscard]] RunView& view() { return *view_; }
  [[nodiscard]] TerminalPrompts* prompts() { return prompts_.get(); }

  [[nodiscard]] SessionListener listener() {
    return {.started = [this](const OpenedRun& run) { tell_start(run); },
            .resumed = [this](const Resumption& resumption) { tell_resumption(resumption); },
            .items = [this](const ItemCounts& items) { items_ = items; }};
  }

  /// Returns `ended` unchanged.
  Result<void> tell_end(Result<void> ended) const {
    const std::string items = ended ? items_text(invocation_, run_, items_, show_) : std::string();
    if (ended && plain_) {
      const std::int64_t took_us = invocation_.context().clock.monotonic_us() - began_us_;
      invocation_.print(
          spared_.empty() ? fmt::format("run {} completed in {}{}\n", run_.text(), elapsed_text(took_us / 1000), items)
                          : fmt::format("run {} completed{}\n", run_.text(), items));
    }
    if (!spared_.empty() && !invocation_.json()) invocation_.print(spared_ + "\n");
    return ended;
  }

 private:
  /// An encrypted run has no readable log in its folder.
  void choose_log(const OpenedRun& run) { log_path_ = run.open_output ? "/dev/null" : run.logs + "/detached.log"; }

  void print_id() const {
    if (!plain_) return;
    invocation_.print(run_.text() + "\n");
    static_cast<void>(invocation_.context().out.flush());
  }

  void tell_start(const OpenedRun& run) {
    choose_log(run);
    tell_warnings(invocation_, show_.warnings);
    print_id();
    began_us_ = invocation_.context().clock.monotonic_us();
  }

  void tell_resumption(const Resumption& resumption) {
    choose_log(resumption.run);
    if (show_.name_resumed) print_id();
    for (const std::string& note : resumption.notes) invocation_.note(note);
    if (resumption.recovery.mode != RecoveryMode::latest || resumption.recovery.fell_back)
      tell_recovery(invocation_, run_, resumption.recovery);
    spared_ = spent_text(resumption);
    began_us_ = invocation_.context().clock.monotonic_us();
  }

  const Invocation& invocation_;
  const RunId run_;
  const ShowOptions& show_;
  const bool plain_;
  std::string log_path_;  // of the output in the background
  std::unique_ptr<RunView> view_;
  std::unique_ptr<TerminalPrompts> prompts_;
  ItemCounts items_;
  std::int64_t began_us_ = 0;
  std::string spared_;  // what a resumption reused
};

class HiddenView final : public RunView {
 public:
  void begin(const RunId&, const Workflow&, const RunState&) override {}
  void on_event(const RunEvent&) override {}
};

Result<void> start_kept(const Invocation& invocation, const NewRun& run, const SessionOptions& options,
                        const ShowOptions& show) {
  SessionTeller teller(invocation, run.id, show);
  PAWL_TRY_ASSIGN(const SessionHost host, host_of(invocation, teller.view(), teller.prompts()));
  return teller.tell_end(pawl::start_workflow(host, run, options, teller.listener()));
}

}  // namespace

std::string absolute_path(const CliContext& context, const std::string& file) {
  return context.workflows->files.absolute(file, "");
}

Error missing_workflow(Error error, const std::string& file) {
  if (error.code != Code::input_unreadable || error.os_error != ENOENT) return error;
  const bool is_default = file == "workflow.yaml";
  error.message =
      is_default ? std::string("there is no workflow.yaml in this folder") : fmt::format("no such file: '{}'", file);
  error.hint = is_default ? "name a workflow file, for example: pawl run notes.yaml" : "check the name and the folder";
  error.where.clear();
  error.os_error = 0;
  return error;
}

Result<Workflow> load_workflow(const CliContext& context, const std::string& file, LoadFor what) {
  Result<Workflow> workflow = pawl::load_workflow(context.workflows->files, context.read_file, file, what);
  if (!workflow) return fail(missing_workflow(std::move(workflow).error(), file));
  return workflow;
}

std::string place_text(const std::string& file, Place place) {
  std::string text = file;
  if (place.line != 0) text += fmt::format(":{}", place.line);
  if (place.line != 0 && place.column != 0) text += fmt::format(":{}", place.column);
  return text;
}

std::vector<std::string> warnings_of(const CliContext& context, const Workflow& workflow, const std::string& file) {
  const WorkflowWorld& world = *context.workflows;
  std::vector<std::string> lines;
  for (const WorkflowWarning& warning : workflow_warnings(workflow, world.files, world.handlers)) {
    const std::string step = warning.step.empty() ? "" : warning.step + ": ";
    lines.push_back(
        printable(fmt::format("{}: warning: {}{}", place_text(file, warning.place), step, warning.message)));
  }
  return lines;
}

void tell_warnings(const Invocation& invocation, const std::vector<std::string>& warnings) {
  if (invocation.json()) return;
  for (const std::string& warning : warnings) invocation.context().err.write(warning + "\n");
  static_cast<void>(invocation.context().err.flush());
}

Result<void> start_workflow(const Invocation& invocation, const NewRun& run, const SessionOptions& options,
                            const ShowOptions& show) {
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  if (config->settings.checkpoint.enabled) return start_kept(invocation, run, options, show);
  say_checkpoints_are_off(invocation, *config);
  Result<void> ended = start_kept(invocation, run, options, show);
  say_checkpoints_are_off(invocation, *config);
  if (ended) return ended;
  Error error = with_other_advice(std::move(ended).error(), Advice::none);
  error.hint = "nothing was saved; set checkpoint.enabled to true and run it again";
  return fail(error);
}

Result<void> resume_workflow(const Invocation& invocation, const ResumeRequest& request, const SessionOptions& options,
                             const ShowOptions& show) {
  PAWL_TRY(invocation.need_checkpoints());
  SessionTeller teller(invocation, request.id, show);
  PAWL_TRY_ASSIGN(const SessionHost host, host_of(invocation, teller.view(), teller.prompts()));
  return teller.tell_end(pawl::resume_workflow(host, request, options, teller.listener()));
}

Result<void> end_workflow(const Invocation& invocation, const RunId& run, const std::string& reason) {
  PAWL_TRY(invocation.need_checkpoints());
  HiddenView view;
  PAWL_TRY_ASSIGN(const SessionHost host, host_of(invocation, view, nullptr));
  ResumeRequest request{.id = run};
  request.changes = Changes::accept;  // a cleanup that was fixed since is better than none
  request.cancel = reason;
  return pawl::resume_workflow(host, request, {});
}

Result<void> start_or_resume_workflow(const Invocation& invocation, const NewRun& run, const SessionOptions& options,
                                      const ShowOptions& show) {
  PAWL_TRY(invocation.need_checkpoints());
  SessionTeller teller(invocation, run.id, show);
  PAWL_TRY_ASSIGN(const SessionHost host, host_of(invocation, teller.view(), teller.prompts()));
  const auto finished = pawl::start_or_resume_workflow(host, run, options, teller.listener());
  if (finished && *finished) return tell_finished(invocation, run.id, **finished, show);
  if (!finished) return teller.tell_end(fail(finished.error()));
  return teller.tell_end({});
}

std::string candidates_text(const Invocation& invocation, Store& store, const std::vector<RunInfo>& runs) {
  const Timestamp now = invocation.context().clock.now();
  Table table({{.name = "RUN"}, {.name = "STATUS"}, {.name = "SAVED"}});
  for (const RunInfo& run : runs) table.add({printable(run.id.text()), status_word(store, run), age(run.updated, now)});
  const std::string rows = table.text(Style(false), std::nullopt);
  std::string text;
  for (std::size_t at = 0; at < rows.size();) {
    const std::size_t end = rows.find('\n', at);
    text += "\n  " + rows.substr(at, end - at);
    at = end + 1;
  }
  return text;
}

}  // namespace pawl::cli
