#include <algorithm>
#include <charconv>
#include <limits>
#include <ranges>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "domain/erasure.hpp"
#include "service/prune_logs.hpp"
#include "service/prune_runs.hpp"
#include "text/index_ranges.hpp"
#include "text/json_text.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;

struct PruneArguments {
  std::string run;
  RetentionSettings limits;
  bool dry_run = false;
  bool logs = false;
};

/// `30` or `30d`.
std::optional<std::uint64_t> parse_days(std::string_view text) {
  if (text.ends_with('d')) text.remove_suffix(1);
  std::uint64_t days = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), days);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return days;
}

std::string ranges_of(const std::vector<Sequence>& sequences) {
  IndexRanges ranges;
  for (const Sequence sequence : sequences) ranges.add(sequence.value);
  return ranges.text();
}

std::string freed_text(std::int64_t bytes) { return size_text(bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0); }

std::uint64_t count_of(const PruneReport& report, KeptWhy why) {
  return static_cast<std::uint64_t>(std::ranges::count(report.exempt | std::views::values, why));
}

/// "1 named, 2 fork points", or nothing.
std::string exempt_text(const PruneReport& report) {
  std::vector<std::string> parts;
  const auto add = [&](KeptWhy why, std::string_view one, std::string_view more) {
    if (const std::uint64_t count = count_of(report, why); count > 0)
      parts.push_back(fmt::format("{} {}", count, count == 1 ? one : more));
  };
  add(KeptWhy::newest, "newest", "newest");
  add(KeptWhy::named, "named", "named");
  add(KeptWhy::stage_end, "stage end", "stage ends");
  add(KeptWhy::fork_point, "fork point", "fork points");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string json_of(const PrunedRun& pruned) {
  std::vector<std::string> dropped;
  for (const Sequence sequence : pruned.report->dropped) dropped.push_back(std::to_string(sequence.value));
  return JsonObject()
      .text("run", pruned.run.text())
      .raw("removed", fmt::format("[{}]", fmt::join(dropped, ",")))
      .number("kept", pruned.report->kept)
      .raw("kept_by_rule", JsonObject()
                               .number("newest", count_of(*pruned.report, KeptWhy::newest))
                               .number("named", count_of(*pruned.report, KeptWhy::named))
                               .number("stage_ends", count_of(*pruned.report, KeptWhy::stage_end))
                               .number("fork_points", count_of(*pruned.report, KeptWhy::fork_point))
                               .done())
      .raw("freed_bytes", std::to_string(pruned.report->freed_bytes))
      .raw("held_by", pruned.report->held_by.empty() ? "null" : escape_json(pruned.report->held_by))
      .done();
}

std::string text_of(const std::vector<PrunedRun>& all, PruneMode mode) {
  const char* const removed = mode == PruneMode::dry_run ? "would remove" : "removed";
  const char* const freed = mode == PruneMode::dry_run ? "would free" : "freed";
  std::string text;
  for (const PrunedRun& pruned : all) {
    const PruneReport& report = *pruned.report;
    const std::string exempt = exempt_text(report);
    if (report.dropped.empty() && report.freed_bytes <= 0 && exempt.empty()) continue;
    text += fmt::format("{}: {} {} of {}", printable(pruned.run.text()), removed, report.dropped.size(),
                        counted(report.dropped.size() + report.kept, "checkpoint"));
    if (!report.dropped.empty()) text += fmt::format(" ({})", ranges_of(report.dropped));
    text += fmt::format(", {} {}", freed, freed_text(report.freed_bytes));
    if (!exempt.empty()) text += fmt::format("; kept beyond the limits: {}", exempt);
    text += '\n';
  }
  const PruneReport sum = sum_of(all);
  return text + fmt::format("{}: {} {}, kept {}, {} {}\n", counted(all.size(), "run"), removed,
                            counted(sum.dropped.size(), "checkpoint"), sum.kept, freed, freed_text(sum.freed_bytes));
}

std::string document_of(const std::vector<PrunedRun>& all, PruneMode mode) {
  std::vector<std::string> rows;
  for (const PrunedRun& pruned : all) rows.push_back(json_of(pruned));
  const PruneReport sum = sum_of(all);
  return JsonObject()
             .boolean("dry_run", mode == PruneMode::dry_run)
             .raw("runs", json_array(rows))
             .number("removed", sum.dropped.size())
             .number("kept", sum.kept)
             .raw("freed_bytes", std::to_string(sum.freed_bytes))
             .done() +
         "\n";
}

std::string document_of(const PrunedLogs& pruned, PruneMode mode) {
  std::vector<std::string> rows;
  for (const PrunedLogs::OfRun& run : pruned.runs)
    rows.push_back(JsonObject()
                       .text("run", run.run.text())
                       .number("removed", run.removed)
                       .number("freed_bytes", run.freed_bytes)
                       .done());
  return JsonObject()
             .boolean("dry_run", mode == PruneMode::dry_run)
             .raw("runs", json_array(rows))
             .number("removed", pruned.removed())
             .number("freed_bytes", pruned.freed_bytes())
             .done() +
         "\n";
}

std::string text_of(const PrunedLogs& pruned, PruneMode mode) {
  const bool dry = mode == PruneMode::dry_run;
  return fmt::format("{}: {} {}, {} {}\n", counted(pruned.runs.size(), "run"), dry ? "would remove" : "removed",
                     counted(pruned.removed(), "log"), dry ? "would free" : "freed", size_text(pruned.freed_bytes()));
}

Result<std::vector<RunId>> runs_of(Store& store, const std::string& run) {
  if (run.empty()) return runs_to_prune(store);
  PAWL_TRY_ASSIGN(RunId id, RunId::parse(run));
  return std::vector<RunId>{std::move(id)};
}

Result<void> prune_only_logs(const Invocation& invocation, const PruneArguments& arguments) {
  const RetentionSettings& limits = arguments.limits;
  if (!limits.keep_days || limits.keep || limits.keep_per_stage) {
    return fail(Error{Code::usage,
                      "--logs requires --older-than",
                      {},
                      "for example: pawl prune --logs --older-than 30d --dry-run",
                      0});
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<RunId> runs, runs_of(*store, arguments.run));
  if (!arguments.run.empty()) PAWL_TRY(store->run(runs.front()));
  const PruneMode mode = arguments.dry_run ? PruneMode::dry_run : PruneMode::remove;
  CliContext& context = invocation.context();
  const Timestamp now = invocation.now_for_ages(*store);
  constexpr auto kDaysMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / kDayUs);
  const auto days = static_cast<std::int64_t>(std::min(*limits.keep_days, kDaysMax / 2));
  const Timestamp before{now.us - days * kDayUs};
  PAWL_TRY_ASSIGN(const PrunedLogs pruned, prune_logs(*store, context.workflows->files, runs, before, mode));
  invocation.print(invocation.json() ? document_of(pruned, mode) : text_of(pruned, mode));
  return {};
}

