#include "engine/cached_results.hpp"

#include <chrono>

#include "base/hash.hpp"
#include "domain/event_types.hpp"
#include "domain/run_state.hpp"

namespace pawl {
namespace {

/// The event that the step completed; null unless it is intact and has this key.
std::optional<Event> completion(Store& store, const CachedResult& at, const std::string& key, Json& data) {
  Result<std::vector<Event>> events = store.events(at.run, at.event - 1, 1);
  if (!events || events->size() != 1) return std::nullopt;
  Event& event = events->front();
  const bool completed = event.type == event_type::kStepCompleted || event.type == event_type::kItemCompleted;
  if (!completed || event.number != at.event || event.sequence != at.sequence) return std::nullopt;
  data = Json::parse(event.data, nullptr, false);
  if (!data.is_object() || text_in(data, "cache_key") != key) return std::nullopt;
  return std::move(event);
}

/// A small output is only in the state.
std::optional<Json> output_of(Store& store, const CachedResult& at, const Json& data) {
  const Which which{.by = Which::By::sequence, .sequence = at.sequence, .label = {}, .uuid = {}};
  if (data.contains("output")) {
    if (!store.checkpoint(at.run, which)) return std::nullopt;
    return data["output"];
  }
  const Result<Restored> restored = store.restore(at.run, which);
  if (!restored) return std::nullopt;
  const Result<RunState> state = RunState::from_json(Json::parse(restored->state, nullptr, false));
  const StepRecord* record = state ? state->find(text_in(data, "step")) : nullptr;
  if (record == nullptr || record->status != StepStatus::completed || record->output_event != 0) return std::nullopt;
  return record->output;
}

std::optional<CacheHit> load(Store& store, const CachedResult& at, const std::string& key, Timestamp now,
                             std::optional<Milliseconds> ttl) {
  const Result<RunInfo> run = store.run(at.run);
  if (!run || run->uuid != at.uuid || at.event == 0) return std::nullopt;
  Json data;
  const std::optional<Event> event = completion(store, at, key, data);
  if (!event) return std::nullopt;
  if (ttl && now.us - event->created.us > std::chrono::microseconds(*ttl).count()) return std::nullopt;
  std::optional<Json> output = output_of(store, at, data);
  if (!output) return std::nullopt;
  return CacheHit{std::move(*output), at.run, at.sequence};
}

}  // namespace

std::string cache_key_hash(std::string_view key) { return to_hex(sha256("result of a step\n", key)); }

std::string CacheHit::address() const { return fmt::format("{}@{}", run.text(), sequence.value); }

std::optional<CacheHit> find_cached(Store& store, ResultCache& cache, std::string_view key, Timestamp now,
                                    std::optional<Milliseconds> ttl) {
  const std::string hash = cache_key_hash(key);
  const Result<std::optional<CachedResult>> entry = cache.find(hash);
  if (!entry || !*entry) return std::nullopt;
  std::optional<CacheHit> hit = load(store, **entry, hash, now, ttl);
  if (hit) return hit;
  // A newer result, of any age, replaces the entry. Without a limit of age, this one can't be used again.
  if (!ttl) static_cast<void>(cache.forget(hash));
  return std::nullopt;
}

}  // namespace pawl
