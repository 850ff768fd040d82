#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "text/state_parts.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kTopDefault = 20;
constexpr std::uint64_t kSamplesMax = 10;  // of a run's history
constexpr std::size_t kSamplesShown = 4;
constexpr std::size_t kInnerParts = 5;

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

std::int64_t difference(std::uint64_t now, std::uint64_t before) {
  return static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before);
}

/// Growth of a run's state per checkpoint since its first remaining checkpoint.
struct Growth {
  std::uint64_t state_bytes = 0;
  std::uint64_t first_bytes = 0;
  std::int64_t per_checkpoint = 0;
};

Result<Growth> growth_of(Store& store, const RunInfo& run) {
  PAWL_TRY_ASSIGN(const CheckpointInfo latest, store.checkpoint(run.id, {}));
  PAWL_TRY_ASSIGN(const std::vector<CheckpointInfo> first, store.checkpoints(run.id, {}, 1));
  Growth growth{.state_bytes = latest.state_bytes, .first_bytes = latest.state_bytes};
  if (first.empty() || first.front().sequence == latest.sequence) return growth;
  growth.first_bytes = first.front().state_bytes;
  const auto steps = static_cast<std::int64_t>(latest.sequence.value - first.front().sequence.value);
  growth.per_checkpoint = difference(growth.state_bytes, growth.first_bytes) / steps;
  return growth;
}

struct SizedRun {
  RunInfo run;
  RunFootprint bytes;
};

struct StoreSizes {
  std::vector<SizedRun> largest;  // largest first
  std::uint64_t runs = 0;
  std::uint64_t run_bytes = 0;
  std::uint64_t shared_bytes = 0;
};

void keep_largest(std::vector<SizedRun>& runs, std::size_t top) {
  std::ranges::sort(runs, [](const SizedRun& a, const SizedRun& b) {
    return a.bytes.total() != b.bytes.total() ? a.bytes.total() > b.bytes.total() : a.run.id < b.run.id;
  });
  if (runs.size() > top) runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(top), runs.end());
}

Result<StoreSizes> sizes_of(Store& store, std::size_t top) {
  StoreSizes sizes;
  PAWL_TRY_ASSIGN(std::vector<RunInfo> runs, store.runs(kRunsMax));
  for (RunInfo& run : runs) {
    if (run.status == Status::erased) continue;
    const Result<RunFootprint> bytes = store.footprint(run.id);
    if (!bytes && bytes.error().code == Code::run_not_found) continue;  // removed in the meantime
    if (!bytes) return fail(bytes.error());
    ++sizes.runs;
    sizes.run_bytes += bytes->total();
    sizes.largest.push_back({std::move(run), *bytes});
    if (sizes.largest.size() >= 2 * top + 1000) keep_largest(sizes.largest, top);
  }
  keep_largest(sizes.largest, top);
  PAWL_TRY_ASSIGN(sizes.shared_bytes, store.shared_bytes());
  return sizes;
}

Result<void> show_store(const Invocation& invocation, Store& store, std::size_t top) {
  PAWL_TRY_ASSIGN(const StoreSizes sizes, sizes_of(store, top));
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
    PAWL_TRY_ASSIGN(const Growth growth, growth_of(store, sized.run));
    const RunFootprint& bytes = sized.bytes;
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
    const Json total = {
        {"runs", sizes.runs}, {"run_bytes", sizes.run_bytes}, {"shared_bytes", sizes.shared_bytes}, {"bytes", all}};
    invocation.print(compact({{"runs", rows}, {"total", total}}) + "\n");
    return {};
  }
  if (sizes.runs == 0) invocation.note("no runs yet");
  if (sizes.runs > 0) invocation.print(table.text(invocation.style(), invocation.table_width()));
  if (sizes.runs > sizes.largest.size())
    invocation.note(fmt::format("showing the largest {}; use --top to see more", sizes.largest.size()));
  invocation.print(fmt::format("{} run{}: {}; journals and catalogue: {}; total: {}\n", sizes.runs,
                               sizes.runs == 1 ? "" : "s", size_text(sizes.run_bytes), size_text(sizes.shared_bytes),
                               size_text(all)));
  return {};
}

/// A state in the history, with the sizes of its parts.
struct Sample {
  Sequence sequence;
  std::uint64_t state_bytes = 0;
  std::vector<std::uint64_t> part_bytes;
};

/// About ten checkpoints spread over the history, including the first and the latest.
Result<std::vector<Sequence>> spread(Store& store, const RunInfo& run) {
  std::vector<Sequence> sequences;
  const std::uint64_t latest = run.latest.value;
  const std::uint64_t count = std::min(kSamplesMax, latest);
  for (std::uint64_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t wanted = 1 + i * (latest - 1) / (count - 1);
    // If retention has removed it, uses the next existing one.
    PAWL_TRY_ASSIGN(const std::vector<CheckpointInfo> found, store.checkpoints(run.id, Sequence{wanted - 1}, 1));
    if (found.empty() || found.front().sequence.value >= latest) break;
    if (sequences.empty() || found.front().sequence > sequences.back()) sequences.push_back(found.front().sequence);
  }
  sequences.push_back(run.latest);
  return sequences;
}

