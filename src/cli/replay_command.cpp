#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/terminal_text.hpp"
#include "cli/wrap_text.hpp"
#include "codec/json_diff.hpp"
#include "domain/labels.hpp"
#include "service/audited_read.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kCheckpointsAtOnce = 200;
constexpr std::size_t kEventsAtOnce = 1000;
constexpr std::size_t kChangesShown = 8;
constexpr std::size_t kColumnsMax = 120;

struct ReplayArguments {
  std::string address;
  std::string to;
  bool step = false;
};

/// The events of a run, grouped by checkpoint.
class EventCursor {
 public:
  EventCursor(Store& store, const RunId& run) : store_(store), run_(run) {}

  /// Returns the next events up to this checkpoint, including those of pruned checkpoints.
  Result<std::vector<Event>> up_to(Sequence sequence) {
    std::vector<Event> found;
    while (true) {
      while (next_ < page_.size() && page_[next_].sequence <= sequence) found.push_back(std::move(page_[next_++]));
      if (next_ < page_.size() || ended_) return found;
      PAWL_TRY_ASSIGN(page_, store_.events(run_, after_, kEventsAtOnce));
      next_ = 0;
      ended_ = page_.empty();
      if (!ended_) after_ = page_.back().number;
    }
  }

 private:
  Store& store_;
  const RunId& run_;
  std::vector<Event> page_;
  std::size_t next_ = 0;
  std::uint64_t after_ = 0;
  bool ended_ = false;
};

std::string events_json(const std::vector<Event>& events) {
  std::vector<std::string> rows;
  for (const Event& event : events) {
    rows.push_back(JsonObject()
                       .number("number", event.number)
                       .number("sequence", event.sequence.value)
                       .text("created", event.created.text())
                       .text("type", event.type)
                       .raw("data", event.data)
                       .done());
  }
  return fmt::format("[{}]", fmt::join(rows, ","));
}

/// Counters and times of a workflow's state, which change with every checkpoint.
bool is_noise(std::string_view line) {
  const std::size_t colon = line.find(": ");
  const std::string_view path = line.substr(2, colon == std::string_view::npos ? colon : colon - 2);
  for (const std::string_view whole : {"/events", "/spent_ms", "/completed_steps"}) {
    if (path == whole) return true;
  }
  if (!path.starts_with("/steps/")) return false;
  for (const std::string_view end : {"/started", "/ended_ms", "/ms", "/def", "/starts", "/spent", "/attempts"}) {
    if (path.ends_with(end)) return true;
  }
  return false;
}

