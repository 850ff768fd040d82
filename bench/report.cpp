#include "bench/report.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace pawl::bench {
namespace {

std::string shown(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : std::string("-");
}

std::string_view sign_of(Goal::Sense sense) {
  switch (sense) {
    case Goal::Sense::at_most: return "<=";
    case Goal::Sense::at_least: return ">=";
    case Goal::Sense::exactly: return "=";
  }
  return "?";
}

void put(nlohmann::ordered_json& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = std::round(*value * 10'000) / 10'000;
}

nlohmann::ordered_json json_of(const Row& row) {
  nlohmann::ordered_json object{{"store", row.name}, {"fsync", row.flush_level}};
  put(object, "p50_us", row.p50_us);
  put(object, "p99_us", row.p99_us);
  put(object, "saves_per_s", row.saves_per_s);
  put(object, "ratio_to_raw", row.to_raw);
  put(object, "ratio_to_pawl", row.to_pawl);
  put(object, "flushes_per_save", row.flushes_per_save);
  put(object, "all_flushes_per_save", row.all_flushes_per_save);
  return object;
}

}  // namespace

bool Goal::met() const {
  switch (sense) {
    case Sense::at_most: return measured <= limit;
    case Sense::at_least: return measured >= limit;
    case Sense::exactly: return measured == limit;
  }
  return false;
}

void print(const Scenario& scenario) {
  fmt::print("\n{}: {}\n", scenario.name, scenario.title);
  if (!scenario.rows.empty()) {
    fmt::print("  {:<22} {:>9} {:>9} {:>10} {:>7} {:>8} {:>12} {:>8}  {}\n", "", "p50 us", "p99 us", "saves/s", "x raw",
               "x pawl", "flushes/save", "all", "what a save waits for");
  }
  for (const Row& row : scenario.rows) {
    fmt::print("  {:<22} {:>9} {:>9} {:>10} {:>7} {:>8} {:>12} {:>8}  {}\n", row.name, shown(row.p50_us, 0),
               shown(row.p99_us, 0), shown(row.saves_per_s, 0), shown(row.to_raw, 2), shown(row.to_pawl, 2),
               shown(row.flushes_per_save, 3), shown(row.all_flushes_per_save, 3), row.flush_level);
  }
  for (const Figure& figure : scenario.figures) {
    fmt::print("  {:<58} {:>12.2f} {}\n", figure.name, figure.value, figure.unit);
  }
  for (const Goal& goal : scenario.goals) {
    fmt::print("  goal {:<53} {:>12.3f} {} {} {:<4} {}\n", goal.what, goal.measured, sign_of(goal.sense), goal.limit,
               goal.unit, goal.met() ? "met" : "MISSED");
  }
  std::fflush(stdout);
}

std::string to_json(const std::vector<Scenario>& scenarios) {
  auto all = nlohmann::ordered_json::array();
  for (const Scenario& scenario : scenarios) {
    nlohmann::ordered_json object{{"scenario", scenario.name}, {"title", scenario.title}};
    object["stores"] = nlohmann::ordered_json::array();
    for (const Row& row : scenario.rows) object["stores"].push_back(json_of(row));
    object["figures"] = nlohmann::ordered_json::array();
    for (const Figure& figure : scenario.figures) {
      object["figures"].push_back({{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}});
    }
    object["goals"] = nlohmann::ordered_json::array();
    for (const Goal& goal : scenario.goals) {
      object["goals"].push_back({{"what", goal.what},
                                 {"measured", goal.measured},
                                 {"sense", sign_of(goal.sense)},
                                 {"limit", goal.limit},
                                 {"unit", goal.unit},
                                 {"met", goal.met()}});
    }
    all.push_back(std::move(object));
  }
  return all.dump(2) + "\n";
}

}  // namespace pawl::bench
