// Settings of a step that can be expressions: numbers, durations and the name of a signal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "language/text_template.hpp"
#include "text/duration.hpp"

namespace pawl {

struct Step;

enum class Setting : std::uint8_t {
  timeout,
  total_timeout,
  deadline,
  gate_timeout,
  attempts,
  backoff,
  max_backoff,
  factor,
  loop_max,
  parallel,
  max_failures,
  breaker_failures,
  breaker_cool_down,
  breaker_trips,
  signal,
  signal_timeout,
  confidence_below,
  cache_ttl,
};

/// A setting whose value is known when the step begins.
struct ComputedSetting {
  Setting setting = Setting::timeout;
  TextTemplate value = {};
};

/// What a setting accepts, for the file and for computed values alike.
struct SettingRule {
  enum class Type : std::uint8_t { duration, whole, number, failures, label };
  Type type = Type::duration;
  std::string_view key = {};  // as in the file
  double least = 0;
  double most = 0;
};
[[nodiscard]] const SettingRule& rule_of(Setting setting);

/// The longest duration that a step can have: 100 years.
inline constexpr Milliseconds kDurationMax{std::int64_t{36'500} * 86'400'000};

/// Returns whether the text can be the name of a signal or handler: one word.
[[nodiscard]] bool is_signal_name(std::string_view text);

/// `10` or `10%`.
struct FailureLimit {
  std::optional<std::uint64_t> count = {};
  std::optional<double> percent = {};  // 0 to 100
};
/// Returns nothing if the value is neither a count nor a percentage.
[[nodiscard]] std::optional<FailureLimit> failure_limit(const Json& value);

/// Returns whether the setting is an expression whose value is not known yet.
[[nodiscard]] bool is_computed(const Step& step, Setting setting);

/// Returns the step with the values of its computed settings. Fails with invalid_workflow if one can't be evaluated or
/// is out of range.
///
/// The values stay the same for the life of the step, also over a resume: the parser admits only variables, outputs of
/// finished steps, items and the like, and neither `env` nor `run.attempt`.
[[nodiscard]] Result<Step> with_settings(const Step& step, const Names& names);

}  // namespace pawl