Result<Sample> sample_of(Store& store, const RunId& run, Sequence sequence, const std::vector<StatePart>& parts) {
  PAWL_TRY_ASSIGN(const Restored restored, store.restore(run, Which{.by = Which::By::sequence, .sequence = sequence}));
  Sample sample{.sequence = sequence, .state_bytes = restored.state.size(), .part_bytes = {}};
  for (const StatePart& part : parts) sample.part_bytes.push_back(part_value(restored.state, part.name).size());
  return sample;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct RunSizes {
  RunInfo run;
  RunFootprint bytes;
  Growth growth;
  std::vector<StatePart> parts;
  std::vector<StatePart> inner;  // of the largest part
  std::vector<Sample> samples;   // oldest first; the last one is the latest
};

Result<RunSizes> run_sizes(Store& store, const RunId& id, std::size_t top) {
  PAWL_TRY_ASSIGN(RunInfo run, store.run(id));
  PAWL_TRY_ASSIGN(const RunFootprint bytes, store.footprint(id));
  PAWL_TRY_ASSIGN(const Growth growth, growth_of(store, run));
  RunSizes sizes{.run = std::move(run), .bytes = bytes, .growth = growth, .parts = {}, .inner = {}, .samples = {}};
  {
    PAWL_TRY_ASSIGN(const Restored latest,
                    store.restore(id, Which{.by = Which::By::sequence, .sequence = sizes.run.latest}));
    sizes.parts = largest_parts(latest.state, top);
    if (!sizes.parts.empty())
      sizes.inner = largest_parts(part_value(latest.state, sizes.parts.front().name), kInnerParts);
  }
  PAWL_TRY_ASSIGN(const std::vector<Sequence> sequences, spread(store, sizes.run));
  for (const Sequence sequence : sequences) {
    PAWL_TRY_ASSIGN(Sample sample, sample_of(store, id, sequence, sizes.parts));
    sizes.samples.push_back(std::move(sample));
  }
  return sizes;
}

Json run_sizes_json(const RunSizes& sizes) {
  Json history = Json::array();
  for (const Sample& sample : sizes.samples)
    history.push_back({{"sequence", sample.sequence.value}, {"state_bytes", sample.state_bytes}});
  Json keys = Json::array();
  for (std::size_t i = 0; i < sizes.parts.size(); ++i) {
    const StatePart& part = sizes.parts[i];
    Json over_time = Json::array();
    for (const Sample& sample : sizes.samples) over_time.push_back(sample.part_bytes[i]);
    const std::uint64_t first = sizes.samples.front().part_bytes[i];
    Json key = {{"key", part.name},
                {"bytes", part.bytes},
                {"share", share(part.bytes, sizes.growth.state_bytes)},
                {"first_bytes", first},
                {"grown_bytes", difference(part.bytes, first)},
                {"history", over_time}};
    if (i == 0) {
      key["keys"] = Json::array();
      for (const StatePart& inner : sizes.inner)
        key["keys"].push_back(
            {{"key", inner.name}, {"bytes", inner.bytes}, {"share", share(inner.bytes, sizes.growth.state_bytes)}});
    }
    keys.push_back(std::move(key));
  }
  return {{"run", sizes.run.id.text()},
          {"checkpoints", sizes.run.latest.value},
          {"bytes", sizes.bytes.total()},
          {"footprint", footprint_json(sizes.bytes)},
          {"state_bytes", sizes.growth.state_bytes},
          {"first_state_bytes", sizes.growth.first_bytes},
          {"growth_per_checkpoint", sizes.growth.per_checkpoint},
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

std::string run_sizes_text(const Invocation& invocation, const RunSizes& sizes) {
  std::string out =
      fmt::format("run {}: {} checkpoint{}, {}\nstate: {} (first {}), {} per checkpoint\n",
                  printable(sizes.run.id.text()), sizes.run.latest.value, sizes.run.latest.value == 1 ? "" : "s",
                  size_text(sizes.bytes.total()), size_text(sizes.growth.state_bytes),
                  size_text(sizes.growth.first_bytes), signed_size(sizes.growth.per_checkpoint));
  if (sizes.parts.empty()) return out + "the state has no keys\n";
  std::vector<Column> header = {{.name = "KEY", .cut = Cut::middle, .rank = 0, .least = 20},
                                {.name = "SHARE"},
                                {.name = "NOW"},
                                {.name = "GROWTH"}};
  const std::vector<std::size_t> shown = shown_samples(sizes.samples.size());
  for (const std::size_t i : shown)
    header.push_back({.name = fmt::format("@{}", sizes.samples[i].sequence.value), .rank = 1 + static_cast<int>(i)});
  Table table(std::move(header));
  const auto percent = [&](std::uint64_t bytes) {
    return fmt::format("{:.1f} %", 100 * share(bytes, sizes.growth.state_bytes));
  };
  for (std::size_t k = 0; k < sizes.parts.size(); ++k) {
    const StatePart& part = sizes.parts[k];
    std::vector<Cell> row = {printable(part.name), percent(part.bytes), size_text(part.bytes),
                             signed_size(difference(part.bytes, sizes.samples.front().part_bytes[k]))};
    for (const std::size_t i : shown) row.emplace_back(size_text(sizes.samples[i].part_bytes[k]));
    table.add(std::move(row));
    if (k > 0) continue;
    for (const StatePart& inner : sizes.inner)
      table.add({"  ." + printable(inner.name), percent(inner.bytes), size_text(inner.bytes)});
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
      "about ten states are read.");
  return {&app, [arguments](const Invocation& invocation) { return stats(invocation, *arguments); }};
}

}  // namespace pawl::cli
