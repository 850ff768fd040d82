#include "adapters/memory/memory_limits.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

namespace pawl {

struct MemoryLimit {
  std::map<const void*, LimitDefinition> in_use = {};  // by handle
  std::uint32_t permits = 0;
  std::deque<Timestamp> starts = {};  // oldest first
};

struct MemoryLimitsData {
  std::mutex mutex;
  std::map<std::string, MemoryLimit> limits;  // guarded by mutex
};

namespace {

class MemoryPermit final : public Permit {
 public:
  MemoryPermit(std::shared_ptr<MemoryLimitsData> data, std::vector<LimitDefinition> taken)
      : data_(std::move(data)), taken_(std::move(taken)) {}
  MemoryPermit(const MemoryPermit&) = delete;
  MemoryPermit& operator=(const MemoryPermit&) = delete;
  ~MemoryPermit() override {
    const std::scoped_lock lock(data_->mutex);
    for (const LimitDefinition& limit : taken_) --data_->limits[limit.name].permits;
  }

 private:
  const std::shared_ptr<MemoryLimitsData> data_;
  const std::vector<LimitDefinition> taken_;
};

/// Returns why there is no room.
std::optional<LimitWait> obstacle(MemoryLimit& limit, const std::string& name, Timestamp now) {
  LimitDefinition strictest;
  for (const auto& [handle, definition] : limit.in_use) tighten(strictest, definition);
  while (limit.starts.size() > kLimitPerMinuteMax) limit.starts.pop_front();
  for (Timestamp& start : limit.starts) start = std::min(start, now);  // the clock was set back
  if (strictest.parallel && limit.permits >= *strictest.parallel)
    return LimitWait{LimitWait::Why::parallel, name, Timestamp{now.us + kLimitAskAgain_us}};
  if (!strictest.per_minute || limit.starts.size() < *strictest.per_minute) return std::nullopt;
  const Timestamp room{limit.starts[limit.starts.size() - *strictest.per_minute].us + kLimitMinute_us};
  if (room <= now) return std::nullopt;
  return LimitWait{LimitWait::Why::rate, name, room};
}

class MemoryLimits final : public Limits {
 public:
  explicit MemoryLimits(std::shared_ptr<MemoryLimitsData> data) : data_(std::move(data)) {}
  MemoryLimits(const MemoryLimits&) = delete;
  MemoryLimits& operator=(const MemoryLimits&) = delete;
  ~MemoryLimits() override {
    const std::scoped_lock lock(data_->mutex);
    for (auto& [name, limit] : data_->limits) limit.in_use.erase(this);
  }

  Result<PermitOrWait> try_take(std::span<const LimitDefinition> limits, Timestamp now) override {
    PAWL_TRY_ASSIGN(std::vector<LimitDefinition> wanted, checked_limits(limits));
    const std::scoped_lock lock(data_->mutex);
    std::optional<LimitWait> wait;
    for (const LimitDefinition& definition : wanted) {
      MemoryLimit& limit = data_->limits[definition.name];
      limit.in_use[this] = definition;
      std::optional<LimitWait> found = obstacle(limit, definition.name, now);
      if (found && (!wait || found->until > wait->until)) wait = std::move(found);
    }
    if (wait) return PermitOrWait(std::move(*wait));
    for (const LimitDefinition& definition : wanted) {
      MemoryLimit& limit = data_->limits[definition.name];
      ++limit.permits;
      limit.starts.push_back(now);
    }
    return PermitOrWait(std::make_unique<MemoryPermit>(data_, std::move(wanted)));
  }

  std::vector<Error> damage() override { return {}; }

 private:
  const std::shared_ptr<MemoryLimitsData> data_;
};

}  // namespace

std::shared_ptr<MemoryLimitsData> make_memory_limits_data() { return std::make_shared<MemoryLimitsData>(); }

std::unique_ptr<Limits> make_memory_limits(std::shared_ptr<MemoryLimitsData> data) {
  return std::make_unique<MemoryLimits>(std::move(data));
}

}  // namespace pawl
