#include "domain/workflow.hpp"

namespace pawl {
namespace {

template <class T>
void replace(std::optional<T>& value, const std::optional<T>& over) {
  if (over) value = over;
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
  return all;
}

}  // namespace pawl
