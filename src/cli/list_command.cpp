#include "cli/command.hpp"
#include "cli/json_out.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kLimitDefault = 50;

struct ListArguments {
  std::optional<std::uint64_t> limit;
};

std::string rows_json(const std::vector<RunInfo>& runs) {
  std::vector<std::string> rows;
  for (const RunInfo& run : runs) rows.push_back(run_object(run).number("latest", run.latest.value).done());
  return json_array(rows) + "\n";
}

std::string rows_text(const Invocation& invocation, const std::vector<RunInfo>& runs) {
  const CliContext& context = invocation.context();
  Table table({"RUN", "LATEST", "KIND", "STATUS", "UPDATED"});
  for (const RunInfo& run : runs) {
    std::string updated = run.updated.text();
    if (context.out_is_terminal) updated += "  " + age(run.updated, context.clock.now());
    table.add({printable(run.id.text()), std::to_string(run.latest.value), std::string(to_text(run.kind)),
               std::string(to_text(run.status)), updated});
  }
  return table.text(invocation.style());
}

Result<void> list(const Invocation& invocation, const ListArguments& arguments) {
  const std::size_t limit = arguments.limit.value_or(kLimitDefault);
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(std::vector<RunInfo> runs, store->runs(limit + 1));  // one more, to know whether there are more
  const bool more = runs.size() > limit;
  if (more) runs.resize(limit, runs.front());
  if (invocation.json()) {
    invocation.print(rows_json(runs));
  } else if (runs.empty()) {
    invocation.note("no runs in this store yet; `echo '{}' | pawl save RUN` makes the first");
  } else {
    invocation.print(rows_text(invocation, runs));
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
  app->footer(
      "Examples:\n"
      "  pawl list\n"
      "  pawl list --json --limit 1000");
  return {app, [arguments](const Invocation& invocation) { return list(invocation, *arguments); }};
}

}  // namespace pawl::cli
