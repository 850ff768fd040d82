// The results as a table for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::bench {

/// The results of one contestant in one scenario. Missing values are not shown.
struct Row {
  std::string name;
  std::string flush_level;  // how an acknowledged save is made durable
  std::optional<double> p50_us = {};
  std::optional<double> p99_us = {};
  std::optional<double> saves_per_s = {};
  std::optional<double> to_raw = {};                // time relative to the raw append
  std::optional<double> to_pawl = {};               // time (or saves/s) relative to Pawl
  std::optional<double> flushes_per_save = {};      // flushes that a save waits for, if the store reports them
  std::optional<double> all_flushes_per_save = {};  // of the whole process in that time, including background work
};

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
};

struct Goal {
  enum class Sense : std::uint8_t { at_most, at_least, exactly };
  std::string what;
  double measured = 0;
  Sense sense = Sense::at_most;
  double limit = 0;
  std::string unit;
  [[nodiscard]] bool met() const;
};

struct Scenario {
  std::string name;
  std::string title;
  std::vector<Row> rows = {};
  std::vector<Figure> figures = {};
  std::vector<Goal> goals = {};
};

void print(const Scenario& scenario);
[[nodiscard]] std::string to_json(const std::vector<Scenario>& scenarios);

}  // namespace pawl::bench
