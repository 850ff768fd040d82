#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/lineage_text.hpp"
#include "cli/show_steps.hpp"
#include "cli/show_workflow.hpp"
#include "cli/wrap_text.hpp"
#include "domain/execution_context.hpp"
#include "domain/labels.hpp"
#include "service/run_details.hpp"
#include "text/index_ranges.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kCheckpointsDefault = 100;
constexpr std::size_t kNewestShown = 10;
constexpr std::size_t kEventsShown = 20;

struct ShowArguments {
  std::string address;
  bool checkpoints = false;
  ShowWorkflow workflow;
  std::optional<std::uint64_t> after;
  std::optional<std::uint64_t> limit;
};

/// "Name:   value" lines; skips empty values. On a terminal, long lists are wrapped.
class Lines {
 public:
  explicit Lines(const Invocation& invocation) : width_(invocation.table_width()) {}
  void add(std::string_view name, std::string_view value) {
    if (!value.empty()) text_ += fmt::format("{:<{}}{}\n", fmt::format("{}:", name), kLabelColumns, printable(value));
  }
  void add_list(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += fmt::format("{:<{}}{}\n", fmt::format("{}:", name), kLabelColumns,
                         wrap_beside(kLabelColumns, printable(value), width_));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kLabelColumns = 13;
  const std::optional<std::size_t> width_;
  std::string text_;
};

std::string joined(const std::vector<std::string>& values) { return fmt::format("{}", fmt::join(values, ", ")); }

/// `step_complete of steps b, c in stage load; stage_complete of stage load`; empty if the checkpoint has one label.
std::string more_labels_text(const CheckpointInfo& info) {
  struct Group {
    std::string what;
    std::string stage;
    std::vector<std::string> steps;
  };
  std::vector<Group> groups;
  for (const SaveLabel& label : info.also) {
    const std::string what(to_text(label.kind));
    const auto fits = [&](const Group& group) {
      return group.what == what && group.stage == label.stage && group.steps.empty() == label.step.empty();
    };
    auto group = std::ranges::find_if(groups, fits);
    if (group == groups.end()) group = groups.insert(group, Group{what, label.stage, {}});
    if (!label.step.empty()) group->steps.push_back(label.step);
  }
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    std::string part = group.what;
    if (!group.steps.empty())
      part += fmt::format(" of step{} {}", group.steps.size() == 1 ? "" : "s", fmt::join(group.steps, ", "));
    if (!group.stage.empty()) part += fmt::format(" {} stage {}", group.steps.empty() ? "of" : "in", group.stage);
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

constexpr std::size_t kListColumns = 20;

/// On a terminal, names as many values as fit, the most important one first, and counts the others: `m, a +3`.
std::string listed(const Invocation& invocation, const std::vector<std::string>& values) {
  constexpr std::size_t kCountColumns = 4;  // " +99"
  const std::string all = joined(values);
  if (!invocation.table_width() || values.size() < 2 || display_columns(all) <= kListColumns) return all;
  std::string text = values.front();
  std::size_t shown = 1;
  while (display_columns(text + ", " + values[shown]) + kCountColumns <= kListColumns) text += ", " + values[shown++];
  return text + fmt::format(" +{}", values.size() - shown);
}

std::string table_text(const Invocation& invocation, const std::vector<CheckpointInfo>& checkpoints) {
  Table table({{.name = "SEQ"},
               {.name = "STATUS"},
               {.name = "CREATED", .rank = 1},
               {.name = "SIZE", .rank = 4},
               {.name = "KIND", .rank = 6},
               {.name = "REASON", .rank = 7},
               {.name = "NAME", .cut = Cut::middle, .rank = 2, .least = 10},
               {.name = "STAGE", .cut = Cut::middle, .rank = 5, .least = 8},
               {.name = "STEP", .cut = Cut::middle, .rank = 3, .least = 10, .wanted = kListColumns}});
  for (const CheckpointInfo& info : checkpoints) {
    table.add({std::to_string(info.sequence.value),
               Cell(status_colour(to_text(info.status)), std::string(to_text(info.status))),
               invocation.time_text(info.created), size_text(info.state_bytes), std::string(to_text(info.kind)),
               std::string(to_text(info.reason)), printable(info.name),
               printable(listed(invocation, values_of(info, &SaveLabel::stage))),
               printable(listed(invocation, values_of(info, &SaveLabel::step)))});
  }
  return table.text(invocation.style(), invocation.table_width());
}

constexpr std::size_t kDependentsListed = 1000;

std::string dependents_json(const CheckpointDependents& dependents) {
  Json checkpoints = Json::array();
  for (const Sequence sequence : dependents.checkpoints) {
    if (checkpoints.size() == kDependentsListed) break;
    checkpoints.push_back(sequence.value);
  }
  Json runs = Json::array();
  for (const ForkInfo& fork : dependents.forks) runs.push_back({{"run", fork.run.text()}, {"sequence", fork.at.value}});
  return compact({{"count", dependents.checkpoints.size()},
                  {"checkpoints", checkpoints},
                  {"steps", dependents.steps},
                  {"runs", runs}});
}

/// `3 checkpoints (8-10); steps b, c; forks nightly-2`; empty if nothing depends on it.
std::string dependents_text(const CheckpointDependents& dependents) {
  std::vector<std::string> parts;
  if (const std::size_t count = dependents.checkpoints.size(); count > 0) {
    IndexRanges ranges;
    for (const Sequence sequence : dependents.checkpoints) ranges.add(sequence.value);
    parts.push_back(fmt::format("{} checkpoint{} ({})", count, count == 1 ? "" : "s", ranges.text()));
  }
  if (!dependents.steps.empty()) parts.push_back(fmt::format("steps {}", fmt::join(dependents.steps, ", ")));
  std::vector<std::string> forks;
  for (const ForkInfo& fork : dependents.forks) forks.push_back(fork.run.text());
  if (!forks.empty()) parts.push_back(fmt::format("forks {}", fmt::join(forks, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Result<void> show_checkpoint(const Invocation& invocation, Store& store, const Address& address) {
  PAWL_TRY_ASSIGN(const CheckpointDetails details, checkpoint_details(store, address));
  const CheckpointInfo& info = details.info;
  if (invocation.json()) {
    invocation.print(checkpoint_object(address.run.text(), info)
                         .text("level", to_text(level_of(info)))
                         .raw("dependents", dependents_json(details.dependents))
                         .done() +
                     "\n");
    return {};
  }
  Lines lines(invocation);
  lines.add("Checkpoint", fmt::format("{}@{}", address.run.text(), info.sequence.value));
  lines.add("Parent",
            info.parent ? fmt::format("{}@{}", address.run.text(), info.parent.value) : "none (first checkpoint)");
  lines.add("UUID", info.id.text());
  lines.add("Created", invocation.long_time_text(info.created));
  lines.add("Kind", to_text(info.kind));
  lines.add("Status", to_text(info.status));
  lines.add("Reason", to_text(info.reason));
  lines.add("Level", to_text(level_of(info)));
  lines.add("Name", info.name);
  lines.add("Caller's id", info.caller_id);
  lines.add("Stage", info.stage);
  lines.add("Step", info.step);
  lines.add_list("Also", more_labels_text(info));
  lines.add_list("Dependents", dependents_text(details.dependents));
  lines.add("Metadata", info.metadata);
  lines.add("State", size_text(info.state_bytes));
  lines.add("Stored", fmt::format("{}, {}", size_text(info.stored_bytes),
                                  info.whole ? "whole" : "as a difference from its parent"));
  lines.add("Checksum", info.checksum);
  invocation.print(lines.text());
  return {};
}

Result<void> show_checkpoints(const Invocation& invocation, Store& store, const RunId& run,
                              const ShowArguments& arguments) {
  CheckpointsRequest request{.after = {}, .limit = arguments.limit.value_or(kCheckpointsDefault)};
  if (arguments.after) request.after = Sequence{*arguments.after};
  PAWL_TRY_ASSIGN(const CheckpointPage page, list_checkpoints(store, run, request));
  const std::vector<CheckpointInfo>& found = page.checkpoints;
  if (invocation.json()) {
    std::vector<std::string> rows;
    for (const CheckpointInfo& info : found) rows.push_back(checkpoint_object(run.text(), info).done());
    invocation.print(json_array(rows) + "\n");
  } else if (found.empty()) {
    invocation.note(fmt::format("{} has no checkpoints after {}", run.text(), arguments.after.value_or(0)));
  } else {
    invocation.print(table_text(invocation, found));
  }
  if (page.more_after) invocation.note(fmt::format("more available: use --after {}", found.back().sequence.value));
  if (page.more_before)
    invocation.note(fmt::format("showing the newest {}; use --after 0 to start at the beginning", found.size()));
  return {};
}

void show_plain_run(const Invocation& invocation, const PlainRunDetails& details) {
  const RunInfo& info = details.info;
  const CheckpointInfo& latest = details.latest;
  const std::string run = info.id.text();
  if (invocation.json()) {
    JsonObject document = run_object(info).raw("latest", checkpoint_object(run, latest).done());
    add_lineage(document, details.lineage);
    return invocation.print(document.done() + "\n");
  }
  Lines lines(invocation);
  lines.add("Run", run);
  lines.add("UUID", info.uuid.text());
  lines.add("Latest",
            fmt::format("{}@{}, {}, {}", run, latest.sequence.value, to_text(latest.kind), to_text(latest.status)));
  lines.add("Created", invocation.long_time_text(info.created));
  lines.add("Updated", invocation.long_time_text(info.updated));
  lines.add("Durability", to_text(info.durability));
  lines.add("Session", info.session);
  lines.add("Workflow", info.workflow);
  if (details.lineage.fork_of) lines.add("Fork of", fork_text(*details.lineage.fork_of));
  lines.add("Forks", forks_text(details.lineage));
  invocation.print(lines.text() + "\n" + table_text(invocation, details.newest));
  if (latest.sequence.value > kNewestShown)
    invocation.note(fmt::format("showing the newest {}; use --checkpoints to see more", kNewestShown));
}

Result<void> show_run(const Invocation& invocation, Store& store, const ShowArguments& arguments, const RunId& run) {
  const ShowWorkflow& options = arguments.workflow;
  DetailOptions wanted{.detail = options.all ? Detail::events : Detail::state,
                       .events = {},
                       .checkpoints_max = invocation.json() ? 0 : kNewestShown};
  if (options.events) wanted.events = {.after = arguments.after, .limit = arguments.limit.value_or(kEventsShown)};
  if (invocation.json()) wanted.outputs = DetailOptions::Outputs::read;
  PAWL_TRY_ASSIGN(const RunDetails details, run_details(store, run, wanted));
  const auto* const steps_run = std::get_if<StepsRunDetails>(&details);
  if (const auto* workflow_run = std::get_if<WorkflowRunDetails>(&details)) {
    show_workflow_run(invocation, *workflow_run, options);
  } else if (options.events || (options.all && steps_run == nullptr)) {
    return fail(Error{
        Code::not_a_workflow_run,
        fmt::format("run '{}' has no workflow: {} can't be used", run.text(), options.events ? "--events" : "--all"),
        {},
        {},
        0,
        steps_run != nullptr ? Advice::show_run : Advice::list_checkpoints,
        {.run = run.text()}});
  } else if (steps_run != nullptr) {
    show_steps_run(invocation, *steps_run);
  } else {
    show_plain_run(invocation, std::get<PlainRunDetails>(details));
  }
  return {};
}

Result<void> show(const Invocation& invocation, const ShowArguments& arguments) {
  PAWL_TRY_ASSIGN(const Address address, Address::parse(arguments.address));
  const bool one = arguments.address.find('@') != std::string::npos;
  const bool events = arguments.workflow.events;
  const bool listing = arguments.checkpoints || (!events && (arguments.after || arguments.limit));
  if (events && arguments.checkpoints)
    return fail(Error{Code::usage,
                      "--events and --checkpoints can't be used together",
                      {},
                      fmt::format("run: pawl show {} --events", address.run.text()),
                      0});
  if (one && listing) {
    return fail(Error{Code::usage,
                      "--checkpoints, --after and --limit require a run, not a checkpoint",
                      {},
                      fmt::format("pawl show {} --checkpoints", address.run.text()),
                      0});
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  if (one) return show_checkpoint(invocation, *store, address);
  if (listing) return show_checkpoints(invocation, *store, address.run, arguments);
  return show_run(invocation, *store, arguments, address.run);
}

}  // namespace

Command add_show(Options& root) {
  const auto arguments = std::make_shared<ShowArguments>();
  Options& app = root.command("show", "Show the steps of a run and what to do next, or one checkpoint");
  app.group(kLookGroup);
  app.text("RUN[@SEQ]", arguments->address, "Run id or checkpoint").required();
  app.flag("--all", arguments->workflow.all, "Include inner steps of finished iterations and items");
  app.flag("--events", arguments->workflow.events,
           "Include the newest 20 events, or those that --after and --limit choose");
  app.flag("--checkpoints", arguments->checkpoints, "List the newest checkpoints instead");
  app.number("--after", arguments->after,
             "List checkpoints after this sequence, or events after this number, oldest first")
      .value("SEQ");
  app.number("--limit", arguments->limit, "Maximum number of checkpoints (default: 100) or events (default: 20)",
             kLimitBounds);
  app.footer(
      "Examples:\n"
      "  pawl show notes-k3f9                          steps, and what to do next\n"
      "  pawl show notes-k3f9 --json --all             everything, for programs\n"
      "  pawl show notes-k3f9 --events --limit 200     more events\n"
      "  pawl show nightly                             newest checkpoints of a run\n"
      "  pawl show nightly@7                           details of one checkpoint\n"
      "  pawl show nightly --checkpoints --after 100   the next hundred");
  return {&app, [arguments](const Invocation& invocation) { return show(invocation, *arguments); }};
}

}  // namespace pawl::cli
