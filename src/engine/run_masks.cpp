#include "engine/run_masks.hpp"

#include "engine/environment_entries.hpp"
#include "engine/mask_json.hpp"
#include "secrets/output_mask.hpp"

namespace pawl {
namespace {

constexpr std::size_t kMaskedInLogsBytesMin = 6;  // shorter values of keys may be common words

}  // namespace

RunMasks::RunMasks(const SecretSettings& settings, std::set<std::string> keys, KeyValues values)
    : keys_(std::move(keys)), key_values_(std::move(values)) {
  keys_.insert(settings.state_keys.begin(), settings.state_keys.end());
  SecretSettings known = settings;
  known.patterns.clear();
  patterns_ = *SecretPatterns::make(known, {});
}

void RunMasks::add_secret(std::string_view value) {
  secrets_.emplace_back(value);
  const std::string quoted = compact(Json(secrets_.back()));  // as written in JSON
  if (quoted.size() > 2) secrets_.push_back(quoted.substr(1, quoted.size() - 2));
}

Result<void> RunMasks::learn(const SecretSettings& settings, const std::vector<std::string>& names,
                             const std::vector<std::string>& environment, Json vars) {
  for (const std::string& name : names) {
    const std::string* entry = find_entry(environment, name);
    if (entry == nullptr)
      return fail(Error{Code::invalid_variable,
                        fmt::format("secret '{}' is not set in the environment", name),
                        {},
                        fmt::format("export {}=...", name),
                        0});
    add_secret(entry_value(*entry));
  }
  // A step may run Pawl itself, so it gets the keys of the store; they are masked in its output.
  for (const char* name : {"PAWL_KEY", "PAWL_PASSPHRASE", "PAWL_NEW_KEY", "PAWL_NEW_PASSPHRASE"}) {
    const std::string* entry = find_entry(environment, name);
    if (entry != nullptr && !entry_value(*entry).empty()) add_secret(entry_value(*entry));
  }
  mask_keys(vars, keys_, key_values_);
  std::vector<std::string> values = secrets_;
  for (const auto& [key, value] : key_values_) {
    if (value.is_string() && value.get_ref<const std::string&>().size() >= kMaskedInLogsBytesMin)
      values.push_back(value.get<std::string>());
  }
  PAWL_TRY_ASSIGN(patterns_, SecretPatterns::make(settings, std::move(values)));
  return {};
}

bool RunMasks::mask_data(Json& data) {
  mask_keys_in(data);
  const MaskCounts before = *counts_;
  mask_event(data, patterns_, *counts_);
  if (!secrets_.empty()) data = Json::parse(masked(compact(data), secrets_), nullptr, false);
  return !keys_.empty() || !secrets_.empty() || *counts_ != before;
}

void RunMasks::mask_keys_in(Json& value) {
  if (!keys_.empty()) mask_keys(value, keys_, key_values_);
}

std::string RunMasks::text(std::string text) const { return masked(std::move(text), secrets_); }

}  // namespace pawl
