#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "service/store_sizes.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kTopDefault = 20;
constexpr std::size_t kSamplesShown = 4;

struct StatsArguments {
  std::string run;
  std::optional<std::uint64_t> top;
};

Json footprint_json(const RunFootprint& bytes) {
  return {{"checkpoints", bytes.checkpoints},
          {"events", bytes.events},
          {"audit", bytes.audit},
          {"blobs", bytes.blobs},
          {"logs", bytes.logs},
          {"inbox", bytes.inbox},
          {"other", bytes.other}};
}

std::string signed_size(std::int64_t bytes) {
  const auto magnitude = static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes);
  return (bytes < 0 ? "-" : "+") + size_text(magnitude);
}

/// Damage of some runs is no reason to show less of the others, nor a failure of this command.
void note_unreadable(const Invocation& invocation, const StoreSizes& sizes) {
  for (const auto& [run, error] : sizes.damaged)
    invocation.note(
        fmt::format("the state of run '{}' can't be read: {}", printable(run.text()), printable(error.message)));
}

Result<void> show_store(const Invocation& invocation, Store& store, std::size_t top) {
  PAWL_TRY_ASSIGN(const StoreSizes sizes, store_sizes(store, top));
  Json rows = Json::array();
  Table table({{.name = "RUN", .cut = Cut::middle, .rank = 0, .least = 20},
               {.name = "TOTAL"},
               {.name = "SAVES", .rank = 1},
               {.name = "STATE", .rank = 2},
               {.name = "GROWTH", .rank = 3},
               {.name = "CHECKPOINTS", .rank = 4},
               {.name = "EVENTS", .rank = 5},
               {.name = "BLOBS", .rank = 6},
               {.name = "LOGS", .rank = 7},
               {.name = "AUDIT", .rank = 8},
               {.name = "INBOX", .rank = 9}});
  for (const SizedRun& sized : sizes.largest) {
    const RunFootprint& bytes = sized.bytes;
    const StateGrowth& growth = sized.growth;
    rows.push_back({{"run", sized.run.id.text()},
                    {"bytes", bytes.total()},
                    {"checkpoints", sized.run.latest.value},
                    {"state_bytes", growth.state_bytes},
                    {"growth_per_checkpoint", growth.per_checkpoint},
                    {"footprint", footprint_json(bytes)}});
    table.add({printable(sized.run.id.text()), size_text(bytes.total()), std::to_string(sized.run.latest.value),
               size_text(growth.state_bytes), signed_size(growth.per_checkpoint), size_text(bytes.checkpoints),
               size_text(bytes.events), size_text(bytes.blobs), size_text(bytes.logs), size_text(bytes.audit),
               size_text(bytes.inbox)});
  }
  const std::uint64_t all = sizes.run_bytes + sizes.shared_bytes;
  if (invocation.json()) {
    const Json total = {{"runs", sizes.runs + sizes.erased},
                        {"erased", sizes.erased},
                        {"run_bytes", sizes.run_bytes},
                        {"shared_bytes", sizes.shared_bytes},
                        {"bytes", all}};
    invocation.print(compact({{"runs", rows}, {"total", total}}) + "\n");
    note_unreadable(invocation, sizes);
    return {};
  }
  if (sizes.runs == 0) invocation.note("no runs yet");
  if (sizes.runs > 0) invocation.print(table.text(invocation.style(), invocation.table_width()));
  if (sizes.runs > sizes.largest.size())
    invocation.note(fmt::format("showing the largest {}; use --top to see more", sizes.largest.size()));
  const std::uint64_t all_runs = sizes.runs + sizes.erased;
  const std::string erased = sizes.erased == 0 ? std::string() : fmt::format(" ({} erased)", sizes.erased);
  invocation.print(fmt::format("{} run{}{}: {}; journals and catalogue: {}; total: {}\n", all_runs,
                               all_runs == 1 ? "" : "s", erased, size_text(sizes.run_bytes),
                               size_text(sizes.shared_bytes), size_text(all)));
  note_unreadable(invocation, sizes);
  return {};
}

