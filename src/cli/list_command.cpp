#include <algorithm>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "cli/removed_list.hpp"
#include "service/run_status.hpp"
#include "service/run_summary.hpp"

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

/// A row of the list.
struct ListedRun {
  RunInfo info;
  RunSummary summary;
};

std::string rows_json(Store& store, const std::vector<ListedRun>& runs) {
  std::vector<std::string> rows;
  for (const ListedRun& run : runs) {
    JsonObject row = run_object(run.info, run.summary.status).number("latest", run.info.latest.value);
    row.number("sequence", run.info.latest.value);
    add_summary(row, run.summary);
    if (run.info.fork_of_run) row.raw("fork_of", fork_json(origin_of(store, run.info)));
    rows.push_back(row.done());
  }
  return json_array(rows) + "\n";
}

std::string rows_text(const Invocation& invocation, Store& store, const std::vector<ListedRun>& runs) {
  const bool is_relative = invocation.context().out_is_terminal && !invocation.utc();
  Table table({{.name = "RUN", .cut = Cut::middle, .rank = 0, .least = 20},
               {.name = "STATUS"},
               {.name = "PROGRESS", .rank = 2},
               {.name = "COST", .rank = 4},
               {.name = is_relative ? "AGE" : "UPDATED", .rank = 1},
               {.name = "LATEST", .rank = 7},
               {.name = "KIND", .rank = 8},
               {.name = "FORK OF", .cut = Cut::middle, .rank = 6, .least = 16},
               {.name = "ERROR", .cut = Cut::end, .rank = 3, .least = 16}});
  for (const ListedRun& run : runs) {
    const RunSummary& summary = run.summary;
    const bool damaged = run.info.status == Status::damaged;
    table.add({printable(run.info.id.text()), Cell(status_colour(summary.status), summary.status),
               summary.progress ? fmt::format("{}/{}", summary.progress->done, summary.progress->total) : "",
               summary.usage.usd > 0 ? fmt::format("{:.2f} USD", summary.usage.usd) : "",
               invocation.time_text(run.info.updated), damaged ? "-" : fmt::format("@{}", run.info.latest.value),
               std::string(to_text(run.info.kind)), run.info.fork_of_run ? fork_text(origin_of(store, run.info)) : "",
               printable(summary.error)});
  }
  return table.text(invocation.style(), invocation.table_width());
}

/// Compares members of the newest checkpoint's metadata; `a.b` is a nested one.
bool has_meta(Store& store, const RunId& run, const std::vector<std::string>& wanted) {
  const Result<CheckpointInfo> newest = store.checkpoint(run, {});
  if (!newest) return false;
  const Json metadata = Json::parse(newest->metadata, nullptr, false);
  for (const std::string& pair : wanted) {
    const std::size_t equals = pair.find('=');
    const std::string value = pair.substr(equals + 1);
    const Json* found = &metadata;
    std::string_view path = std::string_view(pair).substr(0, equals);
    if (const auto whole = metadata.is_object() ? metadata.find(std::string(path)) : metadata.end();
        metadata.is_object() && whole != metadata.end()) {
      found = &*whole;
      path = {};
    }
    while (!path.empty() && found != nullptr) {
      const std::string key(path.substr(0, path.find('.')));
      path = path.size() > key.size() ? path.substr(key.size() + 1) : std::string_view();
      found = found->is_object() && found->contains(key) ? &(*found)[key] : nullptr;
    }
    if (found == nullptr) return false;
    if ((found->is_string() ? found->get<std::string>() : compact(*found)) != value) return false;
  }
  return true;
}

bool fits(const Invocation& invocation, Store& store, const RunInfo& run, const ListArguments& arguments) {
  if (!arguments.session.empty() && run.session != arguments.session) return false;
  if (!arguments.workflow.empty() && run.workflow != arguments.workflow &&
      run.workflow != invocation.context().workflows->files.absolute(arguments.workflow, ""))
    return false;
  if (!arguments.statuses.empty() &&
      std::ranges::find(arguments.statuses, status_word(store, run)) == arguments.statuses.end())
    return false;
  return arguments.meta.empty() || has_meta(store, run.id, arguments.meta);
}

const std::vector<std::string> kStatusWords = {"running",   "waiting", "completed",  "failed",  "interrupted",
                                               "cancelled", "active",  "recovering", "damaged", "erased"};

Result<void> check_meta(const ListArguments& arguments) {
  for (const std::string& pair : arguments.meta) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Error{Code::usage, fmt::format("--meta: not KEY=VALUE: '{}'", pair), {}, "pass --meta KEY=VALUE", 0});
  }
  return {};
}

/// Reports damaged runs in the list.
void note_damage(const Invocation& invocation, const std::vector<ListedRun>& runs) {
  for (const ListedRun& run : runs) {
    if (run.info.status != Status::damaged) continue;
    invocation.note(
        fmt::format("the newest checkpoint of {0} can't be read; to see why: pawl fsck {0}; to print the newest "
                    "readable state: pawl restore {0} --fallback",
                    run.info.id.text()));
  }
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
  const std::size_t limit = arguments.limit.value_or(kRunsDefault);
  PAWL_TRY(check_meta(arguments));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  if (arguments.removed) return list_removed(invocation, *store, limit);
  const bool filtered = !arguments.statuses.empty() || !arguments.workflow.empty() || !arguments.session.empty() ||
                        !arguments.meta.empty();
  PAWL_TRY_ASSIGN(std::vector<RunInfo> all,
                  arguments.resumable
                      ? resumable_runs(*store)
                      : store->runs(filtered ? kRunsMax : limit + 1));  // one more, to know whether there are more
  std::vector<RunInfo> chosen;
  for (RunInfo& run : all) {
    if (chosen.size() > limit) break;
    if (!filtered || fits(invocation, *store, run, arguments)) chosen.push_back(std::move(run));
  }
  const bool more = chosen.size() > limit;
  if (more) chosen.pop_back();
  RunSummaries summaries(*store);
  std::vector<ListedRun> runs;
  for (RunInfo& run : chosen) {
    RunSummary summary = summaries.of(run);
    runs.push_back({std::move(run), std::move(summary)});
  }
  if (invocation.json()) {
    invocation.print(rows_json(*store, runs));
  } else if (runs.empty() && filtered) {
    invocation.note("no matching runs; to list all: pawl list");
  } else if (runs.empty() && arguments.resumable) {
    invocation.note("no run can be resumed; to list all: pawl list");
  } else if (runs.empty()) {
    invocation.note("no runs yet; to start one: pawl run FILE");
  } else {
    invocation.print(rows_text(invocation, *store, runs));
    note_damage(invocation, runs);
  }
  if (more) invocation.note(fmt::format("showing the newest {}; use --limit to see more", limit));
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
