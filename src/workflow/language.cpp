#include "workflow/language.hpp"

#include <array>

namespace pawl {
namespace {

constexpr std::string_view kText = R"({"type":"string"})";
constexpr std::string_view kTexts = R"({"type":"array","items":{"type":"string"}})";
constexpr std::string_view kTextOrTexts = R"({"type":["string","array"],"items":{"type":"string"}})";
constexpr std::string_view kBoolean = R"({"type":"boolean"})";
constexpr std::string_view kPositive = R"({"type":"integer","minimum":1})";
constexpr std::string_view kWhole = R"({"type":"integer","minimum":0})";
constexpr std::string_view kNumber = R"({"type":"number","minimum":0})";
constexpr std::string_view kId = R"({"type":"string","pattern":"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"})";
constexpr std::string_view kDuration =
    R"({"type":"string","pattern":"^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$","examples":["200ms","30s","1h30m"]})";
// Settings of steps, which can be expressions.
constexpr std::string_view kDurationSetting =
    R"({"type":"string","pattern":"^((?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?|.*\\$\\{.*)$","examples":["200ms","30s","1h30m"]})";
constexpr std::string_view kPositiveSetting = R"({"type":["integer","string"],"minimum":1,"pattern":"\\$\\{"})";
constexpr std::string_view kExitCodes = R"({"type":"array","items":{"type":"integer","minimum":0,"maximum":255}})";
constexpr std::string_view kEnv =
    R"({"type":"object","propertyNames":{"pattern":"^[A-Za-z_][A-Za-z0-9_]*$"},"additionalProperties":{"type":["string","number","boolean"]}})";
constexpr std::string_view kValues = R"({"type":"object"})";
constexpr std::string_view kExpression = R"({"type":["string","boolean","number"]})";
constexpr std::string_view kShell = R"({"enum":["sh","bash"]})";
constexpr std::string_view kSteps = R"({"type":"array","minItems":1,"items":{"$ref":"#/$defs/step"}})";

constexpr std::array kWorkflowKeys = std::to_array<LanguageKey>({
    {"name", kText, "Name of the workflow, used in run ids (default: the file name)"},
    {"description", kText, "What it is for"},
    {"vars", kValues, "Variables with their defaults; null: must be passed with --var"},
    {"env", kEnv, "Environment variables of every step"},
    {"env_file", kTextOrTexts, "Files of NAME=VALUE lines with environment variables of every step"},
    {"secrets", kTexts, "Names of environment variables whose values are masked everywhere"},
    {"working_dir", kText, "Working directory of steps (default: the folder of this file)"},
    {"shell", kShell, "Default shell of steps: sh -e, or bash -eo pipefail"},
    {"retry", R"({"$ref":"#/$defs/retry"})", "How failed steps are retried; keys of a step override these"},
    {"budget", R"({"$ref":"#/$defs/budget"})", "Limits; the run pauses before the next step when one is reached"},
    {"checkpoint", R"({"$ref":"#/$defs/checkpoint"})", "When checkpoints are saved and how many are kept"},
    {"fail_fast", kBoolean, "A failed step stops the steps that run at the same time"},
    {"parallel", kPositive, "Maximum number of steps that run at the same time"},
    {"grace", kDuration, "Time between SIGTERM and SIGKILL when a step is stopped"},
    {"timeout", kDuration, "Maximum duration of the run"},
    {"steps", kSteps, "The steps, run in this order unless they have 'needs'"},
    {"stages", R"({"type":"array","minItems":1,"items":{"$ref":"#/$defs/stage"}})",
     "Groups of steps that run one after another, instead of 'steps'"},
    {"limits",
     R"({"type":"object","minProperties":1,"propertyNames":{"pattern":"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"},"additionalProperties":{"$ref":"#/$defs/limit"}})",
     "Rates and widths that all runs of a store share, by name"},
    {"uses", kTextOrTexts, "Names of limits that apply to all steps"},
    {"on_failure", kSteps, "Steps to run when the run has failed"},
    {"finally", kSteps, "Steps to run before the run ends: after success, failure and cancellation"},
    {"notify", kText, "Command to run when the run waits, fails or finishes"},
    {"outputs", kValues, "Results of this workflow when another workflow runs it"},
});

constexpr std::array kStepKeys = std::to_array<LanguageKey>({
    {"id", kId, "Name in expressions, logs and 'needs' (default: step-N)"},
    {"name", kText, "Title for people"},
    {"description", kText, "What it is for"},
    {"run", kText, "Shell command"},
    {"handler", kText, "Name of a function that the program has registered"},
    {"approve", kText, "Question that a person must approve"},
    {"sleep", kText, "Duration, or an expression that returns one"},
    {"wait_for", R"({"anyOf":[{"type":"string"},{"$ref":"#/$defs/wait_for"}]})", "Signal to wait for"},
    {"loop", R"({"$ref":"#/$defs/loop"})", "Repeats 'steps'"},
    {"map", R"({"$ref":"#/$defs/map"})", "Runs 'steps' for each item"},
    {"workflow", kText, "Workflow file to run as a child"},
    {"use", R"({"type":"string","pattern":"#","examples":["./steps.yaml#lint"]})",
     "Template with the keys of this step: FILE#NAME"},
    {"with", kValues, "Input of a handler, child workflow or template"},
    {"steps", kSteps, "The steps of a loop or map"},
    {"reduce", R"({"$ref":"#/$defs/step"})", "Step after a map, with all results in $PAWL_ITEMS"},
    {"needs", kTextOrTexts, "Ids of steps that must finish first; []: none (default: the step above)"},
    {"when", kExpression, "Condition; if false, the step is skipped"},
    {"capture", R"({"anyOf":[{"type":"string"},{"$ref":"#/$defs/capture"}]})", "Keeps the output of the command"},
    {"env", kEnv, "Environment variables of this step"},
    {"env_file", kTextOrTexts, "Files of NAME=VALUE lines with environment variables of this step"},
    {"working_dir", kText, "Working directory"},
    {"shell", kShell, "sh -e, or bash -eo pipefail"},
    {"timeout", kDurationSetting, "Maximum duration of one attempt, or of a whole gate, loop, map or child"},
    {"on_timeout", R"({"enum":["reject","fail","continue"]})",
     "What happens after the timeout of a gate (default: reject), or of a loop, map or child (default: fail)"},
    {"total_timeout", kDurationSetting, "Maximum duration of all attempts, including delays"},
    {"retry", R"({"$ref":"#/$defs/retry"})", "How the step is retried"},
    {"uses", kTextOrTexts, "Names of limits that apply to this step, or to the steps inside"},
    {"cache", R"({"$ref":"#/$defs/cache"})", "Reuses the result of an earlier run"},
    {"continue_on_error", kBoolean, "A failure of this step does not fail the run"},
    {"risky", kBoolean, "Marks the checkpoint before the step"},
    {"break", R"({"enum":["before","after"]})", "Pauses the run before or after the step"},
    {"isolate", R"({"enum":["worktree"]})", "Runs each item or attempt in its own git worktree"},
    {"merge", R"({"enum":["auto","manual"]})",
     "What happens to the changes of a worktree: merged, or kept as a branch (default: auto)"},
    {"on_failure", kSteps, "Steps to run after the last attempt has failed"},
    {"rescue", kBoolean, "The step succeeds if 'on_failure' succeeds"},
    {"confidence", R"({"$ref":"#/$defs/confidence"})", "Steps to run when the confidence of the step is low"},
});

constexpr std::array kStageKeys = std::to_array<LanguageKey>({
    {"id", kId, "Name"},
    {"name", kText, "Name, if there is no id"},
    {"type", R"({"enum":["sequential","parallel","barrier"]})", "How its steps run (default: sequential)"},
    {"steps", R"({"type":"array","items":{"$ref":"#/$defs/step"}})", "Its steps; a barrier may have none"},
});

constexpr std::array kRetryKeys = std::to_array<LanguageKey>({
    {"attempts", kPositiveSetting, "Maximum number of attempts, including the first one"},
    {"backoff", kDurationSetting, "Delay before the second attempt"},
    {"max_backoff", kDurationSetting, "Maximum delay"},
    {"factor", R"({"type":["number","string"],"minimum":1,"pattern":"\\$\\{"})", "Factor by which the delay grows"},
    {"jitter", kBoolean, "Randomize the delay"},
    {"no_retry_codes", kExitCodes, "Exit codes that are not retried"},
    {"on_codes", kExitCodes, "Exit codes that are retried; others are not"},
    {"when", kExpression, "Condition; a failed attempt is retried only if it is true"},
});

constexpr std::array kBudgetKeys = std::to_array<LanguageKey>({
    {"usd", kNumber, "Maximum cost in US dollars"},
    {"tokens", kWhole, "Maximum number of tokens"},
});

constexpr std::array kCheckpointKeys = std::to_array<LanguageKey>({
    {"interval", kDuration, "Maximum time between checkpoints"},
    {"keep", kPositive, "Number of checkpoints to keep"},
    {"on_storage_failure", R"({"enum":["pause","continue"]})", "What to do when checkpoints can't be written"},
    {"memory_limit", R"({"type":"string","pattern":"^[0-9]+ ?([KMGT]i?)?B$","examples":["512MB"]})",
     "Save a checkpoint when the process uses more memory"},
    {"folder", R"({"enum":["report","refuse"]})", "What to do if the working directory changed between executions"},
});

constexpr std::array kLoopKeys = std::to_array<LanguageKey>({
    {"max", kPositiveSetting, "Maximum number of iterations"},
    {"until", kExpression, "Condition, checked after each iteration; if true, the loop ends"},
    {"on_max", R"({"enum":["fail","continue"]})", "What to do when 'max' is reached and 'until' is false"},
});

constexpr std::array kMapKeys = std::to_array<LanguageKey>({
    {"items", R"({"type":["array","string"]})", "List, or an expression that returns one"},
    {"items_from", kText, "JSON Lines file, read line by line"},
    {"matrix", R"({"type":"object","minProperties":1,"additionalProperties":{"type":["array","string"]}})",
     "Lists whose combinations are the items; the last one changes fastest"},
    {"parallel", kPositiveSetting, "Maximum number of items that run at the same time"},
    {"on_item_failure", R"({"enum":["fail","dlq"]})", "dlq: the map continues and failed items can be retried later"},
    {"max_failures", R"({"type":["integer","string"],"minimum":0,"pattern":"%$|\\$\\{"})",
     "Maximum number of failed items, or a percentage such as 10%"},
    {"circuit_breaker", R"({"$ref":"#/$defs/circuit_breaker"})", "Pauses when several items in a row fail"},
});

constexpr std::array kCircuitBreakerKeys = std::to_array<LanguageKey>({
    {"failures", kPositiveSetting, "Number of failed items in a row that open it"},
    {"cool_down", kDurationSetting, "Time without new items, before one item is tried"},
    {"trips", kPositiveSetting, "The map fails when it has opened this often"},
});

constexpr std::array kWaitForKeys = std::to_array<LanguageKey>({
    {"signal", kText, "Name"},
    {"timeout", kDurationSetting, "Maximum wait, counted across resumes"},
});

constexpr std::array kCaptureKeys = std::to_array<LanguageKey>({
    {"as", R"({"type":"string","pattern":"^[A-Za-z_][A-Za-z0-9_]{0,63}$"})", "Short name for steps.ID.output"},
    {"format", R"({"enum":["text","json","lines"]})", "Format of the output"},
});

constexpr std::array kConfidenceKeys = std::to_array<LanguageKey>({
    {"below", R"({"type":["number","string"],"minimum":0,"maximum":1,"pattern":"\\$\\{"})",
     "Threshold of the confidence"},
    {"then", kSteps, "Steps to run below the threshold"},
});

constexpr std::array kLimitKeys = std::to_array<LanguageKey>({
    {"per_minute", kPositive, "Maximum number of attempts that start in a minute"},
    {"parallel", kPositive, "Maximum number of attempts that run at the same time"},
});

constexpr std::array kCacheKeys = std::to_array<LanguageKey>({
    {"key", kText, "Everything that the result depends on"},
    {"ttl", kDurationSetting, "Maximum age of a result (default: no limit)"},
});

constexpr std::array<std::string_view, 8> kKindKeys = {"run",      "handler", "approve", "sleep",
                                                       "wait_for", "loop",    "map",     "workflow"};

}  // namespace

namespace language {
const LanguageObject kWorkflow{
    "workflow", "A workflow", kWorkflowKeys,
    R"({"patternProperties":{"^x-":{}},"oneOf":[{"required":["steps"]},{"required":["stages"]}]})"};
const LanguageObject kStep{
    "step", "One step: exactly one of run, handler, approve, sleep, wait_for, loop, map, workflow", kStepKeys,
    R"({"anyOf":[{"required":["use"]},{"oneOf":[{"required":["run"]},{"required":["handler"]},{"required":["approve"]},)"
    R"({"required":["sleep"]},{"required":["wait_for"]},{"required":["loop","steps"]},{"required":["map","steps"]},)"
    R"({"required":["workflow"]}]}]})"};
const LanguageObject kStage{"stage", "Group of steps; starts when the previous stage has finished", kStageKeys,
                            R"({"anyOf":[{"required":["id"]},{"required":["name"]}]})"};
const LanguageObject kRetry{"retry", "How failed attempts are retried", kRetryKeys, "{}"};
const LanguageObject kBudget{"budget", "Limits of a run", kBudgetKeys, "{}"};
const LanguageObject kCheckpoint{"checkpoint", "Checkpoints of a run", kCheckpointKeys, "{}"};
const LanguageObject kLoop{"loop", "A loop", kLoopKeys, R"({"required":["max"]})"};
const LanguageObject kMap{"map", "The items of a map and how they are processed", kMapKeys,
                          R"({"oneOf":[{"required":["items"]},{"required":["items_from"]},{"required":["matrix"]}]})"};
const LanguageObject kCircuitBreaker{"circuit_breaker", "Pauses a map when many items fail", kCircuitBreakerKeys, "{}"};
const LanguageObject kWaitFor{"wait_for", "A signal", kWaitForKeys, R"({"required":["signal"]})"};
const LanguageObject kCapture{"capture", "What to do with the output of a command", kCaptureKeys, "{}"};
const LanguageObject kConfidence{"confidence", "What to do when the confidence of a step is low", kConfidenceKeys,
                                 R"({"required":["below","then"]})"};
const LanguageObject kLimit{"limit", "A rate and a width; at least one of them", kLimitKeys, R"({"minProperties":1})"};
const LanguageObject kCache{"cache", "Results that runs of a store share", kCacheKeys, R"({"required":["key"]})"};
}  // namespace language

std::span<const LanguageObject* const> language_objects() {
  using namespace language;
  static constexpr std::array<const LanguageObject*, 14> kObjects = {
      &kWorkflow, &kStep,           &kStage,   &kRetry,   &kBudget,     &kCheckpoint, &kLoop,
      &kMap,      &kCircuitBreaker, &kWaitFor, &kCapture, &kConfidence, &kLimit,      &kCache};
  return kObjects;
}

std::vector<std::string> key_names(const LanguageObject& object) {
  std::vector<std::string> names;
  for (const LanguageKey& key : object.keys) names.emplace_back(key.name);
  return names;
}

std::span<const std::string_view> kind_keys() { return kKindKeys; }

}  // namespace pawl
