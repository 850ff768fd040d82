// Random workflows for the simulated engine, as plans: plain data that can be printed and shrunk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "machine/state.hpp"

namespace pawl::engine_sim {

/// How the process of a step behaves.
struct Script {
  enum class OnTerm : std::uint8_t { dies, exits_with_0, ignores };
  std::uint32_t fails = 0;      // the first executions fail
  bool breaks = false;          // all of them do
  std::uint32_t breaks_on = 0;  // executions whose input has a hash divisible by this fail; 0: none
  int exit_code = 1;
  bool hangs = false;  // until it is stopped
  std::int64_t duration_us = 1'000;
  std::uint64_t tokens = 0;
  OnTerm on_term = OnTerm::dies;
  bool doubts = false;     // reports a low confidence
  std::uint32_t adds = 0;  // steps
  bool large_output = false;
};

struct StepPlan {
  enum class What : std::uint8_t { handler, loop, map, child, gate, signal, sleep };
  enum class When : std::uint8_t { none, always, failed, even };
  What what = What::handler;
  std::string id = {};
  Script script = {};
  std::uint32_t attempts = 1;
  bool continue_on_error = false;
  bool rescue = false;
  bool quick_timeout = false;  // shorter than the time that a hanging process takes
  When when = When::none;
  std::string uses = {};  // an earlier sibling whose output is part of the input
  bool has_needs = false;
  std::vector<std::string> needs = {};
  std::vector<StepPlan> inner = {};  // of a loop or map
  std::vector<StepPlan> on_failure = {};
  std::vector<StepPlan> then = {};  // after low confidence
  std::uint32_t max = 1;            // of a loop
  bool until = false;
  bool goes_on_at_max = true;
  std::uint32_t items = 0;
  bool items_of_uses = false;  // the items are made from the output of `uses`
  bool streamed = false;
  std::uint32_t parallel = 1;
  bool dlq = false;
  std::uint32_t max_failures = 0;  // with dlq; 0: no limit
  bool reduce = false;
  bool breakpoint_before = false;
  bool breakpoint_after = false;
  bool rejects = false;   // of a gate: what people decide
  std::size_t child = 0;  // index of the plan of a child
  bool limited = false;   // uses a shared limit
  bool cached = false;
  std::uint32_t version = 0;  // a changed one is a changed definition
};

struct WorkflowPlan {
  std::vector<StepPlan> steps = {};
  std::vector<StepPlan> on_failure = {};
  std::vector<StepPlan> finally = {};
  std::uint64_t budget_tokens = 0;  // 0: none
  std::uint32_t parallel = 0;
  bool fail_fast = false;
  bool storage_goes_on = false;
};

/// The first plan is that of the run, the others those of its children.
struct Plan {
  std::vector<WorkflowPlan> workflows = {};
};

[[nodiscard]] Plan random_plan(std::mt19937_64& random);
[[nodiscard]] std::string to_text(const Plan& plan);
/// Returns plans that are a little smaller.
[[nodiscard]] std::vector<Plan> smaller_plans(const Plan& plan);

/// The workflows of a plan, and the scripts of their handlers by name.
struct Built {
  std::vector<std::shared_ptr<const Workflow>> workflows = {};
  std::map<std::string, Script, std::less<>> scripts = {};
};
[[nodiscard]] Built build(const Plan& plan);

/// Steps that a handler adds, from the JSON that it reports.
[[nodiscard]] Result<Steps> parse_added(const Json& steps, const Steps& siblings, std::size_t after);
[[nodiscard]] Json added_by(const std::string& id, std::uint32_t count);

/// What an execution with this input does, apart from `fails`.
[[nodiscard]] bool breaks_with(const Script& script, const Json& input);
[[nodiscard]] Json output_with(const Script& script, const std::string& step, const Json& input);

/// What a failed execution has printed. One that hangs is stopped.
[[nodiscard]] Json output_of_failure(const Script& script, const std::string& step, const Json& input);
inline const Json kOutputOfStopped = {{"n", 1000}};

inline constexpr const char* kSignal = "go";

}  // namespace pawl::engine_sim
