#include "engine/shared_results.hpp"

#include <algorithm>

#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "engine/cached_results.hpp"
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
  if (!cache_) cache_ = context_.services.store.result_cache();
  machine::fact::CacheAnswered answer{.node = command.node};
  std::optional<CacheHit> hit =
      find_cached(context_.services.store, *cache_, machine::cache_key(*node->step, command.key),
                  context_.services.clock.now(), command.ttl);
  if (hit) {
    answer.hit = true;
    answer.from = hit->address();
    answer.output = std::move(hit->output);
  }
  context_.feed(std::move(answer));
}

void SharedResults::store(const machine::command::StoreCache& command) {
  if (context_.masks.has_keys()) return;  // a masked output is of no use to others
  if (!cache_) cache_ = context_.services.store.result_cache();
  const CachedResult entry{.run = context_.id,
                           .uuid = context_.uuid,
                           .sequence = recorder_.latest(),
                           .event = recorder_.event_of(command.record),
                           .at = context_.services.clock.now()};
  static_cast<void>(cache_->put(command.hash, entry));  // a hint: without it the step runs again
}

}  // namespace pawl
