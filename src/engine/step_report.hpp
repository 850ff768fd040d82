// What a step reports through the file named by $PAWL_RESULT: JSON objects, one per line, keys in any mix.
//
//   output          any JSON; the last one wins
//   confidence      0 to 1
//   decision(s)     {description, rationale, confidence, alternatives}, or a list of these
//   blocker(s)      text, or a list of texts
//   evaluation      {score, ...}: an evaluation is complete
//   progress        any JSON: handed to the next attempt in $PAWL_PREVIOUS if this one does not finish
//   context_usage   0 to 1, how full an agent's context window is
//   tokens, cost_usd, api_calls    added to what the run has used
//   add_steps       a list of steps to run next
//   retry_after     seconds, or a duration such as "30s", at most a day: the next attempt starts no earlier
//   message         text for people
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "domain/run_state.hpp"
#include "text/duration.hpp"

namespace pawl {

struct StepReport {
  std::optional<Json> output;
  std::optional<double> confidence;
  std::vector<Json> decisions;
  std::vector<std::string> blockers;
  std::vector<Json> evaluations;
  std::optional<Json> progress;
  std::optional<double> context_usage;
  Usage usage;
  std::optional<Json> add_steps;
  std::vector<std::string> messages;
  std::optional<Milliseconds> retry_after;  // the last one
  std::vector<std::string> faults;          // invalid lines, with the reason; the others are used
};

/// `whole` says whether the last line is complete; it is not if its writer was killed.
enum class LastLine : std::uint8_t { finished, may_be_cut };
[[nodiscard]] StepReport parse_report(std::string_view text, LastLine last_line);

}  // namespace pawl
