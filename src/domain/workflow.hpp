// A workflow as a value: the result of parsing YAML (`src/workflow`), and what the engine runs.
//
// Everything in it has been checked: ids are unique in their scope, dependencies exist and have no cycle, and names in
// expressions exist and are available where they are used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/step_settings.hpp"
#include "domain/usage.hpp"
#include "language/expression.hpp"
#include "language/shell_command.hpp"
#include "language/text_template.hpp"
#include "text/duration.hpp"
#include "text/place.hpp"

namespace pawl {

/// Keys that were not given are not set. The settings of a step replace those of the workflow key by key.
struct RetrySettings {
  std::optional<std::uint32_t> attempts;  // in total, including the first one
  std::optional<Milliseconds> backoff;
  std::optional<Milliseconds> max_backoff;
  std::optional<double> factor;
  std::optional<bool> jitter;
  std::optional<std::vector<int>> no_retry_codes = {};  // exit codes
  std::optional<std::vector<int>> on_codes = {};        // if set, only these exit codes are retried
  /// If set, a failed attempt is retried only if it is true. It can use `error`, `exit_code` and `attempt`.
  std::optional<Expression> when = {};
  std::vector<ComputedSetting> computed = {};
};
/// Returns the keys of `over` that are set, and those of `base` otherwise.
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

/// The action of each kind of step. A step has exactly one.
struct RunCommand {
  ShellCommand command;
  Shell shell = Shell::sh;
};
struct CallHandler {
  std::string name;
  ValueTemplate with;
};
/// What happens when a deadline passes. Only a gate can be rejected by it.
enum class OnTimeout : std::uint8_t { reject, fail, go_on };
struct Approve {
  TextTemplate prompt;
  std::optional<Milliseconds> timeout = {};  // counted from the beginning of the wait, across resumes
  OnTimeout on_timeout = OnTimeout::reject;
};
struct Sleep {
  TextTemplate duration;  // "10m", or an expression that returns seconds or such a text
};
struct WaitFor {
  std::string signal;
  std::optional<Milliseconds> timeout;  // counted from the beginning of the wait, across resumes
};
struct Loop {
  std::uint32_t max = 1;
  std::optional<Expression> until;
  enum class OnMax : std::uint8_t { fail, go_on };
  OnMax on_max = OnMax::fail;
  std::shared_ptr<const Steps> steps;
};
struct CircuitBreaker {
  std::uint32_t failures = 5;      // this many items in a row that finally failed open it
  Milliseconds cool_down{30'000};  // then one item is tried; if it fails, it opens again
  std::uint32_t trips = 3;         // the map fails when it has opened this often
};
struct Map {
  std::optional<ValueTemplate> items;      // an expression that returns an array, a list, or a matrix
  std::optional<TextTemplate> items_from;  // a JSON Lines file, streamed
  std::uint32_t parallel = 1;
  enum class OnItemFailure : std::uint8_t { fail, dlq };
  OnItemFailure on_item_failure = OnItemFailure::fail;
  std::optional<std::uint64_t> max_failures;  // one more stops the map; not set: no limit with dlq, otherwise 0
  std::optional<CircuitBreaker> circuit_breaker;
  std::shared_ptr<const Steps> steps;
  std::shared_ptr<const Step> reduce;               // may be null; its id is "reduce"
  std::optional<double> max_failures_percent = {};  // of all items
};
struct CallWorkflow {
  std::string file;  // as given, relative to the folder of this workflow
  ValueTemplate with;
};
/// No action: an empty stage of type barrier.
struct Nothing {};

using Work = std::variant<Nothing, RunCommand, CallHandler, Approve, Sleep, WaitFor, Loop, Map, CallWorkflow>;

enum class Isolation : std::uint8_t { none, worktree };
/// What happens to the changes in a worktree: they are merged into the working directory, or kept as a branch.
enum class Merge : std::uint8_t { automatic, manual };
enum class Breakpoint : std::uint8_t { none, before, after };

struct LowConfidence {
  double below = 0.0;
  std::shared_ptr<const Steps> then;
};

/// A rate and a width that the steps of all runs of a store share. At least one is set.
struct Limit {
  std::string name;
  std::optional<std::uint32_t> per_minute = {};  // attempts that start
  std::optional<std::uint32_t> parallel = {};    // attempts that run
};

/// A result that runs of a store share. A result that is older than `ttl` is not used.
struct Cache {
  TextTemplate key;
  std::optional<Milliseconds> ttl = {};
};

struct Step {
  std::string id;
  Place place;
  std::string name;         // for people; may be empty
  std::string description;  // may be empty
  std::string stage;        // the stage it belongs to; may be empty
  std::size_t layer = 0;    // length of the longest chain of dependencies before it, within its scope
  Work work;

