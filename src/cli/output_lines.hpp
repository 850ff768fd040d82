// Lines for people about what is going on in a run, where there is no live picture.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/output.hpp"
#include "engine/run_events.hpp"
#include "ports/environment.hpp"

namespace pawl::cli {

/// What several sources print at the same time, as whole lines: "fetch | 200 OK".
class OutputLines {
 public:
  void add(const std::string& source, std::string_view text, Output& out);
  /// Prints the unfinished line of a source.
  void end(const std::string& source, Output& out);
  void end_all(Output& out);

 private:
  std::map<std::string, std::string> unfinished_;
};

/// How far maps are, as a line now and then.
class MapProgressLines {
 public:
  MapProgressLines(Clock& clock, std::int64_t interval_us) : clock_(clock), interval_us_(interval_us) {}

  void take(const RunEvent& event);
  /// A line for each map that is running, if the time has come; otherwise nothing. Of other runs than `main_run` the
  /// line names the run.
  [[nodiscard]] std::string lines(const std::string& main_run);

 private:
  struct Map {
    std::uint64_t total = 0;
    std::uint64_t done = 0;  // failed ones included
    std::uint64_t failed = 0;
    std::int64_t told_us = 0;
  };
  using Key = std::pair<std::string, std::string>;  // run, step

  Clock& clock_;
  const std::int64_t interval_us_;
  std::map<Key, Map> maps_;
};

}  // namespace pawl::cli