/// The checkpoints are removed in any case.
void note_wiped(const Invocation& invocation, const Result<std::vector<std::string>>& held) {
  if (!held) {
    return invocation.note(
        fmt::format("the journals may still contain data of removed checkpoints: {}", held.error().message));
  }
  for (const std::string& journal : *held)
    invocation.note(fmt::format(
        "{} may contain data of removed checkpoints; that process deletes it when it is idle or exits", journal));
}

/// A damaged checkpoint that the limits keep stays, with those of its group that may need it.
void note_damage(const Invocation& invocation, Store& store, const PrunedRun& pruned) {
  if (!pruned.report) return;
  const auto left = store.checkpoints(pruned.run, {}, SIZE_MAX);
  if (left || category(left.error().code) != Category::integrity) return;
  const std::string& run = pruned.run.text();
  invocation.note(
      fmt::format("a damaged checkpoint of run '{0}' was not removed: {1}; it is named, or kept by the limits or "
                  "together with others that are; restore its file from a backup, or pass a lower limit (until then, "
                  "large states of removed checkpoints stay on the disk); to see what is damaged: pawl fsck {0}",
                  run, printable(left.error().message)));
}

Result<void> prune(const Invocation& invocation, const PruneArguments& arguments) {
  if (arguments.logs) return prune_only_logs(invocation, arguments);
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  const RetentionSettings limits =
      arguments.limits.keeps_everything() ? config->settings.checkpoint.retention : arguments.limits;
  if (limits.keeps_everything()) {
    return fail(Error{Code::usage,
                      "no limit given",
                      {},
                      "pass a limit, for example `pawl prune --keep 10 --dry-run`, or set one in .pawl/config.yaml",
                      0});
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<RunId> runs, runs_of(*store, arguments.run));
  const PruneMode mode = arguments.dry_run ? PruneMode::dry_run : PruneMode::remove;
  if (limits.keep_days) static_cast<void>(invocation.now_for_ages(*store));
  std::vector<PrunedRun> pruned = prune_runs(*store, runs, limits, mode);
  if (arguments.run.empty())
    std::erase_if(pruned, [](const PrunedRun& run) { return !run.report && is_gone(run.report.error().code); });
  if (!arguments.run.empty() && !pruned.front().report) return fail(pruned.front().report.error());
  if (mode == PruneMode::remove && !sum_of(pruned).dropped.empty()) note_wiped(invocation, store->wipe_pruned());
  std::optional<Error> first_error;
  for (const PrunedRun& run : pruned) {
    if (run.report && !run.report->held_by.empty())
      invocation.note(
          fmt::format("the files of run '{}' still contain data of removed checkpoints: {} has the run open; "
                      "the data is deleted when it closes the run",
                      run.run.text(), run.report->held_by));
    note_damage(invocation, *store, run);
    if (run.report) continue;
    invocation.note(fmt::format("skipped run '{}': {}", run.run.text(), run.report.error().message));
    if (!first_error) first_error = run.report.error();
  }
  std::erase_if(pruned, [](const PrunedRun& run) { return !run.report; });
  invocation.print(invocation.json() ? document_of(pruned, mode) : text_of(pruned, mode));
  if (first_error) return fail(*first_error);
  return {};
}

}  // namespace

