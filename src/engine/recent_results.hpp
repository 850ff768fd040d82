// The results of maps that this execution started, as far as they fit into memory. Reading them from the events of the
// run costs as much as the run is long, so a map inside each item of another one would cost the square.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>

namespace pawl {

class RecentResults {
 public:
  using Results = std::map<std::uint64_t, std::string>;  // by index: the data of its newest event

  /// A map starts: from now on all its results are added.
  void begin(const std::string& map);
  void add(const std::string& map, std::uint64_t index, std::string data);
  /// Returns all results of a map, or null if they are not all here.
  [[nodiscard]] const Results* find(const std::string& map) const;

 private:
  void drop(const std::string& map);

  struct Kept {
    Results results;
    std::uint64_t bytes = 0;
  };
  std::unordered_map<std::string, Kept> maps_;
  std::deque<std::string> order_;  // oldest first
  std::uint64_t bytes_ = 0;
};

}  // namespace pawl
