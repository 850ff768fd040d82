#include "engine/shared_results.hpp"

#include <algorithm>

#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "machine/names.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kAskAgainMax_us = 1'000'000;

}  // namespace

std::vector<LimitDefinition> SharedResults::definitions(const std::vector<std::string>& names) const {
  std::vector<LimitDefinition> found;
  for (const std::string& name : names) {
    const auto limit = std::ranges::find(context_.workflow->limits, name, &Limit::name);
    if (limit == context_.workflow->limits.end()) continue;
    found.push_back({.name = limit->name, .per_minute = limit->per_minute, .parallel = limit->parallel});
  }
  return found;
}

void SharedResults::acquire(const machine::command::AcquirePermits& command) {
  if (!limits_) limits_ = context_.services.store.limits();
  const std::uint64_t number = ++requests_made_;
  requests_[command.node] = Request{.number = number, .limits = definitions(command.limits), .permit = {}};
  try_take(command.node, number);
}

void SharedResults::try_take(machine::NodeId node, std::uint64_t request) {
  const auto found = requests_.find(node);
  if (found == requests_.end() || found->second.number != request || found->second.permit) return;
  const Timestamp now = context_.services.clock.now();
  Result<PermitOrWait> taken = limits_->try_take(found->second.limits, now);
  for (const Error& error : limits_->damage())
    recorder_.tell({.type = event_type::kLimitsReset, .data = {{"error", describe_in_line(error)}}, .lasts = true});
  if (taken && std::holds_alternative<std::unique_ptr<Permit>>(*taken)) {
    found->second.permit = std::move(std::get<std::unique_ptr<Permit>>(*taken));
    return context_.feed(machine::fact::PermitsGranted{node});
  }
  // Files that can't be used are trouble of the machine. The step waits until they can.
  std::int64_t delay_us = kAskAgainMax_us;
  if (taken) delay_us = std::clamp<std::int64_t>(std::get<LimitWait>(*taken).until.us - now.us, 1'000, kAskAgainMax_us);
  context_.loop.after(delay_us, [this, alive = context_.alive, node, request] {
    if (*alive) try_take(node, request);
  });
}

void SharedResults::release(const machine::command::ReleasePermits& command) { requests_.erase(command.node); }

void SharedResults::look_up(const machine::command::LookUpCache& command) {
  const machine::Node* node = context_.node(command.node);
  if (node == nullptr) return;
  machine::fact::CacheAnswered answer{.node = command.node};
  if (!cache_) cache_ = context_.services.store.result_cache();
  const std::string key = machine::cache_hash(*node->step, command.key);
  const Result<std::optional<CachedResult>> found = cache_->find(key);
  if (!found || !*found) return context_.feed(std::move(answer));
  const CachedResult& cached = **found;
  const std::int64_t age_us = context_.services.clock.now().us - cached.at.us;
  const bool too_old = command.ttl && age_us > std::chrono::microseconds(*command.ttl).count();
  if (too_old) return context_.feed(std::move(answer));
  Result<std::optional<Json>> output = result_of(cached, key);
  if (output && *output) {
    answer.hit = true;
    answer.output = std::move(**output);
    answer.from = fmt::format("{}@{}", cached.run.text(), cached.sequence.value);
  } else {
    static_cast<void>(cache_->forget(key));
  }
  context_.feed(std::move(answer));
}

/// Reads the event that the entry names, after checking that the run is still the same and still has the checkpoint.
Result<std::optional<Json>> SharedResults::result_of(const CachedResult& cached, const std::string& key) const {
  Store& store = context_.services.store;
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(cached.run));
  if (info.uuid != cached.uuid || cached.event == 0) return std::nullopt;
  PAWL_TRY(store.checkpoint(cached.run, {.by = Which::By::sequence, .sequence = cached.sequence}));
  PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(cached.run, cached.event - 1, 1));
  if (events.empty() || events.front().type != event_type::kStepCompleted) return std::nullopt;
  const Json data = Json::parse(events.front().data, nullptr, false);
  if (!data.is_object() || text_in(data, "cache_key") != key || !data.contains("output")) return std::nullopt;
  return std::optional<Json>(data["output"]);
}

void SharedResults::store(const machine::command::StoreCache& command) {
  if (!cache_) cache_ = context_.services.store.result_cache();
  const CachedResult entry{.run = context_.id,
                           .uuid = context_.uuid,
                           .sequence = recorder_.latest(),
                           .event = recorder_.event_of(command.record),
                           .at = context_.services.clock.now()};
  static_cast<void>(cache_->put(command.hash, entry));  // a hint: without it the step runs again
}

}  // namespace pawl
