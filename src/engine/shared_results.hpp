// What the runs of a store share: limits of rates and widths, and results of steps.
#pragma once

#include <unordered_map>

#include "engine/run_context.hpp"
#include "engine/run_recorder.hpp"

namespace pawl {

class SharedResults {
 public:
  SharedResults(RunContext& context, RunRecorder& recorder) : context_(context), recorder_(recorder) {}

  void acquire(const machine::command::AcquirePermits& command);
  void release(const machine::command::ReleasePermits& command);
  void look_up(const machine::command::LookUpCache& command);
  void store(const machine::command::StoreCache& command);

 private:
  RunContext& context_;
  RunRecorder& recorder_;
};

}  // namespace pawl
