// The settings of a step besides its action: environment, timeouts, retries, and what follows it.
#include "workflow/steps_parser.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kAttemptsMax = 1'000'000;

}  // namespace

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
  if (const YamlNode* node = fields.find("timeout")) step.timeout = reader_.duration(*node, "timeout");
  if (const YamlNode* node = fields.find("total_timeout"))
    step.total_timeout = reader_.duration(*node, "total_timeout");
  if (const YamlNode* node = fields.find("retry")) step.retry = merged(inherited_.retry, retry(*node));
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
}

void StepsParser::consequences(Step& step, const Fields& fields, const View& view) {
  const View behind = view.with_own();
  if (const YamlNode* node = fields.find("on_failure")) step.on_failure = parse(*node, "on_failure", behind).steps;
  if (const YamlNode* node = fields.find("rescue")) step.rescue = reader_.boolean(*node, "rescue").value_or(false);
  const YamlNode* node = fields.find("confidence");
  if (node == nullptr) return;
  const Fields settings(*node, language::kConfidence, "'confidence'", reader_.faults());
  if (!settings.is_map()) return;
  LowConfidence confidence;
  if (const YamlNode* below = settings.find("below")) {
    confidence.below = reader_.number(*below, "below", 0, 1).value_or(0);
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

RetrySettings StepsParser::retry(const YamlNode& node) const {
  RetrySettings retry;
  if (node.is_scalar()) {
    const Json value = to_json(node, reader_.faults());
    const bool number = value.is_number_unsigned() && value.get<std::uint64_t>() > 0;
    reader_.faults().add(node.place, fmt::format("'retry' must be a map, not '{}'", node.text.substr(0, 60)),
                         fmt::format("write retry: {{ attempts: {} }}", number ? node.text : "3"));
    return retry;
  }
  const Fields fields(node, language::kRetry, "'retry'", reader_.faults());
  if (const YamlNode* value = fields.find("attempts")) {
    if (const auto attempts = reader_.whole(*value, "attempts", 1, kAttemptsMax)) {
      retry.attempts = static_cast<std::uint32_t>(*attempts);
    }
  }
  if (const YamlNode* value = fields.find("backoff")) retry.backoff = reader_.duration(*value, "backoff");
  if (const YamlNode* value = fields.find("max_backoff")) retry.max_backoff = reader_.duration(*value, "max_backoff");
  if (const YamlNode* value = fields.find("factor")) retry.factor = reader_.number(*value, "factor", 1, 1000);
  if (const YamlNode* value = fields.find("jitter")) retry.jitter = reader_.boolean(*value, "jitter");
  if (const YamlNode* value = fields.find("no_retry_codes")) {
    if (!value->is_list()) {
      reader_.faults().add(value->place, fmt::format("'no_retry_codes' must be a list, not {}", kind_text(*value)),
                           "write [2, 64]");
      return retry;
    }
    std::vector<int> codes;
    for (const YamlPtr& item : value->items) {
      if (const auto code = reader_.whole(*item, "no_retry_codes", 0, 255)) codes.push_back(static_cast<int>(*code));
    }
    retry.no_retry_codes = std::move(codes);
  }
  return retry;
}

}  // namespace pawl
