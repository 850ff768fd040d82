#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "cli/this_person.hpp"
#include "cli/workflow_session.hpp"
#include "engine/resume_facts.hpp"
#include "service/kept_uses.hpp"
#include "service/start_fork.hpp"

namespace pawl::cli {
namespace {

struct ForkArguments {
  std::string address;
  std::string from;
  std::string id;
  std::vector<std::string> changes;
  std::string workflow;
  bool create = false;
  bool resume = false;
};

Result<ForkStart> parse_fork(const CliContext& context, const ForkArguments& arguments) {
  PAWL_TRY_ASSIGN(const Address address, Address::parse(arguments.address));
  if (!arguments.from.empty() && arguments.address.find('@') != std::string::npos) {
    return fail(Error{Code::usage,
                      "--from STEP and RUN@SEQ can't be used together",
                      {},
                      fmt::format("run: pawl fork {} --from {}", address.run.text(), arguments.from),
                      0});
  }
  ForkStart start{.from = address,
                  .step = arguments.from,
                  .missing = arguments.create ? MissingPath::create : MissingPath::refuse,
                  .by = this_person(context)};
  if (!arguments.id.empty()) {
    PAWL_TRY_ASSIGN(start.id, RunId::parse(arguments.id));
  }
  for (const std::string& text : arguments.changes) {
    PAWL_TRY_ASSIGN(StateChange change, parse_change(text));
    start.changes.push_back(std::move(change));
  }
  if (!arguments.workflow.empty()) {
    PAWL_TRY_ASSIGN(Workflow workflow, load_workflow(context, arguments.workflow, LoadFor::begun_run));
    start.workflow = std::make_shared<const Workflow>(std::move(workflow));
  }
  return start;
}

void print_forked(const Invocation& invocation, const StartedFork& started) {
  const Forked& forked = started.forked;
  const Origin origin{forked.origin.run.text(), forked.origin.uuid.text(), forked.origin.at};
  if (invocation.json()) {
    JsonObject document;
    document.text("run", started.id.text())
        .number("sequence", forked.saved.sequence.value)
        .text("id", forked.saved.id.text());
    document.raw("fork_of", fork_json(origin))
        .raw("reopened", compact(Json(forked.reopened)))
        .raw("dropped", compact(Json(forked.dropped)));
    invocation.print(document.done() + "\n");
    return;
  }
  invocation.print(started.id.text() + "\n");
  static_cast<void>(invocation.context().out.flush());  // its reader may not wait for the rest
  invocation.note(fmt::format("fork of {}", fork_text(origin)));
  if (!forked.reopened.empty())
    invocation.note(fmt::format("approval steps to approve again in the fork: {}", joined_list(forked.reopened)));
  for (const std::string& path : forked.dropped)
    invocation.note(fmt::format("step {} has changed or was removed", path));
}

/// A changed variable has no effect on steps that the fork keeps.
void note_kept_uses(const Invocation& invocation, Store& store, const ForkStart& start, const StartedFork& started) {
  for (const StateChange& change : start.changes) {
    const bool qualified = change.path.front() == "vars" && change.path.size() > 1;
    const std::string& name = qualified ? change.path[1] : change.path.front();
    const std::vector<std::string> steps = completed_users(store, started.id, name);
    if (steps.empty()) continue;
    invocation.note(fmt::format(
        "completed steps that use vars.{} keep their results: {} (to run them again: pawl fork {} --from {})", name,
        joined_list(steps), start.from.run.text(), steps.front()));
  }
}

Result<void> fork(const Invocation& invocation, const ForkArguments& arguments) {
  PAWL_TRY(invocation.need_checkpoints());
  RunKind kind = RunKind::plain;
  std::optional<RunId> id;
  {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
    CliContext& context = invocation.context();
    PAWL_TRY_ASSIGN(const ForkStart start, parse_fork(context, arguments));
    Result<StartedFork> made = start_fork(*store, start, context.workflows->random, invocation.state_bytes_max());
    if (!made && start.id && made.error().subject.run == start.id->text())
      return fail(for_new_run(std::move(made).error()));
    PAWL_TRY_ASSIGN(const StartedFork started, std::move(made));
    print_forked(invocation, started);
    if (started.forked.kind == RunKind::workflow) note_kept_uses(invocation, *store, start, started);
    kind = started.forked.kind;
    id = started.id;
  }
  if (arguments.resume && kind == RunKind::workflow) return resume_workflow(invocation, ResumeRequest{.id = *id}, {});
  if (kind == RunKind::workflow) invocation.note(fmt::format("to continue: pawl resume {}", id->text()));
  if (arguments.resume) invocation.note("the run has no workflow, so it can't be resumed");
  return {};
}

}  // namespace

Command add_fork(Options& root) {
  const auto arguments = std::make_shared<ForkArguments>();
  Options& app = root.command("fork", "Start a new run from a checkpoint of another run");
  app.group(kCheckpointGroup).when_output_closes(ClosedOutput::ignored);
  app.text("RUN[@SEQ]", arguments->address, "Checkpoint to start from (default: the newest)").required();
  app.text("--from", arguments->from, "Start from the checkpoint before this step instead of @SEQ").value("STEP");
  app.text("--run-id", arguments->id, "Id of the fork (default: generated); printed first").value("ID");
  app.list(
         "--set", arguments->changes,
         "Set a variable or a part of the state; PATH is a.b[0], or the JSON pointer /a/b/0 that diff prints. VALUE is "
         "parsed as JSON if valid, otherwise kept as text")
      .value("PATH=VALUE");
  app.flag("--create", arguments->create, "With --set, add paths that do not exist");
  app.text("--workflow", arguments->workflow, "Use another workflow file; unchanged completed steps are kept")
      .value("FILE");
  app.flag("--resume", arguments->resume, "Resume the fork at once");
  app.footer(
      "Examples:\n"
      "  pawl fork notes-k3f9@7                           then: pawl resume NEW\n"
      "  pawl fork notes-k3f9 --from review --set topic=winds\n"
      "  pawl fork nightly@name:good --set limits.max=3 --run-id nightly-try\n"
      "  pawl fork nightly --set /todo/2=done --set /todo/-=later --create\n"
      "\n"
      "The original run is not changed, and its history is shared, not copied.\n"
      "Approval steps must be approved again. Steps of the fork have their own\n"
      "idempotency keys.");
  return {&app, [arguments](const Invocation& invocation) { return fork(invocation, *arguments); }};
}

}  // namespace pawl::cli
