#include "domain/workflow.hpp"

namespace pawl {
namespace {

template <class T>
void replace(std::optional<T>& value, const std::optional<T>& over) {
  if (over) value = over;
}

void reset(RetrySettings& retry, Setting setting) {
  if (setting == Setting::attempts) retry.attempts.reset();
  if (setting == Setting::backoff) retry.backoff.reset();
  if (setting == Setting::max_backoff) retry.max_backoff.reset();
  if (setting == Setting::factor) retry.factor.reset();
}

bool has(const RetrySettings& retry, Setting setting) {
  for (const ComputedSetting& computed : retry.computed) {
    if (computed.setting == setting) return true;
  }
  return (setting == Setting::attempts && retry.attempts) || (setting == Setting::backoff && retry.backoff) ||
         (setting == Setting::max_backoff && retry.max_backoff) || (setting == Setting::factor && retry.factor);
}

}  // namespace

RetrySettings merged(const RetrySettings& base, const RetrySettings& over) {
  RetrySettings all = base;
  replace(all.attempts, over.attempts);
  replace(all.backoff, over.backoff);
  replace(all.max_backoff, over.max_backoff);
  replace(all.factor, over.factor);
  replace(all.jitter, over.jitter);
  replace(all.no_retry_codes, over.no_retry_codes);
  replace(all.on_codes, over.on_codes);
  replace(all.when, over.when);
  std::erase_if(all.computed, [&](const ComputedSetting& computed) { return has(over, computed.setting); });
  for (const ComputedSetting& computed : over.computed) {
    reset(all, computed.setting);
    all.computed.push_back(computed);
  }
  return all;
}

std::string definition_of(const Step& step) {
  constexpr std::size_t kDigits = 8;
  return (step.result_hash.empty() ? step.definition_hash : step.result_hash).substr(0, kDigits);
}

bool has_definition(const Step& step, std::string_view recorded) {
  return recorded.empty() || step.definition_hash.starts_with(recorded) || step.result_hash.starts_with(recorded);
}

}  // namespace pawl
