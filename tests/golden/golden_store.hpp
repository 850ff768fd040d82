// The content of the golden stores. It never changes: a new format gets its own golden store beside the old one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "testing/manual_environment.hpp"

namespace pawl::testing {

struct GoldenSave {
  std::string run;
  SaveRequest request;  // `body` views into `state`
  std::string state;
  bool settled = false;  // published and recycled before the next save
};

/// Returns the saves in their order.
[[nodiscard]] inline std::vector<GoldenSave> golden_saves() {
  const auto save = [](std::string run, std::string state) {
    GoldenSave made;
    made.run = std::move(run);
    made.state = std::move(state);
    return made;
  };
  std::vector<GoldenSave> saves;
  saves.push_back(save("alpha", R"({"items":[],"note":"a first state"})"));
  saves.back().request.kind = Kind::workflow_start;
  saves.back().request.events = {{"run_started", R"({"by":"golden"})"}};
  saves.push_back(save("alpha", R"({"items":[1],"note":"a first state"})"));
  saves.back().request.stage = "load";
  saves.back().request.step = "fetch";
  saves.back().request.metadata = R"({"cost": 0.25})";
  saves.push_back(save("alpha", "{\n  \"items\": [1],\n  \"pretty\": true\n}\n"));
  saves.back().request.name = "pretty";
  saves.push_back(save("alpha", R"({"large":")" + std::string(600, 'x') + "\"}"));
  saves.back().request.caller_id = "call-4";
  saves.back().request.events = {{"grown", "1"}, {"grown", "2"}};
  saves.push_back(save("alpha", R"({"large":")" + std::string(599, 'x') + "y\"}"));
  saves.push_back(save("alpha", "{\n\"base\":2\n}"));
  saves.back().settled = true;
  saves.push_back(save("alpha", "{\n\"base\":2,\"more\":\"\xC3\xA4\xF0\x9F\x98\x80\"\n}"));
  saves.back().request.status = Status::failed;
  saves.back().request.reason = Reason::step_failed;
  saves.back().request.events = {{"step_failed", R"({"step":"fetch"})"}};
  saves.push_back(save("beta", "[17]"));
  saves.back().request.caller_id = "call-b";
  saves.push_back(save("alpha", R"("a text")"));
  return saves;
}

[[nodiscard]] inline FilesystemOptions golden_options() {
  FilesystemOptions options;
  options.segment_bytes = 12U << 10;
  options.segments_max = 3;
  options.inline_bytes_max = 512;
  options.differences_floor_bytes = 4U << 10;
  options.differences_max = 4;
  options.catalogue = false;
  return options;
}

/// Creates the store in an empty folder. Returns false if something failed.
[[nodiscard]] inline bool make_golden_store(const std::string& folder) {
  ManualClock clock;
  SeededRandom random{2026};
  const auto files = PosixFileSystem::open(folder);
  if (!files) return false;
  const Environment environment{&clock, &random,
                                Owner{"00000000-0000-4000-8000-000000002026", 4711, 17, "golden", "test"}};
  const auto store = FilesystemStore::open(**files, environment, golden_options());
  if (!store) return false;
  for (GoldenSave& save : golden_saves()) {
    const auto id = RunId::parse(save.run);
    const auto run = (*store)->open_run(*id, {{}, "nightly.yaml", "sha256:0123", "session-1"});
    clock.advance(1'000'001);
    save.request.body = save.state;
    if (!run || !(*run)->save(save.request)) return false;
    if (save.settled && !(*store)->settle_all()) return false;
  }
  return true;
}

}  // namespace pawl::testing
