// Converts YAML values to JSON and back.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "yaml/yaml_tree.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kExactMax = std::int64_t{1} << 53;
constexpr std::size_t kJsonDepthMax = 64;
constexpr std::size_t kJsonNodesMax = 100'000;

bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

/// A leading zero is kept: `08` and `007` are more likely names than numbers.
bool is_integer(std::string_view text) {
  const std::string_view rest = without_sign(text);
  return digits(rest) && (rest.size() == 1 || rest.front() != '0');
}

bool is_number(std::string_view text) {
  std::string_view rest = without_sign(text);
  const std::size_t exponent = rest.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    if (!digits(without_sign(rest.substr(exponent + 1)))) return false;
    rest = rest.substr(0, exponent);
  }
  const std::size_t point = rest.find('.');
  const std::string_view whole = rest.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? std::string_view() : rest.substr(point + 1);
  if (whole.size() > 1 && whole.front() == '0') return false;
  if (!part.empty() && !digits(part)) return false;
  if (whole.empty()) return !part.empty();
  return digits(whole);
}

std::optional<std::int64_t> integer_of(std::string_view text, int base) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > kExactMax || value < -kExactMax) return {};
  return value;
}

/// Returns nothing for a number that can't be represented.
std::optional<Json> plain_value(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") return Json(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json(false);
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Json(nullptr);
  if (is_integer(text)) {
    const auto value = integer_of(text, 10);
    return value ? std::optional(Json(*value)) : std::nullopt;
  }
  const bool hexadecimal = text.starts_with("0x") && text.size() > 2 && text[2] != '-' &&
                           text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos;
  const bool octal =
      text.starts_with("0o") && text.size() > 2 && text.find_first_not_of("01234567", 2) == std::string::npos;
  if (hexadecimal || octal) {
    const auto value = integer_of(std::string_view(text).substr(2), hexadecimal ? 16 : 8);
    return value ? std::optional(Json(*value)) : std::nullopt;
  }
  if (is_number(text)) {
    double value = 0;
    const std::string_view rest = text.starts_with('+') ? std::string_view(text).substr(1) : std::string_view(text);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    return Json(value);
  }
  return Json(text);
}

Json scalar_value(const YamlNode& node, Faults* faults) {
  if (node.style == YamlNode::Style::quoted) return node.text;
  if (auto value = plain_value(node.text)) return std::move(*value);
  if (faults != nullptr) {
    faults->add(node.place, fmt::format("the number {} can't be represented exactly", node.text.substr(0, 64)),
                fmt::format("write it in quotes: \"{}\"", node.text.substr(0, 64)));
  }
  return node.text;
}

Json value_of(const YamlNode& node, Faults* faults) {
  switch (node.kind) {
    case YamlNode::Kind::null: return nullptr;
    case YamlNode::Kind::scalar: return scalar_value(node, faults);
    case YamlNode::Kind::list: {
      Json list = Json::array();
      for (const YamlPtr& item : node.items) list.push_back(value_of(*item, faults));
      return list;
    }
    case YamlNode::Kind::map: break;
  }
  Json object = Json::object();
  // Not operator[]: an ordered object would search all keys for each new one.
  auto& members = object.get_ref<Json::object_t&>();
  for (const YamlMember& member : node.members) {
    static_cast<std::vector<Json::object_t::value_type>&>(members).emplace_back(member.key,
                                                                                value_of(*member.value, faults));
  }
  return object;
}

void append_canonical(const YamlNode& node, std::string& out) {
  switch (node.kind) {
    case YamlNode::Kind::null: out += "null"; return;
    case YamlNode::Kind::scalar: out += compact(scalar_value(node, nullptr)); return;
    case YamlNode::Kind::list:
      out += '[';
      for (const YamlPtr& item : node.items) {
        if (out.back() != '[') out += ',';
        append_canonical(*item, out);
      }
      out += ']';
      return;
    case YamlNode::Kind::map: break;
  }
  std::vector<const YamlMember*> sorted;
  for (const YamlMember& member : node.members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
  out += '{';
  for (const YamlMember* member : sorted) {
    if (member != sorted.front()) out += ',';
    out += compact(Json(member->key)) + ':';
    append_canonical(*member->value, out);
  }
  out += '}';
}

struct NodesLeft {
  std::size_t nodes = kJsonNodesMax;
};

std::shared_ptr<YamlNode> node_of(const Json& value, Place place, std::size_t depth, NodesLeft& budget) {
  if (depth > kJsonDepthMax || budget.nodes == 0) return nullptr;
  --budget.nodes;
  auto node = std::make_shared<YamlNode>();
  node->place = place;
  if (value.is_array()) {
    node->kind = YamlNode::Kind::list;
    for (const Json& item : value) {
      node->items.push_back(node_of(item, place, depth + 1, budget));
      if (node->items.back() == nullptr) return nullptr;
    }
  } else if (value.is_object()) {
    node->kind = YamlNode::Kind::map;
    for (const auto& [key, member] : value.items()) {
      node->members.push_back({key, place, node_of(member, place, depth + 1, budget)});
      if (node->members.back().value == nullptr) return nullptr;
    }
  } else if (!value.is_null()) {
    node->kind = YamlNode::Kind::scalar;
    node->style = value.is_string() ? YamlNode::Style::quoted : YamlNode::Style::plain;
    node->text = value.is_string() ? value.get_ref<const std::string&>() : compact(value);
  }
  return node;
}

}  // namespace

std::string kind_text(const YamlNode& node) {
  if (node.is_null()) return "nothing";
  if (node.is_list()) return "a list";
  if (node.is_map()) return "a map";
  const Json value = scalar_value(node, nullptr);
  return value.is_boolean() ? "true or false" : value.is_number() ? "a number" : value.is_null() ? "nothing" : "a text";
}

Json to_json(const YamlNode& node, Faults& faults) { return value_of(node, &faults); }

std::string canonical_text(const YamlNode& node) {
  std::string out;
  append_canonical(node, out);
  return out;
}

YamlPtr yaml_of(const Json& value, Place place, Faults& faults) {
  NodesLeft budget;
  YamlPtr node = node_of(value, place, 1, budget);
  if (node == nullptr) {
    faults.add(place,
               fmt::format("more than {} values, or nested more than {} levels deep", kJsonNodesMax, kJsonDepthMax));
  }
  return node;
}

}  // namespace pawl
