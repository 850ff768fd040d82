// Lines about the progress of a run, for when there is no live display.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output.hpp"
#include "engine/run_events.hpp"
#include "ports/environment.hpp"
#include "text/display.hpp"

namespace pawl::cli {

/// Prints the output of several concurrent sources as whole lines: "fetch | 200 OK".
class OutputLines {
 public:
  explicit OutputLines(Colours colours) : colours_(colours) {}
  void add(const std::string& source, std::string_view text, Output& out);
  /// Prints the unfinished line of a source.
  void end(const std::string& source, Output& out);
  void end_all(Output& out);

 private:
  void print_line(const std::string& source, std::string_view line, Output& out) const;

  const Colours colours_;
  std::map<std::string, std::string> unfinished_;
};

/// Prints the progress of maps as occasional lines.
class MapProgressLines {
 public:
  MapProgressLines(Clock& clock, std::int64_t interval_us) : clock_(clock), interval_us_(interval_us) {}

  void take(const RunEvent& event);
  /// Returns a line for each running map if it is due, otherwise an empty text. The line names the run unless it is
  /// `main_run`.
  [[nodiscard]] std::string lines(const std::string& main_run);

 private:
  struct Map {
    std::uint64_t total = 0;
    std::uint64_t done = 0;  // including failed ones
    std::uint64_t failed = 0;
    std::int64_t told_us = 0;
  };
  using Key = std::pair<std::string, std::string>;  // run, step

  Clock& clock_;
  const std::int64_t interval_us_;
  std::map<Key, Map> maps_;
};

/// Turns events storage_trouble into lines. Many steps that can't start for the same reason are told from time to time.
class TroubleLines {
 public:
  /// Returns "storage error (pause): ERROR", or "STEP: can't start: ERROR; retrying (2 of 12)"; nothing if another step
  /// was told a moment ago.
  [[nodiscard]] std::optional<std::string> line(const RunEvent& event, std::int64_t now_us);

 private:
  std::string error_;  // the last one
  std::int64_t told_us_ = 0;
};

/// Returns "kept for review: pawl/r/m-0, pawl/r/m-2" for the data of an event branches_kept.
[[nodiscard]] std::string branches_text(const Json& data);

}  // namespace pawl::cli