  /// Indices of siblings that must finish before it. `needed` are those in `needs:`; if one of them is skipped, so is
  /// this step. The others only determine the order.
  std::vector<std::size_t> after;
  std::vector<std::size_t> needed;

  std::optional<Expression> when;
  Capture capture;
  EnvTemplates env;
  std::vector<std::string> env_files;
  std::optional<TextTemplate> working_dir;
  std::optional<Milliseconds> timeout;        // per attempt
  std::optional<Milliseconds> total_timeout;  // all attempts, including the delays between them
  RetrySettings retry;                        // already merged with those of the workflow
  bool continue_on_error = false;             // its failure does not fail the run; dependents see `failed`
  bool risky = false;
  Breakpoint breakpoint = Breakpoint::none;
  Isolation isolation = Isolation::none;
  Merge merge = Merge::automatic;           // of an isolated step or map
  std::shared_ptr<const Steps> on_failure;  // may be null
  bool rescue = false;                      // if on_failure succeeds, the step succeeds
  std::optional<LowConfidence> confidence;
  std::optional<Milliseconds> deadline = {};  // of a loop, map or child; the time between executions does not count
  OnTimeout on_deadline = OnTimeout::fail;
  std::vector<std::string> uses = {};  // names of shared limits, including those of the maps and workflow around it
  std::optional<Cache> cache = {};
  std::vector<ComputedSetting> computed = {};  // besides those of `retry`; see with_settings()
  std::string definition_hash;                 // of everything above
  std::string result_hash = {};                // of what its result depends on, to detect changed steps
};

/// What a record keeps of the definition of a step that settled.
[[nodiscard]] std::string definition_of(const Step& step);
/// Returns whether the step still has this definition, as far as its result depends on it. Older programs recorded the
/// hash of all of it.
[[nodiscard]] bool has_definition(const Step& step, std::string_view recorded);

struct Stage {
  std::string id;
  enum class Type : std::uint8_t { sequential, parallel, barrier };
  Type type = Type::sequential;
};

struct Variable {
  std::string name;
  Json value;             // the default
  bool required = false;  // the default is null: a value must be passed
};

enum class OnStorageFailure : std::uint8_t { pause, go_on };
enum class FolderCheck : std::uint8_t { report, refuse };

struct CheckpointTriggers {
  std::optional<Milliseconds> interval;
  std::optional<std::uint32_t> keep;
  OnStorageFailure on_storage_failure = OnStorageFailure::pause;
  std::optional<std::uint64_t> memory_limit_bytes;  // save a checkpoint when resident memory exceeds it
  FolderCheck folder = FolderCheck::report;
};

struct Workflow {
  std::string name;
  std::string file;  // absolute; empty if it did not come from a file
  std::string hash;  // "sha256:..." of the text
  std::string text;  // the YAML, followed by the templates that it uses, as comments
  std::string description;
  std::vector<Variable> vars;
  EnvTemplates env;
  std::vector<std::string> env_files;
  std::vector<std::string> secrets;  // names of environment variables whose values are masked
  std::optional<TextTemplate> working_dir;
  Shell shell = Shell::sh;  // of steps without their own; already applied to them
  RetrySettings retry;      // already applied to the steps
  Budget budget;
  CheckpointTriggers checkpoint;
  bool fail_fast = false;
  std::uint32_t parallel = 0;  // maximum number of concurrent steps over all scopes; 0: no limit
  Milliseconds grace{10'000};  // between SIGTERM and SIGKILL
  std::optional<Milliseconds> timeout;
  std::vector<Stage> stages;  // in order; empty without `stages:`
  Steps steps;                // of all stages, flattened
  std::shared_ptr<const Steps> on_failure;
  std::shared_ptr<const Steps> finally = {};  // may be null; run after success, failure and cancellation
  std::optional<ShellCommand> notify = {};    // run when the run waits, fails or finishes
  std::vector<Limit> limits = {};
  std::vector<std::string> uses = {};                          // already applied to the steps
  std::vector<std::pair<std::string, ValueTemplate>> outputs;  // the result of a child workflow
  std::vector<Remark> remarks;                                 // in the order in which they were found
};

}  // namespace pawl
