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
constexpr std::string_view kMatrix = "write map: { items: [...] } and the 'steps' for each item";

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
    {"uses", "run", "actions of GitHub can't be used: write the command with 'run'"},
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
    {"foreach", "map", "write map: { items: [...] } and the 'steps' for each item"},
    {"for_each", "map", "write map: { items: [...] } and the 'steps' for each item"},
    {"with_items", "map", kMatrix},
    {"strategy", "map", kMatrix},
    {"matrix", "map", kMatrix},
    {"timeout-minutes", "timeout", "write timeout: {}m"},
    {"timeout_seconds", "timeout", "write timeout: {}s"},
    {"execution_timeout", "timeout", "write timeout: {}s"},
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
