#include <algorithm>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "service/run_status.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kRunsDefault = 50;

struct ListArguments {
  std::optional<std::uint64_t> limit;
  bool resumable = false;
  bool failed = false;
  std::string workflow;
  std::string session;
  std::vector<std::string> meta;
};

std::string rows_json(Store& store, const std::vector<RunInfo>& runs) {
  std::vector<std::string> rows;
  for (const RunInfo& run : runs) {
    JsonObject row = run_object(run, status_word(store, run)).number("latest", run.latest.value);
    if (run.fork_of_run) row.raw("fork_of", fork_json(origin_of(store, run)));
    rows.push_back(row.done());
  }
  return json_array(rows) + "\n";
}

std::string rows_text(const Invocation& invocation, Store& store, const std::vector<RunInfo>& runs) {
  const CliContext& context = invocation.context();
  const bool forks = std::ranges::any_of(runs, [](const RunInfo& run) { return run.fork_of_run.has_value(); });
  std::vector<std::string> header = {"RUN", "LATEST", "KIND", "STATUS", "UPDATED"};
  if (forks) header.emplace_back("FORK OF");
  Table table(std::move(header));
  for (const RunInfo& run : runs) {
    std::string updated = run.updated.text();
    if (context.out_is_terminal) updated += "  " + age(run.updated, context.clock.now());
    std::vector<std::string> row = {printable(run.id.text()),
                                    run.status == Status::damaged ? "-" : std::to_string(run.latest.value),
                                    std::string(to_text(run.kind)), status_word(store, run), updated};
    if (forks) row.push_back(run.fork_of_run ? fork_text(origin_of(store, run)) : "");
    table.add(std::move(row));
  }
  return table.text(invocation.style());
}

/// A member of the newest checkpoint's metadata, `a.b` inside of another one.
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
  if (arguments.failed && status_word(store, run) != "failed") return false;
  return arguments.meta.empty() || has_meta(store, run.id, arguments.meta);
}

Result<void> check_meta(const ListArguments& arguments) {
  for (const std::string& pair : arguments.meta) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(
          Error{Code::usage, fmt::format("'{}' is not of the form KEY=VALUE", pair), {}, "write --meta KEY=VALUE", 0});
  }
  return {};
}

/// In rows that are shown.
void note_damage(const Invocation& invocation, const std::vector<RunInfo>& runs) {
  for (const RunInfo& run : runs) {
    if (run.status != Status::damaged) continue;
    invocation.note(
        fmt::format("the newest checkpoint of {0} can't be read: `pawl fsck {0}` says why, `pawl restore {0} "
                    "--fallback` gives the newest state that is whole",
                    run.id.text()));
  }
}

/// What is damaged is not among the resumable ones, and not left out in silence either.
Result<void> note_damaged(const Invocation& invocation, Store& store) {
  PAWL_TRY_ASSIGN(const auto damaged, damaged_runs(store));
  for (const auto& [run, error] : damaged)
    invocation.note(fmt::format("run {} is damaged ({}): {}; see `pawl fsck {}`", run.text(), code_text(error.code),
                                printable(error.message), run.text()));
  return {};
}

Result<void> list(const Invocation& invocation, const ListArguments& arguments) {
  const std::size_t limit = arguments.limit.value_or(kRunsDefault);
  PAWL_TRY(check_meta(arguments));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  const bool filtered =
      arguments.failed || !arguments.workflow.empty() || !arguments.session.empty() || !arguments.meta.empty();
  PAWL_TRY_ASSIGN(std::vector<RunInfo> all,
                  arguments.resumable
                      ? resumable_runs(*store)
                      : store->runs(filtered ? kRunsMax : limit + 1));  // one more, to know whether there are more
  std::vector<RunInfo> runs;
  for (RunInfo& run : all) {
    if (runs.size() > limit) break;
    if (!filtered || fits(invocation, *store, run, arguments)) runs.push_back(std::move(run));
  }
  const bool more = runs.size() > limit;
  if (more) runs.pop_back();
  if (invocation.json()) {
    invocation.print(rows_json(*store, runs));
  } else if (runs.empty() && filtered) {
    invocation.note("no run fits; `pawl list` shows all runs");
  } else if (runs.empty() && arguments.resumable) {
    invocation.note("no run of this store can be resumed; `pawl list` shows all runs");
  } else if (runs.empty()) {
    invocation.note("no runs in this store yet; `pawl run FILE` or `echo '{}' | pawl save RUN` makes the first");
  } else {
    invocation.print(rows_text(invocation, *store, runs));
    note_damage(invocation, runs);
  }
  if (more) invocation.note(fmt::format("these are the newest {}; --limit shows more", limit));
  if (arguments.resumable && !invocation.json()) PAWL_TRY(note_damaged(invocation, *store));
  return {};
}

}  // namespace

Command add_list(Options& root) {
  const auto arguments = std::make_shared<ListArguments>();
  Options& app = root.command("list", "List the runs, the one saved last first");
  app.group(kLookGroup);
  app.number("--limit", arguments->limit, "At most so many (50)", kLimitBounds);
  app.flag("--resumable", arguments->resumable, "Only runs that `pawl resume` would go on with");
  app.flag("--failed", arguments->failed, "Only runs that failed");
  app.text("--workflow", arguments->workflow, "Only runs of this workflow: its file, or its name where it has none")
      .value("FILE");
  app.text("--session", arguments->session, "Only runs of this session").value("NAME");
  app.list("--meta", arguments->meta, "Only runs whose newest checkpoint has this in its metadata; may be given again")
      .value("KEY=VALUE");
  app.footer(
      "Examples:\n"
      "  pawl list\n"
      "  pawl list --resumable\n"
      "  pawl list --failed --workflow notes.yaml\n"
      "  pawl list --session night --meta team=blue\n"
      "  pawl list --json --limit 1000");
  return {&app, [arguments](const Invocation& invocation) { return list(invocation, *arguments); }};
}

}  // namespace pawl::cli