Command add_prune(Options& root) {
  const auto arguments = std::make_shared<PruneArguments>();
  Options& app = root.command("prune", "Remove old checkpoints or logs and free their space");
  app.group(kCareGroup);
  app.text("RUN", arguments->run, "Run id (default: all runs)");
  app.number("--keep", arguments->limits.keep, "Keep the newest N checkpoints of each run", {.lowest = 1});
  app.parsed("--older-than", "Remove those older than this many days: 30 or 30d",
             [arguments](const std::string& text) {
               arguments->limits.keep_days = parse_days(text);
               return arguments->limits.keep_days ? std::string()
                                                  : fmt::format("not a number of days: '{}' (for example: 30d)", text);
             })
      .value("DAYS");
  app.number("--keep-per-stage", arguments->limits.keep_per_stage, "Keep the newest N checkpoints of each stage",
             {.lowest = 1});
  app.flag("--logs", arguments->logs, "Remove the logs of steps instead of checkpoints; requires --older-than");
  app.flag("--dry-run", arguments->dry_run, "Show what would be removed and freed; remove nothing");
  app.footer(
      "A checkpoint is removed if it exceeds at least one limit. The newest checkpoint\n"
      "of a run, named checkpoints and those that runs were forked from are never\n"
      "removed. Limits given here replace those of the settings, which also keep the\n"
      "ends of stages.\n"
      "Runs can be in use meanwhile. Removed checkpoints can't be restored, and their\n"
      "data is overwritten in the journals. The newest part of a run that a process has\n"
      "open is freed later.\n"
      "\n"
      "Examples:\n"
      "  pawl prune --keep 10 --dry-run         show what would be removed in all runs\n"
      "  pawl prune nightly --keep 10\n"
      "  pawl prune --older-than 30d --keep-per-stage 3\n"
      "  pawl prune --logs --older-than 90d     remove old logs of finished runs\n"
      "  pawl prune                             use the limits of the settings");
  return {&app, [arguments](const Invocation& invocation) { return prune(invocation, *arguments); }};
}

}  // namespace pawl::cli
