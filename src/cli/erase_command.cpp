#include <istream>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "service/erase_run.hpp"
#include "text/json_text.hpp"

namespace pawl::cli {
namespace {

struct EraseArguments {
  std::string run;
  std::string reason;
  bool cascade = false;
  bool yes = false;
};

const char* word_of(const Erasure& erasure) {
  const bool removed = erasure.remains == Remains::tombstone;
  switch (erasure.outcome) {
    case Erasure::Outcome::done: return removed ? "already_removed" : "erased";
    case Erasure::Outcome::already: return removed ? "already_removed" : "already_erased";
    case Erasure::Outcome::pending: return "pending";
  }
  return "";
}

std::string texts_json(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(escape_json(text));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

std::string document_of(const Erasure& erasure) {
  return JsonObject()
             .text("run", erasure.run.text())
             .text("status", word_of(erasure))
             .text("erased_at", erasure.at.text())
             .text("by", erasure.by)
             .text("reason", erasure.reason)
             .raw("checkpoints", erasure.checkpoints ? std::to_string(*erasure.checkpoints) : "null")
             .raw("damaged_entry", erasure.damaged_entry == 0 ? "null" : std::to_string(erasure.damaged_entry))
             .raw("forks", texts_json(erasure.forks))
             .raw("waiting_for", texts_json(erasure.waiting_for))
             .done() +
         "\n";
}

std::string summary_of(const Erasure& erasure) {
  const std::string run = printable(erasure.run.text());
  if (erasure.remains == Remains::tombstone) {
    return fmt::format("{}: removed on {} by {}{}\n", run, erasure.at.text(), printable(erasure.by),
                       erasure.reason.empty() ? "" : fmt::format(" (reason: {})", printable(erasure.reason)));
  }
  if (erasure.outcome == Erasure::Outcome::already)
    return fmt::format("{}: erased on {} (reason: {})\n", run, erasure.at.text(), printable(erasure.reason));
  std::string text = fmt::format("{}: erased (number of checkpoints unknown)", run);
  if (erasure.checkpoints) {
    text = fmt::format("{}: {} {}", run, *erasure.checkpoints,
                       *erasure.checkpoints == 1 ? "checkpoint erased" : "checkpoints erased");
  }
  text += "; audit trail kept";
  if (erasure.damaged_entry != 0)
    text += fmt::format(", but it was already damaged at entry {}", erasure.damaged_entry);
  if (erasure.uuid == Uuid()) text += "; its UUID is unknown";
  return text + "\n";
}

std::string text_of(const Erasure& erasure) {
  std::string text;
  for (const std::string& fork : erasure.forks) text += fmt::format("{}: erased (a fork)\n", printable(fork));
  text += summary_of(erasure);
  if (erasure.outcome == Erasure::Outcome::pending)
    text += fmt::format("{}: pending; {} erases the rest\n", printable(erasure.run.text()),
                        fmt::join(erasure.waiting_for, ", "));
  return text;
}

/// Asks for confirmation on a terminal only.
bool erasure_confirmed(const Invocation& invocation, Store& store, const RunInfo& run) {
  CliContext& context = invocation.context();
  if (!context.in_is_terminal) return true;
  const auto count = checkpoints_to_erase(store, run);
  const std::string what =
      count ? fmt::format(" and its {} {}", *count, *count == 1 ? "checkpoint" : "checkpoints") : "";
  context.err.write(
      fmt::format("erase run '{}'{} permanently? Type the run id to confirm: ", printable(run.id.text()), what));
  static_cast<void>(context.err.flush());
  std::string answer;
  std::getline(context.in, answer);
  return answer == run.id.text();
}

Result<void> erase(const Invocation& invocation, const EraseArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::optional<RunInfo> info, run_to_erase(*store, run));
  if (info && !arguments.yes && !erasure_confirmed(invocation, *store, *info)) {
    invocation.context().err.write("nothing was erased\n");
    return {};
  }
  const EraseRequest request{
      .reason = arguments.reason, .by = {}, .cascade = arguments.cascade ? Cascade::yes : Cascade::no};
  const WorkflowWorld* world = invocation.context().workflows;
  PAWL_TRY_ASSIGN(const Erasure erasure,
                  erase_run(*store, run, request, world == nullptr ? StartProcesses() : world->start_processes));
  invocation.print(invocation.json() ? document_of(erasure) : text_of(erasure));
  return check_finished(erasure);
}

}  // namespace

Command add_erase(Options& root) {
  const auto arguments = std::make_shared<EraseArguments>();
  Options& app = root.command("erase", "Destroy the data of a run on request, but keep its audit trail as proof");
  app.group(kCareGroup);
  app.text("RUN", arguments->run, "Run id").required();
  app.text("--reason", arguments->reason, "Reason, kept in the audit trail; don't include personal data")
      .value("TEXT")
      .required();
  app.flag("--cascade", arguments->cascade, "Also erase forks of the run");
  app.flag("--yes", arguments->yes, "Don't ask for confirmation");
  app.footer(
      "Destroys the key of the run, and overwrites and removes its states, events,\n"
      "logs, messages and labels, also in journals and catalogue. Keeps the run id, the\n"
      "hashes of its audit trail, and an entry with who erased it, when and why.\n"
      "Copies elsewhere (exports, backups, disk snapshots) are not reached.\n"
      "Exit status 3: a running process still has some of it in its journal, and\n"
      "erases that when it is idle or exits.\n"
      "\n"
      "Examples:\n"
      "  pawl erase applicant-4711 --reason 'request 17'\n"
      "  pawl erase nightly --reason 'retention' --cascade --yes --json");
  return {&app, [arguments](const Invocation& invocation) { return erase(invocation, *arguments); }};
}

}  // namespace pawl::cli
