#include <algorithm>

#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "cli/removed_list.hpp"
#include "cli/workflow_session.hpp"
#include "service/list_runs.hpp"
#include "service/run_status.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kRunsDefault = 50;

struct ListArguments {
  std::optional<std::uint64_t> limit;
  bool resumable = false;
  bool removed = false;
  std::vector<std::string> statuses;  // any of these; empty: all
  bool failed = false;
  bool running = false;
  std::string workflow;
  std::string session;
  std::vector<std::string> meta;
};

std::string rows_json(const std::vector<ListedRun>& runs) {
  std::vector<std::string> rows;
  for (const ListedRun& run : runs) {
    JsonObject row = run_object(run.info, run.summary.status).number("latest", run.info.latest.value);
    row.number("sequence", run.info.latest.value);
    add_summary(row, run.summary);
    if (run.fork_of) row.raw("fork_of", fork_json(*run.fork_of));
    rows.push_back(row.done());
  }
  return json_array(rows) + "\n";
}

/// "waits for approval: review"; empty if it waits for nothing.
std::string waiting_words(const std::vector<WaitingFor>& waits) {
  if (waits.empty()) return {};
  const WaitingFor& wait = waits.front();
  const std::string_view what = wait.what == WaitingFor::What::budget ? "a larger budget" : to_text(wait.what);
  std::string text = wait.what == WaitingFor::What::breakpoint ? std::string("stopped at a breakpoint")
                                                               : fmt::format("waits for {}", what);
  const bool named = wait.what == WaitingFor::What::signal || wait.what == WaitingFor::What::run;
  if (const std::string& name = named ? wait.detail : wait.step; !name.empty()) text += ": " + name;
  if (waits.size() > 1) text += fmt::format(" (and {} more)", waits.size() - 1);
  return text;
}

