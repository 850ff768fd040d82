#include "engine/state_keys.hpp"

#include "engine/environment_entries.hpp"

namespace pawl {
namespace {

std::string placeholder(const std::string& key) { return fmt::format("[masked:{}]", key); }

/// Returns PAWL_VAR_API_KEY for api-key.
std::string variable_name(const std::string& key) {
  std::string name = "PAWL_VAR_";
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool fits = is_lower || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_lower ? static_cast<char>(c - 'a' + 'A') : fits ? c : '_';
  }
  return name;
}

}  // namespace

void mask_keys(Json& value, const std::set<std::string>& keys, KeyValues& values) {
  if (!value.is_structured()) return;
  if (value.is_array()) {
    for (Json& inner : value) mask_keys(inner, keys, values);
    return;
  }
  for (auto& [name, inner] : value.items()) {
    if (!keys.contains(name)) {
      mask_keys(inner, keys, values);
    } else if (!inner.is_null() && inner != Json(placeholder(name))) {
      values[name] = std::move(inner);
      inner = placeholder(name);
    }
  }
}

void unmask_keys(Json& value, const KeyValues& values) {
  if (!value.is_structured()) return;
  if (value.is_array()) {
    for (Json& inner : value) unmask_keys(inner, values);
    return;
  }
  for (auto& [name, inner] : value.items()) {
    const auto found = values.find(name);
    if (found != values.end() && inner == Json(placeholder(name))) {
      inner = found->second;
    } else {
      unmask_keys(inner, values);
    }
  }
}

Result<KeyValues> given_key_values(const std::set<std::string>& keys, const Json& given,
                                   const std::vector<std::string>& environment, const std::string& run) {
  KeyValues values;
  std::string missing;
  std::string names;
  std::string variables;
  for (const std::string& key : keys) {
    if (given.contains(key)) {
      values[key] = given[key];
    } else if (const std::string* entry = find_entry(environment, variable_name(key)); entry != nullptr) {
      values[key] = std::string(entry_value(*entry));
    } else {
      missing += (missing.empty() ? "'" : ", '") + key + "'";
      names += (names.empty() ? "" : ",") + key;
      variables += (variables.empty() ? "" : ", ") + variable_name(key);
    }
  }
  if (missing.empty()) return values;
  return fail(Error{Code::invalid_variable,
                    fmt::format("run '{}' needs the value of {} again, because it is never saved", run, missing),
                    {},
                    fmt::format("set {} in the environment, or pass the value", variables),
                    0,
                    Advice::give_values,
                    {.run = run, .value = names}});
}

}  // namespace pawl
