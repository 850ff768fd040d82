#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage.hpp"
#include "cli/run_status.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kLimitDefault = 50;

struct ListArguments {
  std::optional<std::uint64_t> limit;
  bool resumable = false;
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
    std::vector<std::string> row = {printable(run.id.text()), std::to_string(run.latest.value), std::string(to_text(run.kind)),
                                    status_word(store, run), updated};
    if (forks) row.push_back(run.fork_of_run ? fork_text(origin_of(store, run)) : "");
    table.add(std::move(row));
  }
  return table.text(invocation.style());
}

Result<void> list(const Invocation& invocation, const ListArguments& arguments) {
  const std::size_t limit = arguments.limit.value_or(kLimitDefault);
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(std::vector<RunInfo> runs,
                  arguments.resumable ? resumable_runs(*store) : store->runs(limit + 1));  // one more, to know whether there are more
  const bool more = runs.size() > limit;
  if (more) runs.resize(limit, runs.front());
  if (invocation.json()) {
    invocation.print(rows_json(*store, runs));
  } else if (runs.empty() && arguments.resumable) {
    invocation.note("no run of this store can be resumed; `pawl list` shows all runs");
  } else if (runs.empty()) {
    invocation.note("no runs in this store yet; `pawl run FILE` or `echo '{}' | pawl save RUN` makes the first");
  } else {
    invocation.print(rows_text(invocation, *store, runs));
  }
  if (more) invocation.note(fmt::format("these are the newest {}; --limit shows more", limit));
  return {};
}

}  // namespace

Command add_list(CLI::App& root) {
  const auto arguments = std::make_shared<ListArguments>();
  CLI::App* app = root.add_subcommand("list", "List the runs, the one saved last first");
  app->group(kLookGroup);
  add_number(*app, "--limit", arguments->limit, "At most so many (50)", kLimitBounds);
  app->add_flag("--resumable", arguments->resumable, "Only runs that `pawl resume` would go on with");
  app->footer(
      "Examples:\n"
      "  pawl list\n"
      "  pawl list --resumable\n"
      "  pawl list --json --limit 1000");
  return {app, [arguments](const Invocation& invocation) { return list(invocation, *arguments); }};
}

}  // namespace pawl::cli
