// Use cases on the memory store.
#pragma once

#include <gtest/gtest.h>

#include "domain/run_state.hpp"
#include "engine/save.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {

inline RunId run_id(std::string_view text) { return *RunId::parse(text); }

class Service : public ::testing::Test {
 protected:
  /// One more checkpoint of a run that was not made by a workflow, unless the options name one.
  void save_text(const std::string& run, const std::string& text, const RunOptions& options = {},
                 SaveRequest request = {}) {
    request.body = text;
    const auto writer = store_->open_run(run_id(run), options);
    ASSERT_TRUE(writer) << describe(writer.error());
    const auto saved = checked_save(**writer, request, 100'000);
    ASSERT_TRUE(saved) << describe(saved.error());
  }
  void save(const std::string& run, const RunState& state, Status status = Status::active) {
    RunOptions options;
    options.workflow = "w.yaml";
    SaveRequest request;
    request.status = status;
    save_text(run, compact(state.to_json()), options, request);
  }
  void save_status(const std::string& run, RunStatus status) {
    RunState state;
    state.status = status;
    save(run, state);
  }
  void fork(const std::string& parent, std::uint64_t at, const std::string& run) {
    const auto writer = store_->fork(run_id(parent), Sequence{at}, run_id(run), {});
    ASSERT_TRUE(writer) << describe(writer.error());
    const std::string text = compact(RunState{}.to_json());
    SaveRequest request;
    request.body = text;
    ASSERT_TRUE(checked_save(**writer, request, 100'000));
  }
  /// Simulates another process that executes the run, during its lifetime.
  [[nodiscard]] std::unique_ptr<RunWriter> hold(const std::string& run) {
    if (!other_) other_ = memory_.open();
    return *other_->open_run(run_id(run), {});
  }
  [[nodiscard]] Timestamp now() { return memory_.clock().now(); }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
  std::unique_ptr<Store> other_;
};

}  // namespace pawl::testing
