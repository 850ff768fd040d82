#include <algorithm>
#include <istream>

#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"
#include "domain/erasure.hpp"
#include "service/erase_run.hpp"
#include "service/remove_runs.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsShownMax = 20;

const std::vector<std::string> kRemovableStatuses = {"completed", "failed",     "cancelled", "interrupted", "waiting",
                                                     "active",    "recovering", "damaged",   "erased"};

struct RmArguments {
  std::vector<std::string> runs;
  std::optional<Milliseconds> older_than;
  std::string older_than_text;
  std::vector<std::string> statuses;
  std::string reason;
  bool force = false;
  bool dry_run = false;
  bool yes = false;
};

struct RemovedRuns {
  std::vector<Erasure> removed;
  std::vector<KeptRun> kept;
};

/// `30d`, `12h`; a bare number means days, as for `pawl prune`.
std::optional<Milliseconds> parse_age(const std::string& text) {
  const bool bare = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  return parse_duration(bare ? text + "d" : text);
}

Result<RemoveRequest> remove_request(const RmArguments& arguments) {
  RemoveRequest request{.runs = {}, .older_than = arguments.older_than, .statuses = arguments.statuses};
  if (arguments.force) request.unfinished = RemoveRequest::Unfinished::remove;
  const bool selects = arguments.older_than || !arguments.statuses.empty();
  if (arguments.runs.empty() && !selects) {
    return fail(Error{Code::usage,
                      "missing argument: RUN",
                      {},
                      "name the runs, or select them: pawl rm --older-than 30d --status completed",
                      0});
  }
  if (!arguments.runs.empty() && selects) {
    return fail(
        Error{Code::usage, "RUN can't be combined with --older-than or --status", {}, "pass one or the other", 0});
  }
  if (arguments.runs.empty() && arguments.force)
    return fail(Error{Code::usage, "--force requires RUN", {}, "name the runs: pawl rm RUN --force", 0});
  for (const std::string& name : arguments.runs) {
    PAWL_TRY_ASSIGN(RunId id, RunId::parse(name));
    if (std::ranges::find(request.runs, id) == request.runs.end()) request.runs.push_back(std::move(id));
  }
  return request;
}

std::string reason_of(const RmArguments& arguments) {
  if (!arguments.reason.empty() || !arguments.runs.empty()) return arguments.reason;
  std::string reason;
  if (arguments.older_than) reason = "older than " + arguments.older_than_text;
  if (!arguments.statuses.empty())
    reason += fmt::format("{}status {}", reason.empty() ? "" : ", ", fmt::join(arguments.statuses, " or "));
  return reason;
}

std::string kept_text(const KeptRun& kept) {
  return fmt::format("kept {}: {} ({})", kept.run.text(), kept.why.message, hint_text(kept.why));
}

