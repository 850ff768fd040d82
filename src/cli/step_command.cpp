#include "cli/command.hpp"
#include "cli/workflow_session.hpp"
#include "domain/event_types.hpp"
#include "service/step_call.hpp"
#include "text/duration.hpp"

namespace pawl::cli {
namespace {

constexpr Milliseconds kStepBackoff{1'000};
constexpr std::uint64_t kStepBackoffMax_ms = 60'000;

struct StepArguments {
  std::string name;
  std::string run;
  bool any_status = false;
  bool again = false;
  bool strict = false;
  std::optional<std::uint64_t> retries;
  std::optional<Milliseconds> backoff;
  std::optional<Milliseconds> timeout;
};

Error missing_command() {
  return Error{Code::usage, "missing command after --", {}, "for example: pawl step fetch -- curl -fsS URL", 0};
}

Result<RunId> chosen_run(const Invocation& invocation, const StepArguments& arguments) {
  std::string name = arguments.run;
  if (name.empty()) name = invocation.context().environment("PAWL_RUN").value_or("");
  if (name.empty()) {
    return fail(Error{Code::usage,
                      "no run given",
                      {},
                      "put `export PAWL_RUN=my-job` at the top of the script, or pass --run my-job",
                      0});
  }
  return RunId::parse(name);
}

Result<void> step(const Invocation& invocation, const StepArguments& arguments) {
  if (invocation.json())
    return fail(Error{Code::usage,
                      "step has no --json: it prints what the command prints",
                      {},
                      "to see the steps of the run as JSON: pawl show RUN --json",
                      0});
  if (invocation.command().empty()) return fail(missing_command());
  PAWL_TRY(check_step_name(arguments.name));
  PAWL_TRY_ASSIGN(const RunId run, chosen_run(invocation, arguments));
  PAWL_TRY(invocation.need_checkpoints());
  PAWL_TRY_ASSIGN(const Settings settings, invocation.call_settings());
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::write));
  CliContext& context = invocation.context();
  WorkflowWorld& workflows = *context.workflows;
  const StepCallWorld world{.store = *store,
                            .clock = context.clock,
                            .random = workflows.random,
                            .files = workflows.files,
                            .foreground = *workflows.foreground,
                            .settings = settings,
                            .environment = workflows.environment,
                            .store_uri = absolute_path(context, invocation.store_uri()),
                            .print = [&](std::string_view bytes) { invocation.print(bytes); },
                            .note = [&](const std::string& text) { invocation.note(text); }};
  StepCallOptions options{.name = arguments.name,
                          .command = invocation.command(),
                          .any_status = arguments.any_status,
                          .again = arguments.again,
                          .strict = arguments.strict};
  options.retry.attempts = static_cast<std::uint32_t>(arguments.retries.value_or(0) + 1);
  options.retry.base_delay_ms = static_cast<std::uint64_t>(arguments.backoff.value_or(kStepBackoff).count());
  options.retry.max_delay_ms = std::max<std::uint64_t>(options.retry.base_delay_ms, kStepBackoffMax_ms);
  if (arguments.timeout) options.timeout_us = std::chrono::microseconds(*arguments.timeout).count();
  PAWL_TRY_ASSIGN(context.status, call_step(world, run, options));
  return {};
}

constexpr const char* kStepExamples =
    "Examples, in any script:\n"
    "  export PAWL_RUN=nightly\n"
    "  pawl step fetch -- curl -fsS https://example.org/data.json > data.json\n"
    "  pawl step load -- psql -f load.sql\n"
    "\n"
    "After a crash, run the script again: completed steps print their recorded output\n"
    "and are not run again. In a loop, use unique names:\n"
    "  pawl step \"page-$n\" -- ./page.sh \"$n\"\n"
    "\n"
    "Set for the command: PAWL_RUN, PAWL_STEP, PAWL_ATTEMPT, PAWL_IDEMPOTENCY_KEY and\n"
    "PAWL_RESULT. To list the steps: pawl show RUN. For their output: pawl logs RUN.";

}  // namespace

Command add_step(Options& root) {
  const auto arguments = std::make_shared<StepArguments>();
  Options& app =
      root.command("step", "Run a command once: `step NAME -- COMMAND...`; if already done, print its output");
  app.group(kWorkflowGroup).when_output_closes(ClosedOutput::ignored).after_dashes("COMMAND...");
  app.text("NAME", arguments->name, "Step name, unique in its run").required();
  app.text("--run", arguments->run, "Run id (default: $PAWL_RUN); the first step creates the run").value("RUN");
  app.flag("--any-status", arguments->any_status, "Count any exit status as done (default: only 0)");
  app.flag("--again", arguments->again, "Run it even if already done");
  app.flag("--strict", arguments->strict, "Fail if it was recorded with another command");
  app.number("--retry", arguments->retries, "Run a failed command up to N more times (default: 0)",
             {.lowest = 0, .highest = 1'000});
  app.parsed("--backoff",
             "Longest time before the first retry; doubles each time. The actual time is 50% to 100% of it, chosen at "
             "random (default: 1s)",
             take_duration(arguments->backoff))
      .value("DURATION");
  app.parsed("--timeout", "Stop the command after this time; exit status 124 (default: none)",
             take_duration(arguments->timeout))
      .value("DURATION");
  app.footer(kStepExamples);
  return {&app, [arguments](const Invocation& invocation) { return step(invocation, *arguments); }};
}

}  // namespace pawl::cli
