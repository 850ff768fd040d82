#include "machine/from_recorded.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "domain/event_types.hpp"

namespace pawl::machine {
namespace {

constexpr std::string_view kAsideMark = ".on_failure.";

std::uint64_t hash_in(const Json& data) {
  const std::string text = text_in(data, "hash");
  std::uint64_t hash = 0;
  std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  return hash;
}

std::optional<recorded::ItemEnded> item_of(const OldEvent& event) {
  const bool failed = event.type == event_type::kItemFailed;
  if (!failed && event.type != event_type::kItemCompleted) return std::nullopt;
  if (!event.data.is_object()) return std::nullopt;
  recorded::ItemEnded item{.path = text_in(event.data, "step"), .hash = hash_in(event.data), .failed = failed};
  item.index = event.data.value("index", std::uint64_t{0});
  item.error = text_in(event.data, "error");
  item.item = event.data.value("item", Json());
  item.output = event.data.value("output", Json());
  return item;
}

/// An iteration counts over all resumes.
Json imported(StepRecord record, Json output) {
  record.output = std::move(output);
  record.output_event = 0;
  if (record.iteration > 0) record.spent = std::max(record.spent, record.iteration - 1);
  return record.to_json();
}

}  // namespace

Result<std::vector<Record>> from_recorded(const RunState& state, std::span<const OldEvent> events,
                                          const std::function<Result<Json>(std::uint64_t event)>& output_in_event) {
  std::vector<Record> records;
  const auto add = [&](RecordedFact fact) { records.push_back({Timestamp{1}, std::move(fact)}); };
  for (const AddedSteps& added : state.added) add(recorded::StepsAdded{.path = added.after, .steps = added.steps});
  std::set<std::string, std::less<>> asides;
  for (const auto& [path, record] : state.steps) {
    Json output = record.output;
    if (record.output_event != 0) {
      PAWL_TRY_ASSIGN(output, output_in_event(record.output_event));
    }
    add(recorded::StepImported{.path = path, .record = imported(record, std::move(output))});
    const std::size_t mark = path.rfind(kAsideMark);
    if (mark != std::string::npos) asides.insert(path.substr(0, mark));
  }
  for (const OldEvent& event : events) {
    std::optional<recorded::ItemEnded> item = item_of(event);
    if (!item) continue;
    const StepRecord* map = state.find(item->path);
    if (map == nullptr || !map->map || !map->map->done.contains(item->index)) continue;
    if (item->failed && !map->map->failed.contains(item->index)) continue;
    add(std::move(*item));
  }
  for (const std::string& path : asides) {
    const StepRecord* owner = state.find(path);
    if (owner == nullptr || is_settled(owner->status)) continue;
    add(recorded::AsideBegan{.path = path,
                             .aside = Aside::on_failure,
                             .error = owner->error,
                             .reason = owner->reason,
                             .retryable = owner->retryable});
  }
  RunState head = state;
  head.steps.clear();
  add(recorded::RunImported{.state = head.to_json()});
  return records;
}

}  // namespace pawl::machine
