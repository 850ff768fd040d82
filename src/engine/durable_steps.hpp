// Steps that are functions of the calling program. They use the same ledger as steps of shell scripts.
#pragma once

#include <functional>
#include <span>

#include "engine/step_ledger.hpp"
#include "ports/foreground.hpp"

namespace pawl {

struct DurableServices {
  Store& store;
  Clock& clock;
  LocalFiles& files;
  std::function<Result<std::unique_ptr<StepLock>>(const std::string& path)> lock;
};

/// Implements pawl::DurableRun. Thread-safe.
class DurableSteps {
 public:
  [[nodiscard]] static Result<DurableSteps> open(const DurableServices& services, const RunId& run);

  Result<std::string> step(const std::string& name, const std::function<Result<std::string>()>& fn);

  using ItemFunction = std::function<Result<std::string>(std::string_view item, std::uint64_t index)>;
  Result<std::vector<std::string>> map(const std::string& name, std::span<const std::string> items,
                                       const ItemFunction& fn, std::size_t parallel);

  [[nodiscard]] const Uuid& uuid() const { return uuid_; }

 private:
  DurableSteps(const DurableServices& services, const RunId& run, Uuid uuid, std::string folder)
      : services_(services), run_(run), uuid_(uuid), folder_(std::move(folder)) {}
  [[nodiscard]] StepLedger ledger() const { return {services_.store, services_.clock, run_}; }
  [[nodiscard]] Result<std::unique_ptr<StepLock>> lock(const std::string& name) const;
  [[nodiscard]] Result<std::string> recorded(const std::string& name, const StepRecord& record) const;
  Result<void> record(const std::string& name, const Result<std::string>& result, std::int64_t took_us) const;
  [[nodiscard]] Result<IndexRanges> begin_map(const std::string& name, std::span<const std::string> items) const;
  [[nodiscard]] Result<std::vector<std::string>> map_results(const std::string& name, std::size_t count) const;
  Result<void> finish_map(const std::string& name) const;

  const DurableServices services_;
  const RunId run_;
  const Uuid uuid_;
  const std::string folder_;
};

}  // namespace pawl
