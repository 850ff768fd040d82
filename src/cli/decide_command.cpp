// `pawl approve` and `pawl reject`.
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/recipient_text.hpp"
#include "cli/this_person.hpp"
#include "cli/workflow_session.hpp"
#include "service/run_status.hpp"

namespace pawl::cli {
namespace {

struct DecideArguments {
  std::string run;
  GateDecision decision;
};

Result<RunId> only_waiting(const Invocation& invocation, Store& store, GateAnswer answer) {
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, runs_waiting_for_approval(store));
  if (runs.size() == 1) return runs.front().id;
  if (runs.empty()) return fail(Error{Code::not_waiting, "no run waits for approval", {}, {}, 0, Advice::list_runs});
  return fail(Error{
      Code::usage,
      fmt::format("{} runs wait for approval; choose one:{}", runs.size(), candidates_text(invocation, store, runs)),
      {},
      fmt::format("for example: pawl {} {}", answer == GateAnswer::approve ? "approve" : "reject",
                  runs.front().id.text()),
      0});
}

Result<void> decide_gate(const Invocation& invocation, const DecideArguments& arguments) {
  GateDecision decision = arguments.decision;
  if (decision.by.empty()) decision.by = this_person(invocation.context());
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const RunId run, arguments.run.empty() ? only_waiting(invocation, *store, decision.answer)
                                                         : RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const Decided decided, decide(*store, invocation.context().clock, run, decision));
  const std::string_view word = decision.answer == GateAnswer::approve ? "approved" : "rejected";
  if (invocation.json()) {
    JsonObject document;
    document.text("run", decided.gate.run)
        .text("step", decided.gate.step)
        .text("decision", word)
        .text("by", decision.by);
    invocation.print(add_recipient(document, decided.to).done() + "\n");
    return {};
  }
  invocation.print(fmt::format("{}: {} {}\n", decided.gate.run, printable(decided.gate.step), word));
  invocation.note(recipient_text(decided.to));
  return {};
}

Command add_decision(Options& root, const std::string& name, const std::string& help, GateAnswer answer) {
  const auto arguments = std::make_shared<DecideArguments>();
  arguments->decision.answer = answer;
  Options& app = root.command(name, help);
  app.group(kWorkflowGroup);
  app.text("RUN", arguments->run, "Run id, or the id of a parent run (default: the only run that waits for approval)");
  app.text("STEP", arguments->decision.step, "Approval step (default: the only one that waits)");
  app.text("--comment", arguments->decision.comment, "Comment to record with the decision (default: none)")
      .value("TEXT");
  app.text("--by", arguments->decision.by, "Who decides (default: $USER, else the account name)").value("NAME");
  app.footer(
      fmt::format("Examples:\n"
                  "  pawl {0}              the only run that waits for approval\n"
                  "  pawl {0} notes-k3f9\n"
                  "  pawl {0} notes-k3f9 review --comment 'read it twice'\n"
                  "\n"
                  "The decision is for the question that the step asks now. If the question\n"
                  "changes, for example because the workflow does, you are asked again. The\n"
                  "decision is durable once the command returns. If no process is executing the\n"
                  "run, continue it with `pawl resume`.",
                  name));
  return {&app, [arguments](const Invocation& invocation) { return decide_gate(invocation, *arguments); }};
}

}  // namespace

Command add_approve(Options& root) {
  return add_decision(root, "approve", "Approve a step that waits for approval", GateAnswer::approve);
}

Command add_reject(Options& root) {
  return add_decision(root, "reject", "Reject a step that waits for approval", GateAnswer::reject);
}

}  // namespace pawl::cli
