// A workflow as a value: what `src/workflow` makes of YAML, and what the engine runs.
//
// Everything in it was checked: ids are unique in their scope, needs exist and have no cycle, names in
// expressions exist and are known where they are used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "language/expression.hpp"
#include "language/shell_command.hpp"
#include "language/text_template.hpp"
#include "text/duration.hpp"
#include "text/place.hpp"

namespace pawl {

/// Keys that were not given are not set: a step's settings replace the workflow's key by key.
struct RetrySettings {
  std::optional<std::uint32_t> attempts;  // in all, the first one included
  std::optional<Milliseconds> backoff;
  std::optional<Milliseconds> max_backoff;
  std::optional<double> factor;
  std::optional<bool> jitter;
  std::optional<std::vector<int>> no_retry_codes;  // exit codes
};
/// `over`'s keys where it has them, else `base`'s.
[[nodiscard]] RetrySettings merged(const RetrySettings& base, const RetrySettings& over);

enum class CaptureFormat : std::uint8_t { none, text, json, lines };

struct Capture {
  CaptureFormat format = CaptureFormat::none;
  std::string alias;  // may be empty
};

using EnvTemplates = std::vector<std::pair<std::string, TextTemplate>>;

struct Step;
/// The steps of one scope, in the order of the file.
using Steps = std::vector<Step>;

/// What a step of each kind does. Exactly one per step.
struct RunCommand {
  ShellCommand command;
  Shell shell = Shell::sh;
};
struct CallHandler {
  std::string name;
  ValueTemplate with;
};
struct Approve {
  TextTemplate prompt;
};
struct Sleep {
  TextTemplate duration;  // "10m", or an expression that gives seconds or such a text
};
struct WaitFor {
  std::string signal;
  std::optional<Milliseconds> timeout;  // absolute: counted from when the wait began, through resumes
};
struct Loop {
  std::uint32_t max = 1;
  std::optional<Expression> until;
  enum class OnMax : std::uint8_t { fail, go_on };
  OnMax on_max = OnMax::fail;
  std::shared_ptr<const Steps> steps;
};
struct CircuitBreaker {
  std::uint32_t failures = 5;      // so many items in a row, finally failed: open
  Milliseconds cool_down{30'000};  // then one item is tried; if it fails, open again
  std::uint32_t trips = 3;         // opened so often: the map fails
};
struct Map {
  std::optional<ValueTemplate> items;      // an expression that gives an array, or a list
  std::optional<TextTemplate> items_from;  // a JSON Lines file, streamed
  std::uint32_t parallel = 1;
  enum class OnItemFailure : std::uint8_t { fail, dlq };
  OnItemFailure on_item_failure = OnItemFailure::fail;
  std::optional<std::uint64_t> max_failures;  // one more stops the map; none: with dlq no limit, else 0
  std::optional<CircuitBreaker> circuit_breaker;
  std::shared_ptr<const Steps> steps;
  std::shared_ptr<const Step> reduce;  // may be null; its id is "reduce"
};
struct CallWorkflow {
  std::string file;  // as given, relative to this workflow's folder
  ValueTemplate with;
};
/// Only a place where things meet: an empty stage of type barrier.
struct Nothing {};

using Work = std::variant<Nothing, RunCommand, CallHandler, Approve, Sleep, WaitFor, Loop, Map, CallWorkflow>;

enum class Isolation : std::uint8_t { none, worktree };
enum class Breakpoint : std::uint8_t { none, before, after };

struct LowConfidence {
  double below = 0.0;
  std::shared_ptr<const Steps> then;
};

struct Step {
  std::string id;
  Place place;
  std::string name;         // for people; may be empty
  std::string description;  // may be empty
  std::string stage;        // the stage it belongs to; may be empty
  std::size_t layer = 0;    // the longest chain of needs before it, within its scope
  Work work;

  /// Indices of siblings that must be done before it. `needed` of them are explicit (`needs:`): where one
  /// of those is skipped, so is this step. The others only give the order.
  std::vector<std::size_t> after;
  std::vector<std::size_t> needed;

  std::optional<Expression> when;
  Capture capture;
  EnvTemplates env;
  std::vector<std::string> env_files;
  std::optional<TextTemplate> working_dir;
  std::optional<Milliseconds> timeout;        // per attempt
  std::optional<Milliseconds> total_timeout;  // all attempts and what is between them
  RetrySettings retry;                        // the workflow's are merged in already
  bool continue_on_error = false;             // its failure does not fail the run; dependents see `failed`
  bool risky = false;
  Breakpoint breakpoint = Breakpoint::none;
  Isolation isolation = Isolation::none;
  std::shared_ptr<const Steps> on_failure;  // may be null
  bool rescue = false;                      // its on_failure's success makes the step succeed
  std::optional<LowConfidence> confidence;
  std::string definition_hash;  // of everything above, for telling changed steps from unchanged ones
};

struct Stage {
  std::string id;
  enum class Type : std::uint8_t { sequential, parallel, barrier };
  Type type = Type::sequential;
};

struct Variable {
  std::string name;
  Json value;             // the default
  bool required = false;  // it was null: must be given
};

struct Budget {
  std::optional<double> usd;
  std::optional<std::uint64_t> tokens;
};

enum class OnStorageFailure : std::uint8_t { pause, go_on };
enum class FolderCheck : std::uint8_t { report, refuse };

struct CheckpointTriggers {
  std::optional<Milliseconds> interval;
  std::optional<std::uint32_t> keep;
  OnStorageFailure on_storage_failure = OnStorageFailure::pause;
  std::optional<std::uint64_t> memory_limit_bytes;  // resident memory above it: a checkpoint
  FolderCheck folder = FolderCheck::report;
};

struct Workflow {
  std::string name;
  std::string file;  // absolute; empty where it did not come from a file
  std::string hash;  // "sha256:..." of the text
  std::string text;  // the YAML
  std::string description;
  std::vector<Variable> vars;
  EnvTemplates env;
  std::vector<std::string> env_files;
  std::vector<std::string> secrets;  // names of environment variables whose values are masked
  std::optional<TextTemplate> working_dir;
  Shell shell = Shell::sh;  // of steps that name none; they have it already
  RetrySettings retry;      // the steps have it already
  Budget budget;
  CheckpointTriggers checkpoint;
  bool fail_fast = false;
  std::uint32_t parallel = 0;  // at most so many steps at once, over all scopes; 0: no limit of its own
  Milliseconds grace{10'000};  // between SIGTERM and SIGKILL
  std::optional<Milliseconds> timeout;
  std::vector<Stage> stages;  // in order; empty without `stages:`
  Steps steps;                // of all stages, flattened
  std::shared_ptr<const Steps> on_failure;
  std::vector<std::pair<std::string, ValueTemplate>> outputs;  // what a child answers with
};

}  // namespace pawl
