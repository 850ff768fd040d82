// The files of attempts: logs, inputs, reports, and the results of a map for its `reduce`.
//
// `STEM.N.log` (and `.out` for captured output) are in the log folder, `STEM.N.input.json` and `STEM.N.result` in the
// folder for work. Items have a folder of their own, so that a large map does not crowd out other logs: the stem of
// `pages[17].write` is `pages/[17].write`. File systems allow 255 bytes in a name, so longer parts continue in a
// folder: without its slashes, a stem is always the path. A report exists only until what it says is recorded.
#pragma once

#include <map>
#include <set>

#include "engine/run_context.hpp"
#include "engine/step_report.hpp"

namespace pawl {

inline constexpr std::uint64_t kResultBytesMax = 64ULL << 20;

/// Returns the path of a step as the relative path of its files.
[[nodiscard]] std::string file_path_of(std::string_view step);

/// Paths without their extension.
struct AttemptStems {
  std::string log;
  std::string work;
};

class AttemptFiles {
 public:
  explicit AttemptFiles(RunContext& context) : context_(context) {}

  /// Makes the folders. The number in the names is that of the attempt, or the next one that no file of an earlier
  /// execution has: the start of an item is not recorded, so its number may occur again.
  [[nodiscard]] Result<AttemptStems> prepare(const std::string& path, std::uint32_t start);
  /// Returns reports that attempts of an earlier execution left behind, lowest number first.
  struct Left {
    std::string path;
    std::uint32_t start = 0;
    std::string file;
  };
  [[nodiscard]] std::vector<Left> left_reports() const;
  /// Reads a report. Nothing if there is none.
  [[nodiscard]] Result<std::optional<StepReport>> read_report(const std::string& file, LastLine last_line) const;

  [[nodiscard]] Result<void> write_input(const std::string& path, const Json& input);
  /// The input of a finished attempt. Creating and removing files dominates the cost of a short step, because ext4 does
  /// not reuse an inode soon, so the next attempts use the file again.
  void reuse(std::string input) { spare_inputs_.push_back(std::move(input)); }
  void remove_spares();

 private:
  [[nodiscard]] Result<bool> make_folder_of(std::string_view path);

  RunContext& context_;
  std::map<std::string, bool, std::less<>> folders_;  // whether it is new, as found by this execution
  std::vector<std::string> spare_inputs_;
};

}  // namespace pawl
