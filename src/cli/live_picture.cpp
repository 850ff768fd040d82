#include "cli/live_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "domain/event_types.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kLiveLabelColumnsMax = 28;
constexpr std::size_t kLogLines = 10;
constexpr std::size_t kRetryLogLines = 3;
constexpr std::uint64_t kItemFailuresShown = 20;
constexpr std::size_t kItemsShown = 8;
constexpr std::int64_t kSpin_us = 120'000;

std::string event_text(const RunEvent& event, const char* key) {
  const auto found = event.data.find(key);
  return found != event.data.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_in(const RunEvent& event, const char* key) {
  const auto found = event.data.find(key);
  return found != event.data.end() && found->is_number() ? found->get<std::uint64_t>() : 0;
}

std::int64_t ms_between(std::int64_t from_us, std::int64_t to_us) { return (to_us - from_us) / 1000; }

/// Returns the width of the labels of permanent lines, which items of maps don't have.
std::size_t widest_label(const Steps& steps) {
  std::size_t widest = 0;
  for (const Step& step : steps) {
    widest = std::max(widest, display_columns(step.id));
    const Loop* loop = std::get_if<Loop>(&step.work);
    if (loop != nullptr && loop->steps)
      widest = std::max(widest, display_columns(step.id) + display_columns("[1].") + widest_label(*loop->steps));
    const Map* map = std::get_if<Map>(&step.work);
    if (map != nullptr && map->reduce) widest = std::max(widest, display_columns(step.id + ".reduce"));
  }
  return widest;
}

/// Returns the time until `due` in whole seconds, so that the countdown does not flicker.
std::string left_text(Timestamp due, Timestamp now) {
  const std::int64_t left_ms = std::max<std::int64_t>((due.us - now.us + 999'999) / 1'000'000, 0) * 1000;
  return left_ms < 60'000 ? fmt::format("{} s left", left_ms / 1000) : elapsed_text(left_ms) + " left";
}

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

const std::unordered_map<std::string_view, LivePicture::Handler>& LivePicture::handlers() {
  static const std::unordered_map<std::string_view, Handler> all = {
      {event_type::kStepStarted, &LivePicture::step_started},
      {event_type::kAttemptStarted, &LivePicture::attempt_started},
      {event_type::kAttemptFailed, &LivePicture::attempt_failed},
      {event_type::kAttemptInterrupted, &LivePicture::attempt_interrupted},
      {event_type::kStepCompleted, &LivePicture::step_completed},
      {event_type::kStepFailed, &LivePicture::step_failed},
      {event_type::kStepSkipped, &LivePicture::step_skipped},
      {event_type::kMapProgress, &LivePicture::map_progress},
      {event_type::kItemStarted, &LivePicture::item_started},
      {event_type::kItemCompleted, &LivePicture::item_completed},
      {event_type::kItemFailed, &LivePicture::item_failed},
      {event_type::kCircuitOpened, &LivePicture::circuit_opened},
      {event_type::kIterationStarted, &LivePicture::iteration_started},
      {event_type::kApprovalRequested, &LivePicture::approval_requested},
      {event_type::kApproved, &LivePicture::decided},
      {event_type::kRejected, &LivePicture::decided},
      {event_type::kSignalConsumed, &LivePicture::decided},
      {event_type::kTimerSet, &LivePicture::timer_set},
      {event_type::kWaitingForSignal, &LivePicture::waiting_for_signal},
      {event_type::kChildStarted, &LivePicture::child_started},
      {event_type::kBreakpoint, &LivePicture::breakpoint},
      {event_type::kMessage, &LivePicture::message},
      {event_type::kBlocker, &LivePicture::message},
      {event_type::kBranchesKept, &LivePicture::branches_kept},
      {event_type::kReportFault, &LivePicture::message},
      {event_type::kStepsRefused, &LivePicture::message},
      {event_type::kMessageRefused, &LivePicture::message},
      {event_type::kStorageTrouble, &LivePicture::trouble},
      {event_type::kStorageRecovered, &LivePicture::trouble},
      {event_type::kInboxTrouble, &LivePicture::trouble},
      {event_type::kLargeCheckpoint, &LivePicture::trouble},
      {event_type::kNotifyFailed, &LivePicture::trouble},
      {event_type::kInterrupting, &LivePicture::trouble},
      {event_type::kCancelling, &LivePicture::trouble},
      {event_type::kBudgetReached, &LivePicture::trouble},
      {event_type::kRunCompleted, &LivePicture::run_ended},
      {event_type::kRunFailed, &LivePicture::run_ended},
      {event_type::kRunWaiting, &LivePicture::run_ended},
      {event_type::kRunInterrupted, &LivePicture::run_ended},
      {event_type::kRunCancelled, &LivePicture::run_ended},
  };
  return all;
}

void LivePicture::begin(const RunId& run, const Workflow& workflow, const RunState& known, Moment now) {
  run_ = run.text();
  began_us_ = now.monotonic_us;
  steps_ = workflow.steps.size();
  label_columns_ = std::min(widest_label(workflow.steps), kLiveLabelColumnsMax);
  settle(TerminalLine().add(Colour::bold, run_).add(Colour::dim, fmt::format("  {}", printable(workflow.name))));
  for (const auto& [path, record] : known.steps) {
    const bool inner = path.find_first_of(".[") != std::string::npos;
    if (!inner && (record.status == StepStatus::completed || record.status == StepStatus::skipped)) ++steps_settled_;
    // Steps at a breakpoint or with a child run continue and emit events.
    if (record.status != StepStatus::waiting || record.reason == StepReason::breakpoint || !record.child_run.empty())
      continue;
    // A resume emits no events for these steps, because they are still waiting.
    Row& waiting = row({.run = run_, .type = {}, .step = path, .at = now.wall, .data = Json::object()}, now);
    waiting.due = record.due;
    waiting.state = record.reason == StepReason::approval ? State::gate
                    : record.reason == StepReason::signal ? State::signal
                                                          : State::timer;
    waiting.detail = printable(record.reason_text());
    if (waiting.state == State::signal) waiting.detail = "waits for " + waiting.detail;
  }
}

void LivePicture::take(const RunEvent& event, Moment now) {
  const auto handler = handlers().find(event.type);
  if (handler == handlers().end() || !event.data.is_object()) return;
  if (!event.step.empty()) {
    if (const auto place = item_of(event)) return take_in_item(*place, event, now);
  }
  (this->*handler->second)(event, now);
}

std::string LivePicture::label_of(const RunEvent& event) const {
  const auto prefix = prefixes_.find(event.run);
  return (prefix == prefixes_.end() ? "" : prefix->second) + printable(event.step);
}

LivePicture::Row* LivePicture::find(const std::string& run, std::string_view path) {
  const auto place = places_.find(key_of(run, path));
  return place == places_.end() ? nullptr : &rows_.at(place->second);
}

LivePicture::Row& LivePicture::row(const RunEvent& event, Moment now) {
  if (Row* known = find(event.run, event.step)) return *known;
  places_[key_of(event.run, event.step)] = next_place_;
  Row& fresh = rows_[next_place_++];
  fresh.label = label_of(event);
  fresh.began_us = now.monotonic_us;
  return fresh;
}

void LivePicture::drop(const RunEvent& event) {
  const auto place = places_.find(key_of(event.run, event.step));
  if (place == places_.end()) return;
  rows_.erase(place->second);
  places_.erase(place);
}

std::optional<LivePicture::ItemPlace> LivePicture::item_of(const RunEvent& event) {
  const std::string_view path = event.step;
  for (std::size_t at = path.find('['); at != std::string_view::npos; at = path.find('[', at + 1)) {
    Row* outer = find(event.run, path.substr(0, at));
    if (outer == nullptr || !outer->map) continue;
    ItemPlace place{.map = &*outer->map, .index = 0, .inner = printable(path.substr(at))};
    std::from_chars(path.data() + at + 1, path.data() + path.size(), place.index);
    return place;
  }
  return std::nullopt;
}

/// Shows only the newest event inside an item; item_failed reports permanent failures.
void LivePicture::take_in_item(const ItemPlace& place, const RunEvent& event, Moment now) {
  const auto [found, fresh] = place.map->running.try_emplace(place.index);
  Item& item = found->second;
  if (fresh) item.began_us = now.monotonic_us;
  if (event.type == event_type::kAttemptStarted) {
    item.inner = place.inner;
    item.attempt = std::max<std::uint64_t>(number_in(event, "attempt"), 1);
  } else if (event.type == event_type::kAttemptFailed) {
    item.log = event_text(event, "log");
  } else if (event.type == event_type::kStepStarted || event.type == event_type::kApprovalRequested ||
             event.type == event_type::kTimerSet) {
    item.inner = place.inner;
  }
}

TerminalLine LivePicture::headed(Colour colour, std::string_view mark, std::string_view label) const {
  TerminalLine line;
  line.add(colour, mark).add(" ");
  line.add(colour == Colour::green ? Colour::none : colour, label);
  line.pad_to(std::max(2 + label_columns_, line.columns()) + 2);
  return line;
}

void LivePicture::settle_log(std::string_view log, std::size_t lines_max) {
  std::vector<std::string_view> lines;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    lines.push_back(log.substr(0, end));
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
  }
  const std::size_t left_out = lines.size() > lines_max ? lines.size() - lines_max : 0;
  for (std::size_t i = left_out; i < lines.size(); ++i)
    settle(TerminalLine().add(Colour::dim, fmt::format("    {} {}", mark("│", "|"), printable(lines[i]))));
}

void LivePicture::step_started(const RunEvent& event, Moment now) {
  Row& started = row(event, now);
  started.state = State::running;
}

void LivePicture::attempt_started(const RunEvent& event, Moment now) {
  Row& running = row(event, now);
  running.state = State::running;
  running.attempt = std::max<std::uint64_t>(number_in(event, "attempt"), 1);
}

void LivePicture::attempt_failed(const RunEvent& event, Moment now) {
  Row& pausing = row(event, now);
  const std::string log = event_text(event, "log");
  if (!event.data.contains("again_in_ms")) {
    pausing.log = log;  // its failure is shown by the event that follows
    return;
  }
  const std::uint64_t again_ms = number_in(event, "again_in_ms");
  const std::uint64_t attempt = number_in(event, "attempt");
  settle(headed(Colour::yellow, mark("↻", "~"), pausing.label)
             .add(fmt::format("attempt {} failed: {}; again in {}", attempt, printable(event_text(event, "error")),
                              elapsed_text(static_cast<std::int64_t>(again_ms)))));
  settle_log(log, kRetryLogLines);
  pausing.state = State::pausing;
  pausing.attempt = attempt + 1;
  pausing.due = Timestamp{now.wall.us + static_cast<std::int64_t>(again_ms) * 1000};
}

void LivePicture::attempt_interrupted(const RunEvent& event, Moment) {
  settle(headed(Colour::yellow, mark("‖", "!"), label_of(event)).add("interrupted"));
  drop(event);
}

void LivePicture::step_completed(const RunEvent& event, Moment now) {
  const Row& done = row(event, now);
  const std::uint64_t ms = number_in(event, "ms");
  const std::uint64_t attempts = number_in(event, "attempts");
  TerminalLine line = headed(Colour::green, mark("✓", "+"), done.label);
  line.add(elapsed_text(ms > 0 ? static_cast<std::int64_t>(ms) : ms_between(done.began_us, now.monotonic_us)));
  if (attempts > 1) line.add(Colour::dim, fmt::format("  {} attempts", attempts));
  if (done.map) {
    line.add(fmt::format("  {}", plural(done.map->total, "item")));
    if (done.map->failed > 0) line.add(Colour::red, fmt::format(", {} failed", done.map->failed));
  }
  if (!done.outcome.empty()) line.add(Colour::dim, fmt::format("  {}", done.outcome));
  settle(std::move(line));
  ++completed_;
  if (event.run == run_ && event.step.find_first_of(".[") == std::string::npos) ++steps_settled_;
  drop(event);
}

void LivePicture::step_failed(const RunEvent& event, Moment now) {
  const Row& done = row(event, now);
  const std::uint64_t attempts = number_in(event, "attempts");
  TerminalLine line = headed(Colour::red, mark("✗", "x"), done.label);
  line.add(Colour::red, printable(event_text(event, "error")));
  if (attempts > 1) line.add(Colour::dim, fmt::format("  {} attempts", attempts));
  settle(std::move(line));
  settle_log(done.log, kLogLines);
  ++failed_;
  if (event.run == run_ && event.step.find_first_of(".[") == std::string::npos) ++steps_settled_;
  drop(event);
}

void LivePicture::step_skipped(const RunEvent& event, Moment) {
  settle(headed(Colour::dim, mark("–", "-"), label_of(event))
             .add(Colour::dim, fmt::format("skipped: {}", printable(event_text(event, "reason")))));
  ++skipped_;
  if (event.run == run_ && event.step.find_first_of(".[") == std::string::npos) ++steps_settled_;
  drop(event);
}

void LivePicture::map_progress(const RunEvent& event, Moment now) {
  Row& map = row(event, now);
  map.map = MapRow{};
  map.map->total = number_in(event, "total");
  map.map->done = map.map->done_before = number_in(event, "done");
  map.map->failed = number_in(event, "failed");
}

void LivePicture::item_started(const RunEvent& event, Moment now) {
  Row* map = find(event.run, event.step);
  if (map == nullptr || !map->map) return;
  const std::uint64_t index = number_in(event, "index");
  Item& item = map->map->running[index];
  item.began_us = now.monotonic_us;
  item.inner = fmt::format("[{}]", index);
}

void LivePicture::item_completed(const RunEvent& event, Moment) {
  Row* map = find(event.run, event.step);
  if (map == nullptr || !map->map) return;
  map->map->running.erase(number_in(event, "index"));
  ++map->map->done;
}

void LivePicture::item_failed(const RunEvent& event, Moment) {
  Row* row = find(event.run, event.step);
  if (row == nullptr || !row->map) return;
  MapRow& map = *row->map;
  const std::uint64_t index = number_in(event, "index");
  ++map.done;
  ++map.failed;
  ++map.failures_shown;
  if (map.failures_shown <= kItemFailuresShown) {
    std::string label = fmt::format("{}[{}]", row->label, index);
    std::string error = printable(event_text(event, "error"));
    // The error names the step inside the item, which is more precise than the item.
    if (const std::size_t colon = error.find(": ");
        colon != std::string::npos && error.starts_with(fmt::format("{}[{}].", printable(event.step), index))) {
      label += error.substr(error.find("]."), colon - error.find("].")).substr(1);
      error.erase(0, colon + 2);
    }
    settle(headed(Colour::red, mark("✗", "x"), label).add(Colour::red, error));
    if (const auto item = map.running.find(index); item != map.running.end())
      settle_log(item->second.log, kRetryLogLines);
  } else if (map.failures_shown == kItemFailuresShown + 1) {
    settle(headed(Colour::red, mark("✗", "x"), row->label).add("further failed items are only counted"));
  }
  map.running.erase(index);
}

void LivePicture::circuit_opened(const RunEvent& event, Moment) {
  settle(headed(Colour::yellow, "!", label_of(event))
             .add(fmt::format("circuit opened after {} failures in a row", number_in(event, "failures_in_a_row"))));
}

void LivePicture::iteration_started(const RunEvent& event, Moment now) {
  row(event, now).detail = fmt::format("iteration {} of {}", number_in(event, "iteration"), number_in(event, "max"));
}

void LivePicture::approval_requested(const RunEvent& event, Moment now) {
  Row& gate = row(event, now);
  gate.state = State::gate;
  gate.detail = printable(summary_line(event_text(event, "prompt")));
}

void LivePicture::decided(const RunEvent& event, Moment now) {
  const std::string by = printable(event_text(event, "by"));
  row(event, now).outcome = event.type == event_type::kSignalConsumed
                                ? fmt::format("signal '{}'", printable(event_text(event, "signal")))
                            : by.empty() ? event.type
                                         : fmt::format("{} by {}", event.type, by);
}

void LivePicture::timer_set(const RunEvent& event, Moment now) {
  Row& timer = row(event, now);
  timer.state = State::timer;
  timer.due = Timestamp::parse(event_text(event, "due")).value_or(now.wall);
}

void LivePicture::waiting_for_signal(const RunEvent& event, Moment now) {
  Row& signal = row(event, now);
  signal.state = State::signal;
  signal.detail = fmt::format("waits for signal '{}'", printable(event_text(event, "signal")));
  signal.due = Timestamp::parse(event_text(event, "due")).value_or(Timestamp{});
}

void LivePicture::child_started(const RunEvent& event, Moment now) {
  Row& parent = row(event, now);
  const std::string child = event_text(event, "run");
  parent.detail = fmt::format("run {}", printable(child));
  prefixes_[child] = parent.label + std::string(mark(" › ", " > "));
}

void LivePicture::breakpoint(const RunEvent& event, Moment) {
  settle(headed(Colour::yellow, mark("‖", "!"), label_of(event)).add("breakpoint: `pawl resume` continues from here"));
}

void LivePicture::branches_kept(const RunEvent& event, Moment) {
  settle(headed(Colour::yellow, mark("‖", "!"), label_of(event)).add(branches_text(event.data)));
}

void LivePicture::message(const RunEvent& event, Moment) {
  std::string text = event_text(event, "text");
  if (text.empty()) text = event_text(event, "description");
  if (text.empty()) text = event_text(event, "error");
  const bool plain = event.type == event_type::kMessage;
  const std::string label = event.step.empty() ? std::string("refused") : label_of(event);
  settle(headed(plain ? Colour::dim : Colour::yellow, plain ? mark("·", ".") : "!", label).add(printable(text)));
}

void LivePicture::trouble(const RunEvent& event, Moment now) {
  if (event.type == event_type::kStorageTrouble) {
    if (event.run != run_ && event.step.empty()) return;  // the event of its parent says the same
    if (const auto line = troubles_.line(event, now.monotonic_us))
      settle(TerminalLine().add(Colour::yellow, "! " + *line));
    return;
  }
  std::string text = event.type;
  std::ranges::replace(text, '_', ' ');
  std::string why = event_text(event, "error");
  if (why.empty()) why = event_text(event, "why");
  if (!why.empty()) text += fmt::format(": {}", printable(why));
  if (event.type == event_type::kInterrupting) text += "; press Ctrl-C again to kill now";
  if (event.run != run_) return;  // the event of its parent says the same
  settle(TerminalLine().add(Colour::yellow, "! " + text));
}

void LivePicture::run_ended(const RunEvent& event, Moment) {
  if (event.run != run_) return;
  status_ = status_of_event(event.type);
  const auto usage = event.data.find("usage");
  if (usage == event.data.end() || !usage->is_object()) return;
  usage_.tokens = usage->value("tokens", std::uint64_t{0});
  usage_.usd = usage->value("usd", 0.0);
}

void LivePicture::end(Moment now) {
  rows_.clear();
  places_.clear();
  const bool good = status_ == RunStatus::completed;
  const bool bad = status_ == RunStatus::failed || status_ == RunStatus::cancelled;
  TerminalLine line;
  line.add(good  ? Colour::green
           : bad ? Colour::red
                 : Colour::yellow,
           fmt::format("{} {} {}",
                       good  ? mark("✓", "+")
                       : bad ? mark("✗", "x")
                             : mark("‖", "!"),
                       run_, status_ ? to_text(*status_) : "ended"));
  std::string text = fmt::format("  {} completed", plural(completed_, "step"));
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  if (skipped_ > 0) text += fmt::format(", {} skipped", skipped_);
  text += fmt::format(" in {}", elapsed_text(ms_between(began_us_, now.monotonic_us)));
  if (const std::string used = used_text(usage_.usd, usage_.tokens); !used.empty()) text += ", " + used;
  settle(std::move(line.add(text)));
}

std::string_view LivePicture::spinner(Moment now) const {
  constexpr std::array<std::string_view, 10> kUnicode = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
  constexpr std::array<std::string_view, 4> kAscii = {"|", "/", "-", "\\"};
  const auto turn = static_cast<std::size_t>(now.monotonic_us / kSpin_us);
  return marks_ == Marks::unicode ? kUnicode[turn % kUnicode.size()] : kAscii[turn % kAscii.size()];
}

void LivePicture::add_bar(TerminalLine& line, const Row& row, TerminalSize size, Moment now) const {
  const MapRow& map = *row.map;
  const std::size_t width = std::clamp<std::size_t>(size.columns / 7, 6, 30);
  const double share = map.total == 0 ? 1.0 : static_cast<double>(map.done) / static_cast<double>(map.total);
  const auto full = std::min(width, static_cast<std::size_t>(share * static_cast<double>(width)));
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) bar += i < full ? mark("━", "#") : mark("╌", ".");
  line.add(Colour::green, bar).add(fmt::format(" {}/{}", map.done, map.total));
  if (map.failed > 0) line.add(Colour::red, fmt::format("  {} failed", map.failed));
  const std::int64_t ms = ms_between(row.began_us, now.monotonic_us);
  line.add("  ").add(elapsed_text(ms));
  const std::uint64_t done = map.done - std::min(map.done, map.done_before);
  if (done == 0 || ms < 500) return;
  const double per_second = static_cast<double>(done) * 1000.0 / static_cast<double>(ms);
  line.add(Colour::dim,
           per_second >= 1 ? fmt::format("  {:.1f}/s", per_second) : fmt::format("  {:.1f}/min", per_second * 60));
  if (map.done >= map.total) return;
  const double left_s = std::ceil(static_cast<double>(map.total - map.done) / per_second);
  line.add(Colour::dim,
           fmt::format("  ~{}", left_text(Timestamp{now.wall.us + static_cast<std::int64_t>(left_s * 1e6)}, now.wall)));
}

TerminalLine LivePicture::row_line(const Row& row, TerminalSize size, Moment now) const {
  const std::string elapsed = elapsed_text(ms_between(row.began_us, now.monotonic_us));
  TerminalLine line;
  switch (row.state) {
    case State::running:
      line = headed(Colour::none, spinner(now), row.label);
      if (row.map && row.detail.empty()) {
        add_bar(line, row, size, now);
        return line;
      }
      line.add(elapsed);
      if (row.attempt > 1) line.add(Colour::yellow, fmt::format("  attempt {}", row.attempt));
      if (!row.detail.empty()) line.add(Colour::dim, fmt::format("  {}", row.detail));
      return line;
    case State::pausing:
      return headed(Colour::yellow, mark("↻", "~"), row.label)
          .add(fmt::format("attempt {}, {}", row.attempt, left_text(row.due, now.wall)));
    case State::gate: return headed(Colour::yellow, "?", row.label).add("needs approval: " + row.detail);
    case State::timer:
      return headed(Colour::none, mark("◷", "z"), row.label).add("sleeps, ").add(left_text(row.due, now.wall));
    case State::signal: break;
  }
  line = headed(Colour::none, mark("◷", "z"), row.label);
  line.add(row.detail);
  if (row.due.us != 0) line.add(", ").add(left_text(row.due, now.wall));
  return line;
}

/// Adds the items that started first, and the number of the others.
void LivePicture::add_items(std::vector<TerminalLine>& lines, const Row& row, std::size_t lines_max, Moment now) const {
  const std::map<std::uint64_t, Item>& running = row.map->running;
  if (lines_max == 0) return;
  const bool all = running.size() <= lines_max;
  const std::size_t shown = all ? running.size() : lines_max - 1;
  std::size_t count = 0;
  for (const auto& [index, item] : running) {
    if (count++ == shown) break;
    TerminalLine line;
    line.add(fmt::format("  {} {}{}", spinner(now), row.label, item.inner)).pad_to(label_columns_ + 6);
    line.add(" ").add(elapsed_text(ms_between(item.began_us, now.monotonic_us)));
    if (item.attempt > 1) line.add(Colour::yellow, fmt::format("  attempt {}", item.attempt));
    lines.push_back(std::move(line));
  }
  if (!all)
    lines.push_back(
        TerminalLine().add(Colour::dim, fmt::format("  {} and {} more", mark("…", "..."), running.size() - shown)));
}

std::vector<TerminalLine> LivePicture::moving(TerminalSize size, Moment now) const {
  const std::size_t lines_max = size.rows > 2 ? size.rows - 2 : 1;
  std::vector<TerminalLine> lines;
  if (rows_.empty()) return lines;
  const std::size_t rows_shown = rows_.size() < lines_max ? rows_.size() : lines_max > 2 ? lines_max - 2 : 0;
  std::size_t spare = lines_max - std::min(lines_max, rows_shown + (rows_shown < rows_.size() ? 2 : 1));
  std::size_t count = 0;
  for (const auto& [place, row] : rows_) {
    if (count++ == rows_shown) break;
    lines.push_back(row_line(row, size, now));
    if (!row.map || row.state != State::running) continue;
    const std::size_t before = lines.size();
    add_items(lines, row, std::min(spare, kItemsShown), now);
    spare -= lines.size() - before;
  }
  if (rows_shown < rows_.size() && lines_max > 1)
    lines.push_back(
        TerminalLine().add(Colour::dim, fmt::format("{} and {} more", mark("…", "..."), rows_.size() - rows_shown)));
  lines.push_back(
      TerminalLine().add(Colour::dim, fmt::format("  {}  {} of {}  {}", run_, steps_settled_, plural(steps_, "step"),
                                                  elapsed_text(ms_between(began_us_, now.monotonic_us)))));
  return lines;
}

}  // namespace pawl::cli
