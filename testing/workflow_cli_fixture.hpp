// The command line with workflows that run real processes, in a temporary folder.
#pragma once

#include <stdlib.h>

#include <filesystem>

#include "domain/run_state.hpp"
#include "testing/cli_fixture.hpp"

namespace pawl::testing {

class WorkflowCliTest : public CliTest {
 protected:
  WorkflowCliTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-cli-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    real_time_ = true;
    state_bytes_max_ = 1U << 20;
  }
  ~WorkflowCliTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Runs this workflow until `pawl run` exits.
  CliResult run_workflow(const std::string& run, const std::string& yaml, std::vector<std::string> more = {}) {
    const std::string file = (folder_ / "workflow.yaml").string();
    files_[file] = yaml;
    std::vector<std::string> args = {"run", file, "--run-id", run};
    args.insert(args.end(), more.begin(), more.end());
    return pawl(std::move(args));
  }

  /// Creates a run as a program leaves it that saved this state and then crashed.
  void leave_behind(const std::string& run, const RunState& state) {
    store_exists_ = true;
    const std::unique_ptr<Store> store = other_handle();
    RunOptions options;
    options.workflow = "left.yaml";
    const auto writer = store->open_run(*RunId::parse(run), options);
    ASSERT_TRUE(writer.has_value());
    const std::string body = compact(state.to_json());
    SaveRequest request;
    request.body = body;
    ASSERT_TRUE((*writer)->save(request).has_value());
  }

  std::filesystem::path folder_;
};

}  // namespace pawl::testing
