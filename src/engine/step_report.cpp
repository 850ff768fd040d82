#include "engine/step_report.hpp"

#include <cmath>

#include "codec/json_check.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kLineBytesMax = 8ULL << 20;
constexpr Milliseconds kRetryAfterMax{std::int64_t{24} * 3'600'000};

std::optional<double> share(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  return std::isfinite(number) && number >= 0.0 && number <= 1.0 ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> amount(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_float() && value.get<double>() >= 0.0 && value.get<double>() < 1e18)
    return static_cast<std::uint64_t>(value.get<double>());
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(StepReport& report) : report_(report) {}

  void read(std::size_t number, const Json& line) {
    number_ = number;
    for (const auto& [key, value] : line.items()) {
      if (!use(key, value)) fault(fmt::format("invalid value of '{}'", key));
    }
  }
  void fault(std::size_t number, std::string_view what) {
    number_ = number;
    fault(what);
  }

 private:
  void fault(std::string_view what) {
    if (report_.faults.size() < 20) report_.faults.push_back(fmt::format("line {} of $PAWL_RESULT: {}", number_, what));
  }

  bool use(const std::string& key, const Json& value) {
    if (key == "output") return report_.output = value, true;
    if (key == "progress" || key == "partial") return report_.progress = value, true;
    if (key == "confidence") return set_share(report_.confidence, value);
    if (key == "context_usage") return set_share(report_.context_usage, value);
    if (key == "decision" || key == "decisions") return add_decisions(value);
    if (key == "blocker" || key == "blockers") return add_texts(report_.blockers, value);
    if (key == "message") return add_texts(report_.messages, value);
    if (key == "evaluation" || key == "scores") return report_.evaluations.push_back(value), true;
    if (key == "add_steps") return report_.add_steps = value, value.is_array();
    if (key == "retry_after") return set_retry_after(value);
    if (key == "tokens") return add_amount(report_.usage.tokens, value);
    if (key == "api_calls") return add_amount(report_.usage.api_calls, value);
    if (key == "cost_usd" || key == "usd" || key == "cost") return add_cost(value);
    return true;  // unknown keys are ignored
  }

  static bool set_share(std::optional<double>& target, const Json& value) {
    const auto number = share(value);
    if (number) target = number;
    return number.has_value();
  }
  bool set_retry_after(const Json& value) {
    std::optional<Milliseconds> delay;
    if (value.is_string()) delay = parse_duration(value.get<std::string>());
    if (value.is_number()) {
      const double seconds = value.get<double>();
      if (seconds >= 0.0 && seconds <= 86'400.0) delay = Milliseconds(std::llround(seconds * 1000.0));
    }
    if (!delay || *delay > kRetryAfterMax) return false;
    report_.retry_after = delay;
    return true;
  }
  bool add_decisions(const Json& value) {
    if (value.is_object()) return report_.decisions.push_back(value), true;
    if (!value.is_array()) return false;
    for (const Json& decision : value) {
      if (!decision.is_object()) return false;
      report_.decisions.push_back(decision);
    }
    return true;
  }
  static bool add_texts(std::vector<std::string>& target, const Json& value) {
    if (value.is_string()) return target.push_back(value.get<std::string>()), true;
    if (!value.is_array()) return false;
    for (const Json& text : value) {
      if (!text.is_string()) return false;
      target.push_back(text.get<std::string>());
    }
    return true;
  }
  static bool add_amount(std::uint64_t& target, const Json& value) {
    const auto number = amount(value);
    if (number) target += *number;
    return number.has_value();
  }
  bool add_cost(const Json& value) {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0.0) return false;
    report_.usage.usd += value.get<double>();
    return true;
  }

  StepReport& report_;
  std::size_t number_ = 0;
};

}  // namespace

StepReport parse_report(std::string_view text, LastLine last_line) {
  StepReport report;
  Reader reader(report);
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool last = end == std::string_view::npos;
    text = last ? std::string_view() : text.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Result<void> checked = check_json(line, kLineBytesMax);
    if (!checked && last && last_line == LastLine::may_be_cut) break;
    if (!checked) {
      reader.fault(number, checked.error().message);
      continue;
    }
    const Json value = Json::parse(line, nullptr, false);
    if (!value.is_object()) {
      reader.fault(number, "not a JSON object");
      continue;
    }
    reader.read(number, value);
  }
  return report;
}

}  // namespace pawl
