// The settings of a step besides its action: environment, timeouts, retries, and what follows it.
#include "workflow/steps_parser.hpp"

#include <algorithm>
#include <array>

namespace pawl {

void StepsParser::settings(Step& step, const Fields& fields, const View& view) {
  if (const YamlNode* node = fields.find("name")) step.name = reader_.text(*node, "name").value_or("");
  if (const YamlNode* node = fields.find("description"))
    step.description = reader_.text(*node, "description").value_or("");
  if (const YamlNode* node = fields.find("when")) step.when = reader_.expression(*node, "when", view);
  if (const YamlNode* node = fields.find("env")) step.env = reader_.env(*node, view);
  if (const YamlNode* node = fields.find("env_file")) {
    for (auto& [file, place] : reader_.texts(*node, "env_file")) step.env_files.push_back(std::move(file));
  }
  if (const YamlNode* node = fields.find("working_dir")) {
    step.working_dir = reader_.text_template(*node, "working_dir", view, TextTemplate::Unknown::refuse);
  }
  timeouts(step, fields, view);
  if (const YamlNode* node = fields.find("retry")) step.retry = merged(inherited_.retry, retry(*node, view));
  if (const YamlNode* node = fields.find("cache")) cache(step, *node, view);
  const bool attempts = std::holds_alternative<RunCommand>(step.work) || std::holds_alternative<CallHandler>(step.work);
  if (attempts) step.uses = uses(fields.find("uses"), view);
  if (const YamlNode* node = fields.find("continue_on_error")) {
    step.continue_on_error = reader_.boolean(*node, "continue_on_error").value_or(false);
  }
  if (const YamlNode* node = fields.find("risky")) step.risky = reader_.boolean(*node, "risky").value_or(false);
  if (const YamlNode* node = fields.find("break")) {
    const auto word = reader_.word(*node, "break", {"before", "after"});
    if (word) step.breakpoint = *word == 0 ? Breakpoint::before : Breakpoint::after;
  }
  if (const YamlNode* node = fields.find("isolate")) {
    if (reader_.word(*node, "isolate", {"worktree"})) step.isolation = Isolation::worktree;
  }
  if (const YamlNode* node = fields.find("merge")) {
    if (reader_.word(*node, "merge", {"auto", "manual"}) == 1) step.merge = Merge::manual;
  }
}

void StepsParser::consequences(Step& step, const Fields& fields, const View& view) {
  const View behind = view.with_own().in_list();
  if (const YamlNode* node = fields.find("on_failure")) step.on_failure = parse(*node, "on_failure", behind).steps;
  if (const YamlNode* node = fields.find("rescue")) step.rescue = reader_.boolean(*node, "rescue").value_or(false);
  const YamlNode* node = fields.find("confidence");
  if (node == nullptr) return;
  const Fields settings(*node, language::kConfidence, "'confidence'", reader_.faults());
  if (!settings.is_map()) return;
  LowConfidence confidence;
  if (const YamlNode* below = settings.find("below")) {
    confidence.below = reader_.number_setting(below, Setting::confidence_below, behind, step.computed).value_or(0);
  } else {
    reader_.faults().add(node->place, "'confidence' requires 'below'",
                         "write confidence: { below: 0.75, then: [...] }");
  }
  if (const YamlNode* then = settings.find("then")) {
    confidence.then = parse(*then, "then", behind).steps;
  } else {
    reader_.faults().add(node->place, "'confidence' requires 'then'", "write confidence: { below: 0.75, then: [...] }");
  }
  step.confidence = std::move(confidence);
}

void StepsParser::timeouts(Step& step, const Fields& fields, const View& view) const {
  const YamlNode* timeout = fields.find("timeout");
  const YamlNode* on_timeout = fields.find("on_timeout");
  if (auto* gate = std::get_if<Approve>(&step.work)) {
    reader_.duration_setting(timeout, Setting::gate_timeout, view, step.computed, gate->timeout);
    if (on_timeout == nullptr) return;
    static constexpr std::array kWays = {OnTimeout::reject, OnTimeout::fail, OnTimeout::go_on};
    if (const auto word = reader_.word(*on_timeout, "on_timeout", {"reject", "fail", "continue"}))
      gate->on_timeout = kWays[*word];
    return;
  }
  const bool attempts = std::holds_alternative<RunCommand>(step.work) || std::holds_alternative<CallHandler>(step.work);
  if (attempts) {
    reader_.duration_setting(timeout, Setting::timeout, view, step.computed, step.timeout);
    reader_.duration_setting(fields.find("total_timeout"), Setting::total_timeout, view, step.computed,
                             step.total_timeout);
    return;
  }
  const bool waits = std::holds_alternative<Sleep>(step.work) || std::holds_alternative<WaitFor>(step.work);
  if (!waits) reader_.duration_setting(timeout, Setting::deadline, view, step.computed, step.deadline);
  if (on_timeout == nullptr) return;
  if (on_timeout->text == "reject") {
    return reader_.faults().add(on_timeout->place, "'on_timeout' must be fail or continue, not 'reject'",
                                "only 'approve' can be rejected: write on_timeout: fail");
  }
  if (const auto word = reader_.word(*on_timeout, "on_timeout", {"fail", "continue"}))
    step.on_deadline = *word == 0 ? OnTimeout::fail : OnTimeout::go_on;
}

void StepsParser::cache(Step& step, const YamlNode& node, const View& view) const {
  if (node.is_scalar()) {
    reader_.faults().add(node.place, fmt::format("'cache' must be a map, not '{}'", node.text.substr(0, 60)),
                         "write cache: { key: \"fetch ${vars.url}\", ttl: 1d }");
    return;
  }
  const Fields fields(node, language::kCache, "'cache'", reader_.faults());
  if (!fields.is_map()) return;
  Cache cache;
  reader_.duration_setting(fields.find("ttl"), Setting::cache_ttl, view, step.computed, cache.ttl);
  const YamlNode* key = fields.find("key");
  if (key == nullptr) {
    reader_.faults().add(node.place, "'cache' requires 'key'",
                         "write everything that the result depends on: key: \"fetch ${vars.url}\"");
    return;
  }
  if (auto text = reader_.text_template(*key, "key", view, TextTemplate::Unknown::refuse)) cache.key = std::move(*text);
  step.cache = std::move(cache);
}

void StepsParser::exit_codes(const Fields& retry, std::string_view key, std::optional<std::vector<int>>& codes) const {
  const YamlNode* node = retry.find(key);
  if (node == nullptr) return;
  if (!node->is_list()) {
    reader_.faults().add(node->place, fmt::format("'{}' must be a list, not {}", key, kind_text(*node)),
                         node->is_scalar() ? fmt::format("write [{}]", node->text.substr(0, 20)) : "write [2, 64]");
    return;
  }
  codes.emplace();
  for (const YamlPtr& item : node->items) {
    if (const auto code = reader_.whole(*item, key, 0, 255)) codes->push_back(static_cast<int>(*code));
  }
}

RetrySettings StepsParser::retry(const YamlNode& node, const View& view) const {
  RetrySettings retry;
  if (node.is_scalar()) {
    const Json value = to_json(node, reader_.faults());
    const bool number = value.is_number_unsigned() && value.get<std::uint64_t>() > 0;
    reader_.faults().add(node.place, fmt::format("'retry' must be a map, not '{}'", node.text.substr(0, 60)),
                         fmt::format("write retry: {{ attempts: {} }}", number ? node.text : "3"));
    return retry;
  }
  const Fields fields(node, language::kRetry, "'retry'", reader_.faults());
  std::uint32_t attempts = 0;
  reader_.whole_setting(fields.find("attempts"), Setting::attempts, view, retry.computed, attempts);
  if (attempts > 0) retry.attempts = attempts;
  reader_.duration_setting(fields.find("backoff"), Setting::backoff, view, retry.computed, retry.backoff);
  reader_.duration_setting(fields.find("max_backoff"), Setting::max_backoff, view, retry.computed, retry.max_backoff);
  retry.factor = reader_.number_setting(fields.find("factor"), Setting::factor, view, retry.computed);
  if (const YamlNode* value = fields.find("jitter")) retry.jitter = reader_.boolean(*value, "jitter");
  exit_codes(fields, "no_retry_codes", retry.no_retry_codes);
  exit_codes(fields, "on_codes", retry.on_codes);
  const std::vector<int> excluded = retry.no_retry_codes.value_or(std::vector<int>());
  for (const int code : retry.on_codes.value_or(std::vector<int>())) {
    const bool never = code == 0 || code == 126 || code == 127;
    if (never || std::ranges::find(excluded, code) != excluded.end()) {
      reader_.faults().add(fields.place_of("on_codes"), fmt::format("exit code {} is never retried", code),
                           code == 0 ? "0 is success: remove it" : "remove it from 'on_codes'");
    }
  }
  if (const YamlNode* value = fields.find("when")) retry.when = reader_.expression(*value, "when", view.at_retry());
  return retry;
}

}  // namespace pawl
