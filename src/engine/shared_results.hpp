// What the runs of a store share: limits of rates and widths, and results of steps.
#pragma once

#include <unordered_map>

#include "engine/run_context.hpp"
#include "engine/run_recorder.hpp"

namespace pawl {

class SharedResults {
 public:
  SharedResults(RunContext& context, RunRecorder& recorder) : context_(context), recorder_(recorder) {}

  /// Reports PermitsGranted as soon as there is room in all limits.
  void acquire(const machine::command::AcquirePermits& command);
  void release(const machine::command::ReleasePermits& command);
  /// Reports CacheAnswered. A result whose run was pruned, erased or damaged is not found.
  void look_up(const machine::command::LookUpCache& command);
  void store(const machine::command::StoreCache& command);

 private:
  [[nodiscard]] std::vector<LimitDefinition> definitions(const std::vector<std::string>& names) const;
  void try_take(machine::NodeId node, std::uint64_t request);

  struct Request {
    std::uint64_t number = 0;  // distinguishes the requests of one step
    std::vector<LimitDefinition> limits;
    std::unique_ptr<Permit> permit;
  };
  RunContext& context_;
  RunRecorder& recorder_;
  std::unique_ptr<Limits> limits_;
  std::unique_ptr<ResultCache> cache_;
  std::unordered_map<machine::NodeId, Request> requests_;
  std::uint64_t requests_made_ = 0;
};

}  // namespace pawl