/// Asks on a terminal only; scripts must name the runs that they remove.
bool removal_confirmed(const Invocation& invocation, const RemovalPlan& plan) {
  CliContext& context = invocation.context();
  if (!context.in_is_terminal || plan.runs.empty()) return true;
  std::string question;
  for (std::size_t i = 0; i < std::min(plan.runs.size(), kRunsShownMax); ++i)
    question += fmt::format("  {}\n", printable(plan.runs[i].id.text()));
  if (plan.runs.size() > kRunsShownMax) question += fmt::format("  and {} more\n", plan.runs.size() - kRunsShownMax);
  question += plan.runs.size() == 1 ? "Remove this run for good? [y/N] "
                                    : fmt::format("Remove these {} runs for good? [y/N] ", plan.runs.size());
  context.err.write(question);
  static_cast<void>(context.err.flush());
  std::string answer;
  std::getline(context.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::string runs_text(std::size_t count) { return fmt::format("{} {}", count, count == 1 ? "run" : "runs"); }

std::string checkpoints_text(std::optional<std::uint64_t> count) {
  if (!count) return "number of checkpoints unknown";
  return fmt::format("{} {}", *count, *count == 1 ? "checkpoint" : "checkpoints");
}

std::string text_of_removal(const RemovedRuns& done, bool dry_run) {
  std::string text;
  for (const Erasure& one : done.removed) {
    text += fmt::format("{} {} ({})\n", dry_run ? "would remove" : "removed", printable(one.run.text()),
                        !one.checkpoints && one.erased_at ? "already erased" : checkpoints_text(one.checkpoints));
  }
  text += fmt::format("{} {}", runs_text(done.removed.size()), dry_run ? "would be removed" : "removed");
  if (!done.kept.empty()) text += fmt::format(", {} kept", done.kept.size());
  return text + "\n";
}

std::string removal_document(const RemovedRuns& done, bool dry_run) {
  std::vector<std::string> removed;
  std::vector<std::string> kept;
  for (const Erasure& one : done.removed) {
    removed.push_back(JsonObject()
                          .text("run", one.run.text())
                          .text("uuid", one.uuid.text())
                          .number("latest", one.latest.value)
                          .raw("checkpoints", one.checkpoints ? std::to_string(*one.checkpoints) : "null")
                          .boolean("pending", one.outcome == Erasure::Outcome::pending)
                          .done());
  }
  for (const KeptRun& one : done.kept) {
    kept.push_back(JsonObject()
                       .text("run", one.run.text())
                       .text("code", code_text(one.why.code))
                       .text("message", one.why.message)
                       .done());
  }
  return JsonObject()
             .boolean("dry_run", dry_run)
             .raw("removed", json_array(removed))
             .raw("kept", json_array(kept))
             .done() +
         "\n";
}

Erasure announced(Store& store, const RunInfo& info) {
  return Erasure{.run = info.id,
                 .outcome = Erasure::Outcome::done,
                 .at = {},
                 .by = {},
                 .reason = {},
                 .checkpoints = checkpoints_to_erase(store, info),
                 .waiting_for = {},
                 .forks = {},
                 .remains = Remains::tombstone,
                 .uuid = info.uuid,
                 .latest = info.latest,
                 .entries = 0,
                 .head = {},
                 .erased_at = info.status == Status::erased ? std::optional(info.updated) : std::nullopt};
}

/// Returns the tombstone of a run, if it has one.
std::optional<Erasure> tombstone_of(Store& store, const RunId& run) {
  const auto there = store.run(run);
  if (there || there.error().code != Code::run_removed) return std::nullopt;
  const auto removed = store.removed(SIZE_MAX);
  if (!removed) return std::nullopt;
  const auto found = std::ranges::find(*removed, run, &Erasure::run);
  return found == removed->end() ? std::nullopt : std::optional(*found);
}

Result<void> rm(const Invocation& invocation, const RmArguments& arguments) {
  PAWL_TRY_ASSIGN(RemoveRequest request, remove_request(arguments));
  PAWL_TRY_ASSIGN(const Settings settings, invocation.call_settings());
  request.wait = std::chrono::duration_cast<Milliseconds>(settings.lock_wait);
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  if (request.older_than) static_cast<void>(invocation.now_for_ages(*store));
  PAWL_TRY_ASSIGN(RemovalPlan plan, plan_removal(*store, request, invocation.context().clock));
  // If runs are named, either all of them are removed or none.
  if (!request.runs.empty() && !plan.kept.empty()) {
    for (std::size_t i = 1; i < plan.kept.size(); ++i) invocation.note(kept_text(plan.kept[i]));
    return fail(plan.kept.front().why);
  }
  RemovedRuns done{.removed = {}, .kept = std::move(plan.kept)};
  if (!arguments.dry_run && !arguments.yes && !removal_confirmed(invocation, plan)) {
    invocation.print(invocation.json() ? removal_document(done, arguments.dry_run) : "nothing was removed\n");
    return {};
  }
  std::optional<Error> trouble;
  for (const RunInfo& info : plan.runs) {
    if (arguments.dry_run) {
      done.removed.push_back(announced(*store, info));
      continue;
    }
    const EraseRequest erase{
        .reason = reason_of(arguments), .by = {}, .cascade = Cascade::no, .remains = Remains::tombstone};
    const WorkflowWorld* const world = invocation.context().workflows;
    auto erased = erase_run(*store, info.id, erase, world == nullptr ? StartProcesses() : world->start_processes);
    if (erased) {
      if (erased->outcome == Erasure::Outcome::pending)
        invocation.note(
            fmt::format("{} still contains some data of {}; it is deleted when that process is idle or exits",
                        fmt::join(erased->waiting_for, ", "), info.id.text()));
      done.removed.push_back(std::move(*erased));
      continue;
    }
    Error why = std::move(erased).error();
    if (why.code == Code::usage) return fail(why);  // the same for every run
    if (why.code == Code::run_busy) why.advice = Advice::wait_or_cancel;
    if (!trouble) trouble = why;
    // The run may be removed although some of its data could not be deleted, as on a full disk.
    if (auto tombstone = tombstone_of(*store, info.id)) {
      done.removed.push_back(std::move(*tombstone));
      done.removed.back().outcome = Erasure::Outcome::pending;
      continue;
    }
    done.kept.push_back({info.id, std::move(why)});
  }
  for (const KeptRun& kept : done.kept) invocation.note(kept_text(kept));
  invocation.print(invocation.json() ? removal_document(done, arguments.dry_run)
                                     : text_of_removal(done, arguments.dry_run));
  if (trouble) return fail(*trouble);
  return {};
}

}  // namespace

Command add_rm(Options& root) {
  const auto arguments = std::make_shared<RmArguments>();
  Options& app = root.command("rm", "Delete runs with their audit trail; a note that they existed stays");
  app.group(kCareGroup);
  app.list("RUN", arguments->runs, "Run ids");
  app.parsed("--older-than", "Select runs whose last save is older than this: 30d, 12h; a bare number is days",
             [arguments](const std::string& text) {
               arguments->older_than = parse_age(text);
               arguments->older_than_text = text;
               return arguments->older_than ? std::string()
                                            : fmt::format("invalid duration '{}' (for example: 30d, 12h)", text);
             })
      .value("AGE");
  app.parsed("--status",
             "Select runs with this status; repeat it or separate several with commas (default: completed and "
             "cancelled)",
             [arguments](const std::string& text) { return take_words(text, kRemovableStatuses, arguments->statuses); })
      .value("STATUS")
      .suggests(kRemovableStatuses)
      .repeats();
  app.text("--reason", arguments->reason, "Reason, kept in the tombstone (default: none)").value("TEXT");
  app.flag("--dry-run", arguments->dry_run, "Show what would be removed; remove nothing");
  app.flag("--force", arguments->force, "Also remove named runs that are waiting or interrupted");
  app.flag("--yes", arguments->yes, "Don't ask for confirmation");
  app.footer(
      "Overwrites and deletes the data of a run. A tombstone keeps its id, UUID, last\n"
      "checkpoint number and the end of its audit trail, and who removed it, when and\n"
      "why. The id is never used again. To list tombstones: pawl list --removed\n"
      "\n"
      "A run is kept while a process holds it, and while another run refers to it: a\n"
      "fork, a parent run or a child run. Name all of them to remove them together.\n"
      "Runs that are waiting or interrupted require --force. A failed run is finished:\n"
      "it is removed without --force if you name it, and with --status failed.\n"
      "Without --status, --older-than removes no failed run.\n"
      "Exit status 4: a named run was kept, and nothing was removed.\n"
      "\n"
      "Examples:\n"
      "  pawl rm nightly-3 nightly-4\n"
      "  pawl rm --older-than 30d --status completed --dry-run\n"
      "  pawl rm --older-than 90d --reason retention --yes");
  return {&app, [arguments](const Invocation& invocation) { return rm(invocation, *arguments); }};
}

}  // namespace pawl::cli