std::string changes_text(std::string_view diff, const Style& style, std::optional<std::size_t> width) {
  constexpr std::size_t kIndent = 4;
  const std::size_t room = width && *width > kIndent ? std::min(kColumnsMax, *width - kIndent) : kColumnsMax;
  std::string out;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  while (!diff.empty()) {
    const std::size_t end = std::min(diff.find('\n'), diff.size());
    const std::string_view line = diff.substr(0, end);
    diff.remove_prefix(std::min(end + 1, diff.size()));
    if (line.size() < 2 || is_noise(line)) continue;
    if (shown++ < kChangesShown) {
      out += "    " + cut_to_columns(printable(line), room) + "\n";
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) out += style(Colour::dim, fmt::format("    … and {} more", left_out)) + "\n";
  return out;
}

std::string event_line(const Event& event, const Style& style, std::optional<std::size_t> width) {
  Json data = Json::parse(event.data, nullptr, false);
  std::string step;
  if (data.is_object() && data.contains("step") && data["step"].is_string()) {
    step = " " + data["step"].get<std::string>();
    data.erase("step");
  }
  if (data.is_object()) data.erase("workflow");  // its complete text
  std::string text = fmt::format("{}{}", event.type, step);
  if (!data.empty()) text += "  " + compact(data);
  return "  " + style(Colour::dim, "· ") + wrap_beside(4, cut_to_columns(printable(text), kColumnsMax), width) + "\n";
}

std::string heading(const CheckpointInfo& info, const Style& style, std::optional<std::size_t> width) {
  std::string text = fmt::format("{}  {}  {}", info.sequence.value, info.created.text(), to_text(info.kind));
  for (const std::string& stage : values_of(info, &SaveLabel::stage)) text += "  stage " + printable(stage);
  for (const std::string& step : values_of(info, &SaveLabel::step)) text += "  step " + printable(step);
  if (!info.name.empty()) text += "  '" + printable(info.name) + "'";
  if (info.status != Status::active) text += fmt::format("  {}", to_text(info.status));
  return style(Colour::bold, wrap_text(text, width, 4)) + "\n";
}

/// Returns false if the user quits.
bool next_wanted(const Invocation& invocation) {
  CliContext& context = invocation.context();
  context.out.write("[Enter] next, q quit: ");
  static_cast<void>(context.out.flush());
  std::string line;
  return std::getline(context.in, line) && !line.starts_with('q');
}

enum class Pace : std::uint8_t { at_once, by_hand };

class Replay {
 public:
  Replay(const Invocation& invocation, Store& store, const RunId& run, Pace pace)
      : invocation_(invocation), store_(store), run_(run), events_(store, run_), pace_(pace) {}

  Result<void> run(Sequence to) {
    for (Sequence after; after < to;) {
      PAWL_TRY_ASSIGN(const std::vector<CheckpointInfo> page, store_.checkpoints(run_, after, kCheckpointsAtOnce));
      if (page.empty()) return {};
      for (const CheckpointInfo& info : page) {
        after = info.sequence;
        if (info.sequence > to) return {};
        PAWL_TRY_ASSIGN(const bool more, show(info));
        if (!more) return {};
      }
    }
    return {};
  }

 private:
  Result<bool> show(const CheckpointInfo& info) {
    PAWL_TRY_ASSIGN(Restored now, store_.restore(run_, {.by = Which::By::sequence, .sequence = info.sequence}));
    PAWL_TRY_ASSIGN(const std::vector<Event> events, events_.up_to(info.sequence));
    if (invocation_.json()) {
      PAWL_TRY_ASSIGN(const std::string patch, json_patch(before_, now.state));
      invocation_.print(
          checkpoint_object(run_.text(), info).raw("changes", patch).raw("events", events_json(events)).done() + "\n");
    } else {
      if (pace_ == Pace::by_hand && shown_ && !next_wanted(invocation_)) return false;
      const Style style = invocation_.style();
      PAWL_TRY_ASSIGN(const std::string diff, readable_diff(before_, now.state));
      const std::optional<std::size_t> width = invocation_.table_width();
      std::string text = heading(info, style, width);
      for (const Event& event : events) text += event_line(event, style, width);
      invocation_.print(text + changes_text(diff, style, width));
    }
    shown_ = true;
    before_ = std::move(now.state);
    return true;
  }

  const Invocation& invocation_;
  Store& store_;
  const RunId run_;
  EventCursor events_;
  const Pace pace_;
  bool shown_ = false;
  std::string before_ = "{}";
};

Result<void> replay(const Invocation& invocation, const ReplayArguments& arguments) {
  const bool named = arguments.address.find('@') != std::string::npos;
  if (named && !arguments.to.empty())
    return fail(Error{Code::usage, "--to and RUN@SEQ can't be used together", {}, "run: pawl replay RUN --to SEQ", 0});
  PAWL_TRY_ASSIGN(const Address address,
                  Address::parse(arguments.to.empty() ? arguments.address : arguments.address + "@" + arguments.to));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const CheckpointInfo last, store->checkpoint(address.run, address.which));
  PAWL_TRY(note_read(*store, invocation.settings(), invocation.context().clock, address.run, last.sequence, "replay"));
  const bool by_hand = arguments.step && invocation.context().in_is_terminal && !invocation.json();
  return Replay(invocation, *store, address.run, by_hand ? Pace::by_hand : Pace::at_once).run(last.sequence);
}

}  // namespace

Command add_replay(Options& root) {
  const auto arguments = std::make_shared<ReplayArguments>();
  Options& app = root.command("replay", "Show a run's history checkpoint by checkpoint without running anything");
  app.group(kLookGroup);
  app.text("RUN[@SEQ]", arguments->address, "Run id").required();
  app.text("--to", arguments->to, "Last checkpoint to show (default: the newest)").value("SEQ");
  app.flag("--step", arguments->step, "Wait for Enter after each checkpoint, on a terminal");
  app.footer(
      "Examples:\n"
      "  pawl replay notes-k3f9\n"
      "  pawl replay notes-k3f9 --to 12 --step\n"
      "  pawl replay notes-k3f9 --json   one line per checkpoint: changes (RFC 6902)\n"
      "                                  and events\n"
      "\n"
      "For a fork, the history it shares with its origin is included.");
  return {&app, [arguments](const Invocation& invocation) { return replay(invocation, *arguments); }};
}

}  // namespace pawl::cli
