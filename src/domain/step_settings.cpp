#include "domain/step_settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "domain/workflow.hpp"

namespace pawl {
namespace {

using Type = SettingRule::Type;

constexpr double kCountMax = 1'000'000;
constexpr double kItemsAtOnceMax = 10'000;
constexpr double kFailuresMax = 9'007'199'254'740'992;  // 2^53
constexpr std::size_t kLabelBytesMax = 128;

/// In the order of Setting.
constexpr auto kRules = std::to_array<SettingRule>({
    {Type::duration, "timeout"},
    {Type::duration, "total_timeout"},
    {Type::duration, "timeout"},
    {Type::duration, "timeout"},
    {Type::whole, "attempts", 1, kCountMax},
    {Type::duration, "backoff"},
    {Type::duration, "max_backoff"},
    {Type::number, "factor", 1, 1000},
    {Type::whole, "max", 1, kCountMax},
    {Type::whole, "parallel", 1, kItemsAtOnceMax},
    {Type::failures, "max_failures", 0, kFailuresMax},
    {Type::whole, "failures", 1, kCountMax},
    {Type::duration, "cool_down"},
    {Type::whole, "trips", 1, kCountMax},
    {Type::label, "signal"},
    {Type::duration, "timeout"},
    {Type::number, "below", 0, 1},
    {Type::duration, "ttl"},
});
static_assert(kRules.size() == static_cast<std::size_t>(Setting::cache_ttl) + 1);

std::string_view expected(const SettingRule& rule) {
  switch (rule.type) {
    case Type::duration: return "a positive duration, for example 30s, or a number of seconds";
    case Type::failures: return "a whole number, or a percentage such as 10%";
    case Type::label: return "one word of letters, digits and _ - . / :";
    default: return {};
  }
}

std::unexpected<Error> invalid(const SettingRule& rule, const ComputedSetting& setting, const Json& value) {
  constexpr std::size_t kShownMax = 60;
  std::string wanted(expected(rule));
  if (rule.type == Type::whole) wanted = fmt::format("a whole number from {} to {}", rule.least, rule.most);
  if (rule.type == Type::number) wanted = fmt::format("a number from {} to {}", rule.least, rule.most);
  std::string shown = text_of(value);
  if (shown.size() > kShownMax) shown = shown.substr(0, kShownMax) + "...";
  return fail(Code::invalid_workflow, "'{}: {}' must be {}, not '{}'", rule.key, setting.value.source(), wanted, shown);
}

/// Text such as "5" is a number as well: `${vars.n}` may come from --var.
Json as_number(const Json& value) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  Json number = Json::parse(text, nullptr, false);
  return number.is_number() ? number : value;
}

std::optional<Milliseconds> duration_of(const Json& given) {
  const Json value = as_number(given);
  std::optional<Milliseconds> duration;
  if (value.is_string()) duration = parse_duration(value.get_ref<const std::string&>());
  if (value.is_number() && value.get<double>() > 0 &&
      value.get<double>() * 1000 <= static_cast<double>(kDurationMax.count()))
    duration = Milliseconds(std::max<std::int64_t>(std::llround(value.get<double>() * 1000), 1));
  if (!duration || duration->count() <= 0 || *duration > kDurationMax) return std::nullopt;
  return duration;
}

std::optional<double> number_of(const SettingRule& rule, const Json& given) {
  const Json value = as_number(given);
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(number >= rule.least && number <= rule.most)) return std::nullopt;
  if (rule.type == Type::whole && std::trunc(number) != number) return std::nullopt;
  return number;
}

class Resolver {
 public:
  Resolver(Step& step, const Names& names) : step_(step), names_(names) {}

  Result<void> set(const ComputedSetting& setting) {
    const SettingRule& rule = rule_of(setting.setting);
    auto value = setting.value.evaluate(names_);
    if (!value) {
      Error error = std::move(value).error();
      error.message = fmt::format("'{}: {}' can't be evaluated: {}", rule.key, setting.value.source(), error.message);
      return fail(std::move(error));
    }
    const bool set = use(setting.setting, rule, *value);
    if (!set) return invalid(rule, setting, *value);
    return {};
  }

