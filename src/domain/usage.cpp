#include "domain/usage.hpp"

#include <cmath>

namespace pawl {

void Usage::add(const Usage& other) {
  tokens = other.tokens > UINT64_MAX - tokens ? UINT64_MAX : tokens + other.tokens;
  api_calls = other.api_calls > UINT64_MAX - api_calls ? UINT64_MAX : api_calls + other.api_calls;
  usd += other.usd;
}

Json Usage::document() const {
  constexpr double kUsdParts = 1e9;
  const double rounded = std::round(usd * kUsdParts) / kUsdParts;
  return {{"tokens", tokens}, {"usd", std::isfinite(rounded) ? rounded : usd}, {"api_calls", api_calls}};
}

Usage Usage::until(const Usage& later) const {
  const auto beyond = [](auto before, auto after) { return after > before ? after - before : 0; };
  return Usage{.tokens = beyond(tokens, later.tokens),
               .usd = beyond(usd, later.usd),
               .api_calls = beyond(api_calls, later.api_calls)};
}

Budget Budget::raised(const Json& limits) const {
  Budget out = *this;
  if (!limits.is_object()) return out;
  const auto limit = [&](const char* key) {
    const auto found = limits.find(key);
    return found != limits.end() && found->is_number() && *found >= 0 ? &*found : nullptr;
  };
  if (const Json* const given = limit("usd")) out.usd = given->get<double>();
  if (const Json* const given = limit("tokens")) out.tokens = given->get<std::uint64_t>();
  return out;
}

Json Budget::document() const {
  return {{"usd", usd ? Json(*usd) : Json()}, {"tokens", tokens ? Json(*tokens) : Json()}};
}

}  // namespace pawl
