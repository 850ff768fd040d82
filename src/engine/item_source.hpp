// The items of maps and the outputs of steps that are not in memory: from files and from the events of the run.
#pragma once

#include <unordered_map>

#include "engine/run_recorder.hpp"

namespace pawl {

inline constexpr std::uint64_t kMapOutputBytesMax = 64ULL << 20;

class ItemSource {
 public:
  ItemSource(RunContext& context, const RunRecorder& recorder) : context_(context), recorder_(recorder) {}

  /// Reads the whole file once, to count and to identify the items; then it is streamed. Reports ItemsLoaded.
  void load_items(const machine::command::LoadItems& command);
  void load_item(const machine::command::LoadItem& command);
  void load_output(const machine::command::LoadOutput& command);
  void load_finished(const machine::command::LoadFinished& command);

  /// Returns an output, from memory if it is there. Fails with value_too_large for the results of a map above
  /// kMapOutputBytesMax, and with event_replay_failed if its event is missing.
  [[nodiscard]] Result<Json> output_of(const machine::Node& node) const;
  /// Writes the results of a map as JSON Lines, in index order. Keeps positions in memory, not contents.
  [[nodiscard]] Result<void> write_results(const machine::Node& map, const std::string& path) const;

 private:
  struct Stream {
    std::string path;
    std::unique_ptr<LineSource> lines;
    std::uint64_t next = 0;  // index of the next line
  };
  [[nodiscard]] Result<machine::fact::ItemsLoaded> read_items(const std::string& path) const;
  [[nodiscard]] Result<Json> item_at(Stream& stream, std::uint64_t index) const;
  [[nodiscard]] Result<Json> event_output(std::uint64_t event, const std::string& path) const;
  [[nodiscard]] Result<Json> results_of(const machine::Node& map) const;
  [[nodiscard]] Result<void> for_each_result(const std::string& path,
                                             const std::function<Result<void>(Json)>& use) const;
  [[nodiscard]] bool counts(const machine::Node& map, std::uint64_t index) const;

  RunContext& context_;
  const RunRecorder& recorder_;
  std::unordered_map<machine::NodeId, Stream> streams_;
};

}  // namespace pawl
