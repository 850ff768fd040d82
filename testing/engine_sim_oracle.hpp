// A naive interpreter of workflows: recursive, sequential, without faults. Tells what a run must come to.
#pragma once

#include "testing/engine_sim_plan.hpp"

namespace pawl::engine_sim {

struct Expected {
  bool failed = false;
  Json outputs = Json::object();
};
/// `rejecting` are the gates that people reject.
[[nodiscard]] Expected interpret(const Built& built, const std::set<std::string>& rejecting, std::size_t workflow,
                                 const Json& vars);

[[nodiscard]] std::set<std::string> rejecting_gates(const Plan& plan);
/// The items of a streamed map, from the text that stands for its file.
[[nodiscard]] Json items_of_file(const std::string& file);

}  // namespace pawl::engine_sim