Json run_sizes_json(const RunSizes& sizes) {
  Json history = Json::array();
  for (const SampledState& sample : sizes.samples)
    history.push_back({{"sequence", sample.sequence.value}, {"state_bytes", sample.bytes}});
  Json keys = Json::array();
  for (const SizedKey& key : sizes.keys) {
    keys.push_back({{"key", key.name},
                    {"bytes", key.bytes},
                    {"share", key.share},
                    {"first_bytes", key.history.front()},
                    {"grown_bytes", key.grown_bytes()},
                    {"history", key.history}});
  }
  if (!sizes.keys.empty()) {
    Json& inner = keys.front()["keys"] = Json::array();
    for (const SizedKey& key : sizes.inner)
      inner.push_back({{"key", key.name}, {"bytes", key.bytes}, {"share", key.share}});
  }
  const SizedRun& run = sizes.run;
  return {{"run", run.run.id.text()},
          {"checkpoints", run.run.latest.value},
          {"bytes", run.bytes.total()},
          {"footprint", footprint_json(run.bytes)},
          {"state_bytes", run.growth.state_bytes},
          {"first_state_bytes", run.growth.first_bytes},
          {"growth_per_checkpoint", run.growth.per_checkpoint},
          {"history", history},
          {"keys", keys}};
}

/// A few samples to show, including the first; the latest has its own column.
std::vector<std::size_t> shown_samples(std::size_t count) {
  std::vector<std::size_t> shown;
  const std::size_t earlier = count - 1;
  for (std::size_t i = 0; i < std::min(kSamplesShown, earlier); ++i)
    shown.push_back(i * earlier / std::min(kSamplesShown, earlier));
  return shown;
}

std::string percent_text(const SizedKey& key) { return fmt::format("{:.1f} %", 100 * key.share); }

std::string run_sizes_text(const Invocation& invocation, const RunSizes& sizes) {
  const auto& [run, bytes, growth] = sizes.run;
  std::string out =
      fmt::format("run {}: {} checkpoint{}, {}\nstate: {} (first {}), {} per checkpoint\n", printable(run.id.text()),
                  run.latest.value, run.latest.value == 1 ? "" : "s", size_text(bytes.total()),
                  size_text(growth.state_bytes), size_text(growth.first_bytes), signed_size(growth.per_checkpoint));
  if (sizes.keys.empty()) return out + "the state has no keys\n";
  std::vector<Column> header = {{.name = "KEY", .cut = Cut::middle, .rank = 0, .least = 20},
                                {.name = "SHARE"},
                                {.name = "NOW"},
                                {.name = "GROWTH"}};
  const std::vector<std::size_t> shown = shown_samples(sizes.samples.size());
  for (const std::size_t i : shown)
    header.push_back({.name = fmt::format("@{}", sizes.samples[i].sequence.value), .rank = 1 + static_cast<int>(i)});
  Table table(std::move(header));
  for (const SizedKey& key : sizes.keys) {
    std::vector<Cell> row = {printable(key.name), percent_text(key), size_text(key.bytes),
                             signed_size(key.grown_bytes())};
    for (const std::size_t i : shown) row.emplace_back(size_text(key.history[i]));
    table.add(std::move(row));
    if (&key != &sizes.keys.front()) continue;
    for (const SizedKey& inner : sizes.inner)
      table.add({"  ." + printable(inner.name), percent_text(inner), size_text(inner.bytes)});
  }
  return out + table.text(invocation.style(), invocation.table_width());
}

Result<void> stats(const Invocation& invocation, const StatsArguments& arguments) {
  const std::size_t top = arguments.top.value_or(kTopDefault);
  if (arguments.run.empty()) {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
    return show_store(invocation, *store, top);
  }
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const RunSizes sizes, run_sizes(*store, run, top));
  invocation.print(invocation.json() ? compact(run_sizes_json(sizes)) + "\n" : run_sizes_text(invocation, sizes));
  return {};
}

}  // namespace

Command add_stats(Options& root) {
  const auto arguments = std::make_shared<StatsArguments>();
  Options& app = root.command("stats", "Show what uses space: the largest runs, or the largest keys of a state");
  app.group(kLookGroup);
  app.text("RUN", arguments->run, "Run id, to show the keys of its state (default: all runs)");
  app.number("--top", arguments->top, "Number of rows (default: 20)", {.lowest = 1, .highest = 10'000});
  app.footer(
      "Examples:\n"
      "  pawl stats                   largest runs, by kind of data\n"
      "  pawl stats nightly           largest keys of its state, and how they grew\n"
      "  pawl stats nightly --json    with about ten samples over its history\n"
      "\n"
      "SAVES counts all checkpoints ever saved. GROWTH is the growth of the state per\n"
      "checkpoint. Without RUN, every file of the store is looked at once; with RUN,\n"
      "about ten states are read. The journals take 4 to 16 MiB for each process that\n"
      "saves at the same time. They are reused, and merged when processes have ended.\n"
      "docs/removing-runs.md says what each kind of data is and how to free it.");
  return {&app, [arguments](const Invocation& invocation) { return stats(invocation, *arguments); }};
}

}  // namespace pawl::cli
