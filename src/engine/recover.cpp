#include "engine/recover.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "domain/event_types.hpp"

namespace pawl {
namespace {

constexpr std::size_t kEventsPerPage = 100'000;
constexpr std::array<std::string_view, 3> kModes{"latest", "full", "point-in-time"};

/// Returns whether the error means damaged data, so that an older checkpoint may still be intact.
bool may_fall_back(Code code) {
  switch (code) {
    case Code::checkpoint_corrupt:
    case Code::checksum_mismatch:
    case Code::journal_corrupt:
    case Code::chain_broken:
    case Code::no_valid_checkpoint:
    case Code::state_reconstruction_failed:
    case Code::decryption_failed:
    case Code::decoding_failed:
    case Code::not_encrypted: return true;
    default: return false;
  }
}

Result<Recovered> newest_there_is(Store& store, const RecoveryRequest& request) {
  // The common case reads only the newest state.
  Result<Restored> newest = store.restore(request.run, {});
  if (newest) {
    const Sequence sequence = newest->info.sequence;
    return Recovered{.checkpoint = std::move(*newest), .rebuilt = 1, .highest = sequence, .damage = {}};
  }
  if (!may_fall_back(newest.error().code)) return fail(std::move(newest).error());
  Result<Recovered> older = store.recover(request.run, {});
  if (!older)
    return fail(request.fallback == Fallback::allow && older.error().code == Code::no_valid_checkpoint
                    ? std::move(older).error()
                    : std::move(newest).error());
  // The first error describes the problem best.
  const bool known = !older->damage.empty() && older->damage.front().message == newest.error().message;
  if (!known) older->damage.insert(older->damage.begin(), std::move(newest).error());
  return older;
}

Result<Recovered> look(Store& store, const RecoveryRequest& request) {
  switch (request.mode) {
    case RecoveryMode::latest: return newest_there_is(store, request);
    case RecoveryMode::full: return store.recover(request.run, {.extent = RecoverExtent::all});
    case RecoveryMode::point_in_time:
      return store.recover(request.run,
                           {.extent = RecoverExtent::newest, .up_to = request.up_to, .not_after = request.not_after});
  }
  return fail(Code::usage, "unknown recovery mode");
}

std::string completed_path(const Event& event) {
  const bool item = event.type == event_type::kItemCompleted;
  if (!item && event.type != event_type::kStepCompleted) return {};
  const Json data = Json::parse(event.data, nullptr, false);
  if (!data.is_object() || !data.contains("step") || !data["step"].is_string()) return {};
  std::string path = data["step"].get<std::string>();
  if (!item) return path;
  const Json index = data.value("index", Json());
  return index.is_number_unsigned() ? fmt::format("{}[{}]", path, index.get<std::uint64_t>()) : path;
}

/// Calls `use` for every event after number `after`. Stops at a bad one.
template <class Use>
Result<void> each_event(Store& store, const RunId& run, std::uint64_t after, const Use& use) {
  while (true) {
    Result<std::vector<Event>> events = store.events(run, after, kEventsPerPage);
    if (!events) {
      const Error& error = events.error();
      return fail(Error{Code::event_replay_failed,
                        fmt::format("can't read the events of run '{}': {}", run.text(), error.message),
                        error.where,
                        "restore the file from a backup",
                        0,
                        Advice::check_store,
                        {.run = run.text()}});
    }
    if (events->empty()) return {};
    for (const Event& event : *events) use(event);
    after = events->back().number;
  }
}

void note_completed(const Event& event, std::set<std::string>& known, RecoveryResult& result) {
  std::string path = completed_path(event);
  if (!path.empty() && known.insert(path).second) result.completed_after.push_back(std::move(path));
}

/// Reads the events that this recovery needs.
Result<void> replay(Store& store, const RecoveryRequest& request, RecoveryResult& result) {
  const Sequence at = result.checkpoint.info.sequence;
  std::set<std::string> known;
  return each_event(store, request.run, 0, [&](const Event& event) {
    result.last_event = event.number;
    const bool too_late =
        (request.up_to && event.sequence > request.up_to) || (request.not_after && event.created > *request.not_after);
    if (too_late || (request.mode != RecoveryMode::full && event.sequence <= at)) return;
    ++result.events_replayed;
    if (event.sequence > at) note_completed(event, known, result);
  });
}

/// Returns the path of an item: the map's path and the index.
std::optional<std::pair<std::string, std::uint64_t>> split_item(std::string_view path) {
  if (!path.ends_with(']')) return std::nullopt;
  const std::size_t open = path.rfind('[');
  if (open == std::string_view::npos) return std::nullopt;
  std::uint64_t index = 0;
  const auto [end, problem] = std::from_chars(path.data() + open + 1, path.data() + path.size() - 1, index);
  if (problem != std::errc{} || end != path.data() + path.size() - 1) return std::nullopt;
  return std::pair(std::string(path.substr(0, open)), index);
}

std::uint64_t digits(std::string_view& text, std::size_t count, bool& good) {
  std::uint64_t value = 0;
  const std::string_view part = text.substr(0, std::min(count, text.size()));
  const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), value);
  good = good && part.size() == count && problem == std::errc{} && end == part.data() + part.size();
  text.remove_prefix(part.size());
  return value;
}

