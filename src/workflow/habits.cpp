#include "workflow/habits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pawl {
namespace {

/// `hint` is empty if the key only has another name here. `{}` in it stands for the value.
struct Habit {
  std::string_view key;
  std::string_view ours;
  std::string_view hint = {};
};

constexpr std::string_view kStartedFromOutside = "remove it: a workflow is started from outside, for example by cron";
constexpr std::string_view kNoContainers = "write the command with 'run', for example run: docker run IMAGE COMMAND";
constexpr std::string_view kItems = "write map: { items: [...] } and the 'steps' for each item";
constexpr std::string_view kMatrix = "write map: { matrix: { ... } } and the 'steps' for each combination";
constexpr std::string_view kRate = "write per_minute: 60";

constexpr auto kKeyHabits = std::to_array<Habit>({
    {"if", "when"},
    {"condition", "when"},
    {"only_if", "when"},
    {"trigger_rule", "when", "write a condition: when: failed() or when: always()"},
    {"depends_on", "needs"},
    {"dependsOn", "needs"},
    {"depends", "needs"},
    {"after", "needs"},
    {"upstream", "needs"},
    {"command", "run"},
    {"commands", "run"},
    {"cmd", "run"},
    {"script", "run"},
    {"bash", "run"},
    {"bash_command", "run"},
    {"entrypoint", "run"},
    {"exec", "run"},
    {"image", "run", kNoContainers},
    {"container", "run", kNoContainers},
    {"python_callable", "handler"},
    {"task_id", "id"},
    {"key", "id"},
    {"dag_id", "name"},
    {"environment", "env"},
    {"env_vars", "env"},
    {"cwd", "working_dir"},
    {"dir", "working_dir"},
    {"workdir", "working_dir"},
    {"working-directory", "working_dir"},
    {"variables", "vars"},
    {"inputs", "vars"},
    {"params", "vars"},
    {"parameters", "vars"},
    {"tasks", "steps"},
    {"jobs", "stages", "write 'stages' as a list: stages: [{ id: build, steps: [...] }]"},
    {"services", "steps", "a workflow has steps, each with a command: steps: [{ run: ./script.sh }]"},
    {"retries", "retry", "write retry: { attempts: {} }"},
    {"max_attempts", "attempts"},
    {"retry_delay", "retry", "write retry: { backoff: 5s }"},
    {"restart", "retry", "write retry: { attempts: 3 }"},
    {"foreach", "map", kItems},
    {"for_each", "map", kItems},
    {"with_items", "map", kItems},
    {"strategy", "map", kMatrix},
    {"matrix", "map", kMatrix},
    {"timeout-minutes", "timeout", "write timeout: {}m"},
    {"timeout_seconds", "timeout", "write timeout: {}s"},
    {"execution_timeout", "timeout", "write timeout: {}s"},
    {"rate", "per_minute", kRate},
    {"rate_limit", "per_minute", kRate},
    {"per_second", "per_minute", "write per_minute: 60 for one per second"},
    {"per_hour", "per_minute", "write the rate per minute: per_minute: 1"},
    {"requests_per_minute", "per_minute", kRate},
    {"rpm", "per_minute", kRate},
    {"max_concurrent", "parallel"},
    {"max_concurrency", "parallel"},
    {"throttle", "limits", "write limits: { name: { per_minute: 60 } }, and uses: [name] on the steps"},
    {"rate_limits", "limits"},
    {"pool", "uses", "write uses: [NAME] with a limit of the workflow's 'limits'"},
    {"limit", "uses", "write uses: [NAME] with a limit of the workflow's 'limits'"},
    {"template", "use", "write use: ./steps.yaml#NAME"},
    {"extends", "use", "write use: ./steps.yaml#NAME"},
    {"include", "use", "write use: ./steps.yaml#NAME"},
    {"deadline", "timeout"},
    {"timeout_action", "on_timeout"},
    {"on_deadline", "on_timeout"},
    {"cache_key", "cache", "write cache: { key: ... }"},
    {"expires", "ttl"},
    {"max_age", "ttl"},
    {"ensure", "finally"},
    {"on_exit", "finally"},
    {"post", "finally"},
    {"on_success", "finally", "write 'finally', which runs in any case, or a last step"},
    {"on_complete", "finally"},
    {"always", "finally"},
    {"notifications", "notify", "write notify: ./tell.sh"},
    {"webhook", "notify", "write a command: notify: curl -d @- https://..."},
    {"retry_on", "on_codes", "write on_codes: [75]"},
    {"retry_codes", "on_codes"},
    {"exit_codes", "on_codes"},
    {"retry_if", "when"},
    {"while", "loop"},
    {"repeat", "loop"},
    {"max_iterations", "max"},
    {"output", "capture", "write capture: { format: text }"},
    {"register", "capture"},
    {"on_error", "on_failure"},
    {"on_failure_callback", "on_failure"},
    {"ignore_errors", "continue_on_error"},
    {"allow_failure", "continue_on_error"},
    {"continue-on-error", "continue_on_error"},
    {"max_parallel", "parallel"},
    {"max-parallel", "parallel"},
    {"concurrency", "parallel"},
    {"on", {}, kStartedFromOutside},
    {"schedule", {}, kStartedFromOutside},
    {"schedule_interval", {}, kStartedFromOutside},
    {"cron", {}, kStartedFromOutside},
    {"triggers", {}, kStartedFromOutside},
    {"runs-on", {}, "remove it: steps run on this machine"},
    {"version", {}, "remove it: the file has no version"},
    {"default_args", {}, "write these keys directly: retry, env, timeout"},
    {"defaults", {}, "write these keys directly: shell, working_dir, env"},
    {"permissions", {}, "remove it: steps run with the rights of who starts the workflow"},
    {"volumes", {}, "remove it: steps see the files of this machine"},
    {"ports", {}, "remove it: steps use the network of this machine"},
});

constexpr std::string_view kPlaceOfValue = "{}";

}  // namespace

KeyHabit key_habit(std::string_view key, std::string_view value) {
  const auto found = std::ranges::find(kKeyHabits, key, &Habit::key);
  if (found == kKeyHabits.end()) return {};
  if (found->hint.empty()) return {found->ours, fmt::format("write '{}' instead of '{}'", found->ours, key)};
  std::string hint(found->hint);
  const std::size_t place = hint.find(kPlaceOfValue);
  if (place == std::string::npos) return {found->ours, std::move(hint)};
  const bool number =
      !value.empty() && value.size() < 10 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  hint.replace(place, kPlaceOfValue.size(), number ? value : "5");
  return {found->ours, std::move(hint)};
}

}  // namespace pawl
