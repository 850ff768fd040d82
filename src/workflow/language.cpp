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
constexpr std::string_view kEnv =
    R"({"type":"object","propertyNames":{"pattern":"^[A-Za-z_][A-Za-z0-9_]*$"},"additionalProperties":{"type":["string","number","boolean"]}})";
constexpr std::string_view kValues = R"({"type":"object"})";
constexpr std::string_view kExpression = R"({"type":["string","boolean","number"]})";
constexpr std::string_view kShell = R"({"enum":["sh","bash"]})";
constexpr std::string_view kSteps = R"({"type":"array","minItems":1,"items":{"$ref":"#/$defs/step"}})";

constexpr std::array kWorkflowKeys = std::to_array<LanguageKey>({
    {"name", kText, "What runs are named after; without it the file's name"},
    {"description", kText, "What it is for"},
    {"vars", kValues, "Variables with their defaults; null: must be given with --var"},
    {"env", kEnv, "Environment of every step"},
    {"env_file", kTextOrTexts, "Files with NAME=VALUE lines, for the environment of every step"},
    {"secrets", kTexts, "Names of environment variables whose values are masked everywhere"},
    {"working_dir", kText, "Where steps run; without it the folder of this file"},
    {"shell", kShell, "The shell of steps that name none: sh -e, or bash -eo pipefail"},
    {"retry", R"({"$ref":"#/$defs/retry"})", "How failed steps are tried again; a step's keys replace these"},
    {"budget", R"({"$ref":"#/$defs/budget"})", "Reached: the run pauses before the next step"},
    {"checkpoint", R"({"$ref":"#/$defs/checkpoint"})", "When checkpoints are made and how many are kept"},
    {"fail_fast", kBoolean, "A failed step ends those that run beside it"},
    {"parallel", kPositive, "At most so many steps at once"},
    {"grace", kDuration, "Between asking a step to end and ending it"},
    {"timeout", kDuration, "For the whole run"},
    {"steps", kSteps, "What is done, in this order unless 'needs' says otherwise"},
    {"stages", R"({"type":"array","minItems":1,"items":{"$ref":"#/$defs/stage"}})",
     "Instead of 'steps': groups of steps, one after the other"},
    {"on_failure", kSteps, "Done when the run has failed"},
    {"outputs", kValues, "What this workflow answers as a child"},
});

constexpr std::array kStepKeys = std::to_array<LanguageKey>({
    {"id", kId, "Its name in expressions, logs and 'needs'; without it 'step-N'"},
    {"name", kText, "Its title for people"},
    {"description", kText, "What it is for"},
    {"run", kText, "A command for the shell"},
    {"handler", kText, "The name of a function that the program registered"},
    {"approve", kText, "A question to a person"},
    {"sleep", kText, "A duration, or an expression that gives one"},
    {"wait_for", R"({"anyOf":[{"type":"string"},{"$ref":"#/$defs/wait_for"}]})", "A signal from outside"},
    {"loop", R"({"$ref":"#/$defs/loop"})", "Repeats 'steps'"},
    {"map", R"({"$ref":"#/$defs/map"})", "Does 'steps' for each item"},
    {"workflow", kText, "Another workflow file, run as a child"},
    {"with", kValues, "What a handler or child workflow is given"},
    {"steps", kSteps, "The steps of a loop or map"},
    {"reduce", R"({"$ref":"#/$defs/step"})", "After a map: one step that sees all results in $PAWL_ITEMS"},
    {"needs", kTextOrTexts, "Ids of steps that must be done before; []: none; without it: the step above"},
    {"when", kExpression, "A condition; false: the step is skipped"},
    {"capture", R"({"anyOf":[{"type":"string"},{"$ref":"#/$defs/capture"}]})", "Keeps what the command prints"},
    {"env", kEnv, "Environment of this step"},
    {"env_file", kTextOrTexts, "Files with NAME=VALUE lines, for its environment"},
    {"working_dir", kText, "Where it runs"},
    {"shell", kShell, "sh -e, or bash -eo pipefail"},
    {"timeout", kDuration, "For one attempt"},
    {"total_timeout", kDuration, "For all attempts and what is between them"},
    {"retry", R"({"$ref":"#/$defs/retry"})", "How it is tried again"},
    {"continue_on_error", kBoolean, "Its failure does not fail the run"},
    {"risky", kBoolean, "Marks the checkpoint before it"},
    {"break", R"({"enum":["before","after"]})", "The run pauses here"},
    {"isolate", R"({"enum":["worktree"]})", "Each item or attempt in its own git worktree"},
    {"on_failure", kSteps, "Done after its last attempt has failed"},
    {"rescue", kBoolean, "Where 'on_failure' succeeds, so has the step"},
    {"confidence", R"({"$ref":"#/$defs/confidence"})", "What is done when the step is not sure"},
});

constexpr std::array kStageKeys = std::to_array<LanguageKey>({
    {"id", kId, "Its name"},
    {"name", kText, "Its name, where there is no id"},
    {"type", R"({"enum":["sequential","parallel","barrier"]})", "How its steps run: without it one after the other"},
    {"steps", R"({"type":"array","items":{"$ref":"#/$defs/step"}})", "Its steps; a barrier may have none"},
});

constexpr std::array kRetryKeys = std::to_array<LanguageKey>({
    {"attempts", kPositive, "In all, the first one included"},
    {"backoff", kDuration, "Before the second attempt"},
    {"max_backoff", kDuration, "At most so long"},
    {"factor", R"({"type":"number","minimum":1})", "By which the backoff grows"},
    {"jitter", kBoolean, "Vary the backoff"},
    {"no_retry_codes", R"({"type":"array","items":{"type":"integer","minimum":0,"maximum":255}})",
     "Exit codes after which there is no other attempt"},
});

constexpr std::array kBudgetKeys = std::to_array<LanguageKey>({
    {"usd", kNumber, "Dollars"},
    {"tokens", kWhole, "Tokens"},
});

constexpr std::array kCheckpointKeys = std::to_array<LanguageKey>({
    {"interval", kDuration, "A checkpoint at least so often"},
    {"keep", kPositive, "So many are kept"},
    {"on_storage_failure", R"({"enum":["pause","continue"]})", "What to do when checkpoints can't be written"},
    {"memory_limit", R"({"type":"string","pattern":"^[0-9]+ ?([KMGT]i?)?B$","examples":["512MB"]})",
     "A checkpoint when the process uses more memory"},
    {"folder", R"({"enum":["report","refuse"]})", "A working folder that changed between executions"},
});

constexpr std::array kLoopKeys = std::to_array<LanguageKey>({
    {"max", kPositive, "At most so many iterations"},
    {"until", kExpression, "Checked after each iteration; true: the loop ends"},
    {"on_max", R"({"enum":["fail","continue"]})", "When 'max' is reached and 'until' is not true"},
});

constexpr std::array kMapKeys = std::to_array<LanguageKey>({
    {"items", R"({"type":["array","string"]})", "A list, or an expression that gives one"},
    {"items_from", kText, "A JSON Lines file, streamed"},
    {"parallel", kPositive, "So many items at once"},
    {"on_item_failure", R"({"enum":["fail","dlq"]})", "dlq: failed items are kept aside and the map goes on"},
    {"max_failures", kWhole, "One more failed item stops the map"},
    {"circuit_breaker", R"({"$ref":"#/$defs/circuit_breaker"})", "Pause when items fail in a row"},
});

constexpr std::array kCircuitBreakerKeys = std::to_array<LanguageKey>({
    {"failures", kPositive, "So many items in a row"},
    {"cool_down", kDuration, "So long nothing is started; then one item is tried"},
    {"trips", kPositive, "Opened so often: the map fails"},
});

constexpr std::array kWaitForKeys = std::to_array<LanguageKey>({
    {"signal", kText, "Its name"},
    {"timeout", kDuration, "Counted from when the wait began, through resumes"},
});

constexpr std::array kCaptureKeys = std::to_array<LanguageKey>({
    {"as", R"({"type":"string","pattern":"^[A-Za-z_][A-Za-z0-9_]{0,63}$"})", "A short name for steps.ID.output"},
    {"format", R"({"enum":["text","json","lines"]})", "What the command prints"},
});

constexpr std::array kConfidenceKeys = std::to_array<LanguageKey>({
    {"below", R"({"type":"number","minimum":0,"maximum":1})", "Less than this is not sure"},
    {"then", kSteps, "What is done then"},
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
    R"({"oneOf":[{"required":["run"]},{"required":["handler"]},{"required":["approve"]},{"required":["sleep"]},)"
    R"({"required":["wait_for"]},{"required":["loop","steps"]},{"required":["map","steps"]},{"required":["workflow"]}]})"};
const LanguageObject kStage{"stage", "A group of steps; it begins when the one before is done", kStageKeys,
                            R"({"anyOf":[{"required":["id"]},{"required":["name"]}]})"};
const LanguageObject kRetry{"retry", "How failed attempts are repeated", kRetryKeys, "{}"};
const LanguageObject kBudget{"budget", "What a run may use", kBudgetKeys, "{}"};
const LanguageObject kCheckpoint{"checkpoint", "Checkpoints of a run", kCheckpointKeys, "{}"};
const LanguageObject kLoop{"loop", "A loop", kLoopKeys, R"({"required":["max"]})"};
const LanguageObject kMap{"map", "The items of a map and how they are worked on", kMapKeys,
                          R"({"oneOf":[{"required":["items"]},{"required":["items_from"]}]})"};
const LanguageObject kCircuitBreaker{"circuit_breaker", "Stops starting items for a while", kCircuitBreakerKeys, "{}"};
const LanguageObject kWaitFor{"wait_for", "A signal", kWaitForKeys, R"({"required":["signal"]})"};
const LanguageObject kCapture{"capture", "What becomes of a command's output", kCaptureKeys, "{}"};
const LanguageObject kConfidence{"confidence", "When a step is not sure of its result", kConfidenceKeys,
                                 R"({"required":["below","then"]})"};
}  // namespace language

std::span<const LanguageObject* const> language_objects() {
  using namespace language;
  static constexpr std::array<const LanguageObject*, 12> kObjects = {
      &kWorkflow, &kStep, &kStage,          &kRetry,   &kBudget,  &kCheckpoint,
      &kLoop,     &kMap,  &kCircuitBreaker, &kWaitFor, &kCapture, &kConfidence};
  return kObjects;
}

std::vector<std::string> key_names(const LanguageObject& object) {
  std::vector<std::string> names;
  for (const LanguageKey& key : object.keys) names.emplace_back(key.name);
  return names;
}

std::span<const std::string_view> kind_keys() { return kKindKeys; }

}  // namespace pawl
