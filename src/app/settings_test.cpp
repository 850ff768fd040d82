// The library applies the settings of the store that it opens.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <pawl/pawl.hpp>
#include <pawl/workflow.hpp>

namespace pawl {
namespace {

class LibrarySettings : public ::testing::Test {
 protected:
  LibrarySettings() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-settings-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~LibrarySettings() override { std::filesystem::remove_all(folder_); }
  void settings(const std::string& text) { std::ofstream(folder_ + "/config.yaml") << text; }
  static SaveRequest state(std::string_view body) {
    SaveRequest request;
    request.body = body;
    return request;
  }
  std::string folder_;
};

TEST_F(LibrarySettings, WrongOnesAreAnErrorOfOpen) {
  settings("checkpoint: { enabld: true }\n");
  const Result<Pawl> opened = Pawl::open(folder_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::invalid_config);
  EXPECT_EQ(opened.error().where, folder_ + "/config.yaml:1:15");
}

TEST_F(LibrarySettings, NothingIsWrittenWhereCheckpointsAreOff) {
  settings("checkpoint: { enabled: false }\n");
  Pawl pawl = std::move(*Pawl::open(folder_));
  EXPECT_EQ(pawl.run("r").error().code, Code::checkpoints_off);
  EXPECT_EQ(pawl.durable("r").error().code, Code::checkpoints_off);
  const HandlerRegistry handlers;
  WorkflowEngine engine(pawl, handlers);
  EXPECT_EQ(engine.run_text("r", "steps:\n- { id: a, run: 'true' }\n").error().code, Code::checkpoints_off);
  EXPECT_EQ(engine.resume("r").error().code, Code::checkpoints_off);
  Pawl memory = std::move(*Pawl::open("memory:"));
  EXPECT_TRUE(memory.run("r"));
}

TEST_F(LibrarySettings, TheLimitIsTheirsUnlessTheProgramSetsOne) {
  settings("checkpoint: { size_limit: 1KB }\n");
  const std::string large = "\"" + std::string(2000, 'x') + "\"";
  {
    Pawl pawl = std::move(*Pawl::open(folder_));
    EXPECT_EQ(pawl.run("r")->save(state(large)).error().code, Code::state_too_large);
  }
  OpenOptions options;
  options.state_bytes_max = 5000;
  Pawl pawl = std::move(*Pawl::open(folder_, options));
  EXPECT_TRUE(pawl.run("r")->save(state(large)));
}

TEST_F(LibrarySettings, NewRunsHaveTheirDurability) {
  settings("performance: { async_writes: true }\n");
  Pawl pawl = std::move(*Pawl::open(folder_));
  EXPECT_EQ(pawl.run("r")->info().durability, Durability::async);
  RunOptions options;
  options.durability = Durability::sync;
  EXPECT_EQ(pawl.run("s", options)->info().durability, Durability::sync);
}

}  // namespace
}  // namespace pawl
