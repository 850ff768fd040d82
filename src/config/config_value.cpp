#include "config/config_value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "text/duration.hpp"
#include "text/size_words.hpp"
#include "text/suggest.hpp"
#include "yaml/faults.hpp"

namespace pawl {
namespace {

using Value = std::expected<Json, ValueFault>;

std::unexpected<ValueFault> wrong(std::string message, std::string hint = {}) {
  return std::unexpected(ValueFault{std::move(message), std::move(hint)});
}

std::optional<std::uint64_t> whole_number(const YamlNode& node) {
  if (!node.is_scalar() || node.style == YamlNode::Style::quoted) return std::nullopt;
  std::uint64_t value = 0;
  const std::string& text = node.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}

/// Returns a bound as it would be written.
std::string shown(const ConfigKey& key, const ConfigName& name, std::uint64_t amount) {
  if (name.unit > 0 && amount % name.unit == 0) return std::to_string(amount / name.unit);
  const Json text = written_value(key, amount);
  return text.is_string() ? text.get<std::string>() : compact(text);
}

Value within_bounds(const ConfigKey& key, const ConfigName& name, std::uint64_t amount) {
  if (amount >= key.lowest && amount <= key.highest) return Json(amount);
  return wrong(fmt::format("'{}' is out of range", name.name),
               fmt::format("from {} to {}", shown(key, name, key.lowest), shown(key, name, key.highest)));
}

Value boolean(const ConfigName& name, const YamlNode& node) {
  const bool plain = node.is_scalar() && node.style == YamlNode::Style::plain;
  if (plain && node.text == "true") return Json(true);
  if (plain && node.text == "false") return Json(false);
  return wrong(fmt::format("'{}' must be true or false, not {}", name.name, kind_text(node)), "write true or false");
}

Value whole(const ConfigKey& key, const ConfigName& name, const YamlNode& node) {
  if (key.type == ConfigType::whole_or_all && node.is_scalar() && node.text == "all") return Json(nullptr);
  if (const auto number = whole_number(node)) return within_bounds(key, name, *number);
  return wrong(fmt::format("'{}' must be a whole number{}, not {}", name.name,
                           key.type == ConfigType::whole_or_all ? " or `all`" : "", kind_text(node)),
               fmt::format("from {} to {}", key.lowest, key.highest));
}

Value amount(const ConfigKey& key, const ConfigName& name, const YamlNode& node) {
  const bool size = key.type == ConfigType::size;
  const std::string hint = size ? "for example 100MB or 2GiB" : "for example 30s, 5m or 24h";
  if (const auto number = whole_number(node)) {
    if (name.unit == 0) return wrong(fmt::format("'{}' requires a unit", name.name), hint);
    if (*number > UINT64_MAX / name.unit) return wrong(fmt::format("'{}' is out of range", name.name), hint);
    return within_bounds(key, name, *number * name.unit);
  }
  std::optional<std::uint64_t> value;
  if (node.is_scalar() && size) value = parse_size(node.text);
  if (node.is_scalar() && !size) {
    if (const auto duration = parse_duration(node.text)) value = static_cast<std::uint64_t>(duration->count());
  }
  if (value) return within_bounds(key, name, *value);
  return wrong(fmt::format("'{}' must be a {}, not {}", name.name, size ? "size" : "duration", kind_text(node)), hint);
}

Value word(const ConfigKey& key, const ConfigName& name, const YamlNode& node) {
  if (!node.is_scalar()) return wrong(fmt::format("'{}' must be a word, not {}", name.name, kind_text(node)));
  std::vector<std::string> words(key.words.begin(), key.words.end());
  for (const std::string& known : words) {
    if (node.text == known) return Json(known);
  }
  return wrong(fmt::format("'{}' can't be '{}'", name.name, node.text),
               did_you_mean(node.text, words, "one of " + one_of(words)));
}

Value text(const ConfigName& name, const YamlNode& node) {
  if (!node.is_scalar()) return wrong(fmt::format("'{}' must be text, not {}", name.name, kind_text(node)));
  if (node.text.empty()) return wrong(fmt::format("'{}' is empty", name.name), "remove the line, or add a value");
  if (node.text.find('\0') != std::string::npos) return wrong(fmt::format("'{}' contains a NUL character", name.name));
  return Json(node.text);
}

/// One store contains all runs, so its path must not depend on a run.
Value path(const ConfigName& name, const YamlNode& node) {
  Value value = text(name, node);
  if (value && node.text.find_first_of("{}") != std::string::npos) {
    return wrong(
        fmt::format("'{}' contains a placeholder, which the path of a store can't have", name.name),
        "a store contains all runs, each in its own folder: remove the placeholder, for example ./outputs/checkpoints");
  }
  return value;
}

Value texts(const ConfigKey& key, const ConfigName& name, const YamlNode& node) {
  Json list = Json::array();
  if (node.is_scalar()) {
    Value value = text(name, node);
    if (!value) return value;
    list.push_back(std::move(*value));
    return list;
  }
  if (!node.is_list()) return wrong(fmt::format("'{}' must be a list of texts, not {}", name.name, kind_text(node)));
  if (node.items.size() > key.highest)
    return wrong(fmt::format("'{}' has more than {} entries", name.name, key.highest));
  for (const YamlPtr& item : node.items) {
    Value value = text(name, *item);
    if (!value) return value;
    list.push_back(std::move(*value));
  }
  return list;
}

}  // namespace

Value config_value(const ConfigKey& key, const ConfigName& name, const YamlNode& node) {
  if (node.is_null())
    return wrong(fmt::format("'{}' has no value", name.name), "add a value after the ':', or remove the line");
  switch (key.type) {
    case ConfigType::boolean: return boolean(name, node);
    case ConfigType::whole:
    case ConfigType::whole_or_all: return whole(key, name, node);
    case ConfigType::size:
    case ConfigType::duration: return amount(key, name, node);
    case ConfigType::word: return word(key, name, node);
    case ConfigType::text: return key.scope == ConfigScope::outside_the_store ? path(name, node) : text(name, node);
    case ConfigType::texts: return texts(key, name, node);
  }
  return wrong("unknown type");
}

}  // namespace pawl