/// Removes an offset such as `+01:00` or `-0530` from the end of `text`, and returns it in microseconds.
std::int64_t take_zone(std::string_view& text, bool& good) {
  constexpr std::int64_t kMinuteUs = 60'000'000;
  const std::size_t sign = text.find_last_of("+-");
  const std::size_t time = text.find('T');
  if (time == std::string_view::npos || sign == std::string_view::npos || sign < time) return 0;
  std::string_view zone = text.substr(sign + 1);
  const std::int64_t way = text[sign] == '+' ? 1 : -1;
  const auto hours = static_cast<std::int64_t>(digits(zone, 2, good));
  if (zone.starts_with(':')) zone.remove_prefix(1);
  const auto minutes = static_cast<std::int64_t>(zone.empty() ? 0 : digits(zone, 2, good));
  good = good && zone.empty() && hours < 24 && minutes < 60;
  text = text.substr(0, sign);
  return way * (hours * 60 + minutes) * kMinuteUs;
}

std::optional<Timestamp> parse_time(std::string_view text) {
  if (text.size() == 10) return Timestamp::parse(std::string(text) + "T23:59:59.999999Z");
  bool good = true;
  const std::int64_t zone_us = take_zone(text, good);
  std::string full(text);
  std::ranges::replace(full, 't', 'T');
  if (!full.ends_with('Z')) full += 'Z';
  if (full.size() == 17) full.insert(16, ":00");  // no seconds
  auto parsed = Timestamp::parse(full);
  if (!parsed || !good) return std::nullopt;
  parsed->us -= zone_us;
  return parsed;
}

}  // namespace

std::string_view to_text(RecoveryMode mode) { return kModes[static_cast<std::size_t>(mode)]; }

std::optional<RecoveryMode> parse_recovery_mode(std::string_view text) {
  const auto found = std::ranges::find(kModes, text);
  if (found == kModes.end()) return std::nullopt;
  return static_cast<RecoveryMode>(found - kModes.begin());
}

Result<RecoveryResult> recover_run(Store& store, Clock& clock, const RecoveryRequest& request) {
  const std::int64_t began_us = clock.monotonic_us();
  PAWL_TRY_ASSIGN(Recovered found, look(store, request));
  RecoveryResult result{.mode = request.mode, .checkpoint = std::move(found.checkpoint), .highest = found.highest};
  result.rebuilt = found.rebuilt;
  const std::uint64_t whole = result.checkpoint.info.sequence.value;
  const std::string run = request.run.text();
  if (!found.damage.empty() && request.fallback == Fallback::refuse) {
    return fail(with_other_advice(found.damage.front(), Advice::fall_back, {.run = run, .sequence = whole}));
  }
  const bool bounded = request.mode == RecoveryMode::point_in_time;
  result.fell_back = !found.damage.empty() && (bounded || whole < found.highest.value);
  for (const Error& damage : found.damage) result.warnings.push_back(damage.message);
  if (result.fell_back)
    result.warnings.push_back(
        fmt::format("fell back to checkpoint {} of run '{}': newer checkpoints are damaged", whole, run));
  if (result.fell_back || request.mode != RecoveryMode::latest) {
    const Result<void> replayed = replay(store, request, result);
    if (!replayed && request.bad_events == BadEvents::refuse) return fail(replayed.error());
    if (!replayed) result.warnings.push_back(replayed.error().message);
    result.events_known = replayed.has_value();
  }
  result.took_us = clock.monotonic_us() - began_us;
  return result;
}

Result<void> read_events_after(Store& store, const RunId& run, std::uint64_t after, RecoveryResult& result) {
  std::set<std::string> known;
  return each_event(store, run, after, [&](const Event& event) {
    result.last_event = event.number;
    ++result.events_replayed;
    note_completed(event, known, result);
  });
}

Result<void> parse_point(std::string_view text, RecoveryRequest& request) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc{} && end == text.data() + text.size() && number > 0) {
    request.up_to = Sequence{number};
    return {};
  }
  request.not_after = parse_time(text);
  if (request.not_after) return {};
  return fail(Error{Code::usage,
                    fmt::format("'{}' is neither a checkpoint number nor a time", text),
                    {},
                    "for example: 7, 2026-01-11, 2026-01-11T14:30Z or 2026-01-11T15:30:00+01:00",
                    0});
}

std::vector<std::string> steps_to_run_again(const RecoveryResult& result, const RunState& state) {
  std::vector<std::string> steps;
  for (const std::string& path : result.completed_after) {
    if (const StepRecord* record = state.find(path); record != nullptr && record->status == StepStatus::completed)
      continue;
    if (const auto item = split_item(path)) {
      const StepRecord* map = state.find(item->first);
      if (map != nullptr && map->map && map->map->done.contains(item->second)) continue;
    }
    steps.push_back(path);
  }
  return steps;
}

Json to_json(const RecoveryResult& result) {
  return {{"mode", to_text(result.mode)},
          {"checkpoint", result.checkpoint.info.sequence.value},
          {"created", result.checkpoint.info.created.text()},
          {"highest", result.highest.value},
          {"fallback", result.fell_back},
          {"checkpoints_rebuilt", result.rebuilt},
          {"events_replayed", result.events_replayed},
          {"completed_after", result.completed_after},
          {"ms", static_cast<double>(result.took_us) / 1000.0},
          {"warnings", result.warnings}};
}

void note_failure(Store& store, const RunId& run, const Error& error) {
  // The error is reported anyway; this line is for later reference.
  static_cast<void>(
      store.log_failure({.code = error.code, .run = run.text(), .what = error.message, .file = error.where}));
}

}  // namespace pawl