 private:
  bool use(Setting setting, const SettingRule& rule, const Json& value) {
    switch (rule.type) {
      case Type::duration: {
        const auto duration = duration_of(value);
        if (duration) set_duration(setting, *duration);
        return duration.has_value();
      }
      case Type::failures: {
        const auto limit = failure_limit(as_number(value));
        auto* const map = std::get_if<Map>(&step_.work);
        if (!limit || map == nullptr) return false;
        map->max_failures = limit->count;
        map->max_failures_percent = limit->percent;
        return true;
      }
      case Type::label: {
        auto* const wait = std::get_if<WaitFor>(&step_.work);
        if (wait == nullptr || !value.is_string() || !is_signal_name(value.get_ref<const std::string&>())) return false;
        wait->signal = value.get<std::string>();
        return true;
      }
      default: break;
    }
    const auto number = number_of(rule, value);
    if (number) set_number(setting, *number);
    return number.has_value();
  }

  void set_duration(Setting setting, Milliseconds value) {
    switch (setting) {
      case Setting::timeout: step_.timeout = value; break;
      case Setting::total_timeout: step_.total_timeout = value; break;
      case Setting::deadline: step_.deadline = value; break;
      case Setting::gate_timeout:
        if (auto* const gate = std::get_if<Approve>(&step_.work)) gate->timeout = value;
        break;
      case Setting::backoff: step_.retry.backoff = value; break;
      case Setting::max_backoff: step_.retry.max_backoff = value; break;
      case Setting::signal_timeout:
        if (auto* const wait = std::get_if<WaitFor>(&step_.work)) wait->timeout = value;
        break;
      case Setting::breaker_cool_down:
        if (CircuitBreaker* const open = breaker()) open->cool_down = value;
        break;
      case Setting::cache_ttl:
        if (step_.cache) step_.cache->ttl = value;
        break;
      default: break;
    }
  }

  void set_number(Setting setting, double value) {
    const auto whole = static_cast<std::uint32_t>(value);
    switch (setting) {
      case Setting::attempts: step_.retry.attempts = whole; break;
      case Setting::factor: step_.retry.factor = value; break;
      case Setting::loop_max:
        if (auto* const loop = std::get_if<Loop>(&step_.work)) loop->max = whole;
        break;
      case Setting::parallel:
        if (auto* const map = std::get_if<Map>(&step_.work)) map->parallel = whole;
        break;
      case Setting::breaker_failures:
        if (CircuitBreaker* const open = breaker()) open->failures = whole;
        break;
      case Setting::breaker_trips:
        if (CircuitBreaker* const open = breaker()) open->trips = whole;
        break;
      case Setting::confidence_below:
        if (step_.confidence) step_.confidence->below = value;
        break;
      default: break;
    }
  }

  CircuitBreaker* breaker() {
    auto* const map = std::get_if<Map>(&step_.work);
    return map != nullptr && map->circuit_breaker ? &*map->circuit_breaker : nullptr;
  }

  Step& step_;
  const Names& names_;
};

}  // namespace

const SettingRule& rule_of(Setting setting) { return kRules.at(static_cast<std::size_t>(setting)); }

bool is_signal_name(std::string_view text) {
  return !text.empty() && text.size() <= kLabelBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == ':';
  });
}

std::optional<FailureLimit> failure_limit(const Json& value) {
  if (value.is_number_integer()) {
    const auto number = value.get<double>();
    if (number < 0 || number > kFailuresMax) return std::nullopt;
    return FailureLimit{.count = value.get<std::uint64_t>()};
  }
  if (!value.is_string()) return std::nullopt;
  std::string_view text = value.get_ref<const std::string&>();
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(percent >= 0 && percent <= 100))
    return std::nullopt;
  return FailureLimit{.percent = percent};
}

bool is_computed(const Step& step, Setting setting) {
  const auto same = [setting](const ComputedSetting& computed) { return computed.setting == setting; };
  return std::ranges::any_of(step.computed, same) || std::ranges::any_of(step.retry.computed, same);
}

Result<Step> with_settings(const Step& step, const Names& names) {
  Step resolved = step;
  Resolver resolver(resolved, names);
  for (const std::vector<ComputedSetting>* all : {&step.computed, &step.retry.computed}) {
    for (const ComputedSetting& setting : *all) PAWL_TRY(resolver.set(setting));
  }
  resolved.computed.clear();
  resolved.retry.computed.clear();
  return resolved;
}

}  // namespace pawl