/// Returns what went wrong or, without an error, what needs attention.
std::string error_words(const RunSummary& summary) {
  if (!summary.error.empty()) return summary.error;
  std::vector<std::string> parts;
  if (summary.status == to_text(RunStatus::waiting)) parts.push_back(waiting_words(summary.waiting_for));
  if (summary.failed_items > 0) parts.push_back(counted(summary.failed_items, "item failed", "items failed"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Notes the total cost of the listed runs, if any has one.
void note_total(const Invocation& invocation, const std::vector<ListedRun>& runs) {
  Usage total;
  std::size_t paid = 0;
  for (const ListedRun& run : runs) {
    total.add(run.summary.own_usage);
    if (run.summary.own_usage.usd > 0 || run.summary.own_usage.tokens > 0) ++paid;
  }
  const std::string used = used_text(total.usd, total.tokens);
  if (!used.empty()) invocation.note(fmt::format("total: {} ({})", used, counted(paid, "run")));
}

std::string rows_text(const Invocation& invocation, const std::vector<ListedRun>& runs) {
  const bool is_relative = invocation.context().out_is_terminal && !invocation.utc();
  Table table({{.name = "RUN", .cut = Cut::middle, .rank = 0, .least = 8, .wanted = SIZE_MAX},
               {.name = "STATUS"},
               {.name = "PROGRESS", .rank = 2},
               {.name = "COST", .rank = 4},
               {.name = is_relative ? "AGE" : "UPDATED", .rank = 1},
               {.name = "LATEST", .rank = 7},
               {.name = "KIND", .rank = 8},
               {.name = "FORK OF", .cut = Cut::middle, .rank = 6, .least = 16},
               {.name = "ERROR", .cut = Cut::end, .rank = 3, .least = 16, .wanted = 60}});
  for (const ListedRun& run : runs) {
    const RunSummary& summary = run.summary;
    const bool damaged = run.info.status == Status::damaged;
    table.add({printable(run.info.id.text()), Cell(status_colour(summary.status), summary.status),
               summary.progress ? fmt::format("{}/{}", summary.progress->done, summary.progress->total) : "",
               summary.usage.usd > 0 ? usd_text(summary.usage.usd) : "", invocation.time_text(run.info.updated),
               damaged ? "-" : fmt::format("@{}", run.info.latest.value), std::string(to_text(run.info.kind)),
               run.fork_of ? fork_text(*run.fork_of) : "", printable(error_words(summary))});
  }
  return table.text(invocation.style(), invocation.table_width());
}

const std::vector<std::string> kStatusWords = {"running",   "waiting", "completed",  "failed",  "interrupted",
                                               "cancelled", "active",  "recovering", "damaged", "erased"};

Result<ListRequest> list_request(const Invocation& invocation, const ListArguments& arguments) {
  ListRequest request{.limit = arguments.limit.value_or(kRunsDefault),
                      .scope = arguments.resumable ? ListRequest::Scope::resumable : ListRequest::Scope::all,
                      .statuses = arguments.statuses,
                      .session = arguments.session};
  for (const std::string& pair : arguments.meta) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Error{Code::usage, fmt::format("--meta: not KEY=VALUE: '{}'", pair), {}, "pass --meta KEY=VALUE", 0});
    request.metadata.push_back({pair.substr(0, equals), pair.substr(equals + 1)});
  }
  if (!arguments.workflow.empty())
    request.workflows = {arguments.workflow, absolute_path(invocation.context(), arguments.workflow)};
  return request;
}

/// Reports damaged runs in the list.
void note_damage(const Invocation& invocation, const std::vector<ListedRun>& runs) {
  for (const ListedRun& run : runs) {
    if (run.info.status != Status::damaged) continue;
    const auto& store = invocation.given_store();
    invocation.note(
        fmt::format("the newest checkpoint of {0} can't be read; to see why: pawl fsck {0}{1}; to print the newest "
                    "readable state: pawl restore {0} --fallback{1}",
                    run.info.id.text(), store ? " --store " + shell_word(*store) : ""));
  }
}

/// Says why statuses are unknown.
void note_unknown(const Invocation& invocation, const std::vector<ListedRun>& runs) {
  const bool any = std::ranges::any_of(runs, [](const ListedRun& run) { return run.summary.status == kUnknownStatus; });
  if (any)
    invocation.note(
        "status unknown: the key of this encrypted store is missing or wrong; to see where it is looked for: pawl "
        "doctor");
}

/// Reports damaged runs, which are not resumable.
Result<void> note_damaged(const Invocation& invocation, Store& store) {
  PAWL_TRY_ASSIGN(const auto damaged, damaged_runs(store));
  for (const auto& [run, error] : damaged)
    invocation.note(fmt::format("run {} is damaged ({}): {}; to see more: pawl fsck {}", run.text(),
                                code_text(error.code), printable(error.message), run.text()));
  return {};
}

Result<void> list(const Invocation& invocation, const ListArguments& arguments) {
  PAWL_TRY_ASSIGN(const ListRequest request, list_request(invocation, arguments));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  if (arguments.removed) return list_removed(invocation, *store, request.limit);
  PAWL_TRY_ASSIGN(const RunList found, list_runs(*store, request));
  const std::vector<ListedRun>& runs = found.runs;
  if (invocation.json()) {
    invocation.print(rows_json(runs));
  } else if (runs.empty() && request.is_filtered()) {
    invocation.note("no matching runs; to list all: pawl list");
  } else if (runs.empty() && arguments.resumable) {
    invocation.note("no run can be resumed; to list all: pawl list");
  } else if (runs.empty()) {
    invocation.note("no runs yet; to start one: pawl run FILE");
  } else {
    invocation.print(rows_text(invocation, runs));
    note_total(invocation, runs);
    note_damage(invocation, runs);
    note_unknown(invocation, runs);
  }
  if (found.more) invocation.note(fmt::format("showing the newest {}; use --limit to see more", request.limit));
  if (arguments.resumable && !invocation.json()) PAWL_TRY(note_damaged(invocation, *store));
  return {};
}

}  // namespace

Command add_list(Options& root) {
  const auto arguments = std::make_shared<ListArguments>();
  Options& app = root.command("list", "List runs, newest first");
  app.group(kLookGroup);
  app.number("--limit", arguments->limit, "Maximum number of runs (default: 50)", kLimitBounds);
  app.flag("--resumable", arguments->resumable, "Only runs that can be resumed");
  app.parsed("--status", "Only runs with this status; repeat it or separate several with commas",
             [arguments](const std::string& text) { return take_words(text, kStatusWords, arguments->statuses); })
      .value("STATUS")
      .suggests(kStatusWords)
      .repeats();
  app.flag("--running", arguments->running, "Only runs that a process is executing; same as --status running");
  app.flag("--failed", arguments->failed, "Only failed runs; same as --status failed");
  app.flag("--removed", arguments->removed, "List removed runs instead, newest first");
  app.text("--workflow", arguments->workflow, "Only runs of this workflow: its file, or its name if it has no file")
      .value("FILE");
  app.text("--session", arguments->session, "Only runs of this session").value("NAME");
  app.list("--meta", arguments->meta, "Only runs whose newest checkpoint has this metadata; can be repeated")
      .value("KEY=VALUE");
  app.footer(
      "Examples:\n"
      "  pawl list\n"
      "  pawl list --resumable\n"
      "  pawl list --status failed,waiting --workflow notes.yaml\n"
      "  pawl list --session night --meta team=blue\n"
      "  pawl list --json --limit 1000");
  return {&app, [arguments](const Invocation& invocation) {
            if (arguments->failed) arguments->statuses.emplace_back("failed");
            if (arguments->running) arguments->statuses.emplace_back("running");
            return list(invocation, *arguments);
          }};
}

}  // namespace pawl::cli
