#include <algorithm>
#include <charconv>
#include <cmath>

#include "language/expression_tree.hpp"
#include "language/text_template.hpp"
#include "text/json_text.hpp"
#include "text/utf8.hpp"

namespace pawl::expression_tree {
namespace {

/// Wide enough for every 64-bit integer and every double, so that comparisons are exact.
long double wide(const Json& number) {
  if (number.is_number_unsigned()) return static_cast<long double>(number.get<std::uint64_t>());
  if (number.is_number_integer()) return static_cast<long double>(number.get<std::int64_t>());
  return static_cast<long double>(number.get<double>());
}

bool equal_objects(const Json& a, const Json& b) {
  using Member = std::pair<std::string_view, const Json*>;
  const auto sorted = [](const Json& object) {
    std::vector<Member> members;
    for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) members.emplace_back(key, &value);
    std::sort(members.begin(), members.end(), [](const Member& x, const Member& y) { return x.first < y.first; });
    return members;
  };
  if (a.size() != b.size()) return false;
  const auto left = sorted(a);
  const auto right = sorted(b);
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](const Member& x, const Member& y) { return x.first == y.first && equal(*x.second, *y.second); });
}

Error unfit(std::string_view function, const Json& value, std::string_view wanted) {
  return Error{
      Code::invalid_expression, fmt::format("{}() takes {}, not {}", function, wanted, type_text(value)), {}, {}, 0};
}

Result<Json> length(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return Json(std::count_if(text.begin(), text.end(), [](char c) { return !is_utf8_continuation(c); }));
  }
  if (value.is_structured() || value.is_null()) return Json(value.size());
  return fail(unfit("length", value, "a string, an array or an object"));
}

Result<Json> changed_case(Function function, const Json& value) {
  const bool lower = function == Function::lower;
  if (!value.is_string()) return fail(unfit(lower ? "lower" : "upper", value, "a string"));
  std::string text = value.get<std::string>();
  for (char& c : text) {
    if (lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!lower && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return Json(std::move(text));
}

Result<Json> affix(Function function, const Json& value, const Json& part) {
  const bool start = function == Function::starts_with;
  for (const Json* each : {&value, &part})
    if (!each->is_string()) return fail(unfit(start ? "starts_with" : "ends_with", *each, "strings"));
  const auto& text = value.get_ref<const std::string&>();
  const auto& wanted = part.get_ref<const std::string&>();
  return Json(start ? text.starts_with(wanted) : text.ends_with(wanted));
}

Result<Json> parsed_json(std::string_view text) {
  if (json_depth(text) > kJsonDepthMax) return fail(Code::invalid_expression, "the JSON is nested too deeply");
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return fail(Code::invalid_expression, "the argument of json() is not valid JSON");
  return value;
}

Result<Json> number(const Json& value) {
  if (value.is_number()) return value;
  if (value.is_boolean()) return Json(value.get<bool>() ? 1 : 0);
  if (!value.is_string()) return fail(unfit("number", value, "a number, a string or a boolean"));
  const auto& text = value.get_ref<const std::string&>();
  const std::string_view trimmed = trim_json(text);
  if (json_type(trimmed) == JsonType::number) {
    Json read = Json::parse(text, nullptr, false);
    if (read.is_number()) return read;
  }
  constexpr std::size_t kShownBytesMax = 40;
  return fail(Code::invalid_expression, "'{}' is not a number", text.substr(0, utf8_cut(text, kShownBytesMax)));
}

Result<Json> keys(const Json& value) {
  if (!value.is_object() && !value.is_null()) return fail(unfit("keys", value, "an object"));
  Json names = Json::array();
  for (const auto& member : value.items()) names.push_back(member.key());
  return names;
}

/// Returns the minimum or maximum of the arguments, or of the elements of a single argument.
Result<Json> extreme(Function function, std::span<const Json> arguments) {
  const std::string_view name = function == Function::min ? "min" : "max";
  if (arguments.size() == 1 && arguments[0].is_array()) {
    const auto& elements = arguments[0].get_ref<const Json::array_t&>();
    if (elements.empty()) return fail(Code::invalid_expression, "{}() requires an array that is not empty", name);
    arguments = elements;
  }
  const Json* best = &arguments[0];
  for (const Json& each : arguments) {
    PAWL_TRY_ASSIGN(const int order, compare(each, *best, name));
    if (function == Function::min ? order < 0 : order > 0) best = &each;
  }
  return *best;
}

Result<Json> rounded(const Json& value) {
  if (!value.is_number()) return fail(unfit("round", value, "a number"));
  if (!value.is_number_float()) return value;
  const double nearest = std::round(value.get<double>());
  constexpr double kLimit = 9223372036854775808.0;
  if (nearest >= -kLimit && nearest < kLimit) return Json(static_cast<std::int64_t>(nearest));
  return Json(nearest);
}

constexpr std::int64_t kRangeMax = 100'000;
constexpr std::size_t kJoinedBytesMax = std::size_t{8} << 20U;

/// Returns the integers from the first argument, or 0, up to but without the last one.
Result<Json> range(std::span<const Json> arguments) {
  for (const Json& each : arguments) {
    if (!each.is_number_integer()) return fail(unfit("range", each, "whole numbers"));
    if (std::abs(wide(each)) > 1e15L) return fail(Code::invalid_expression, "{} is too large for range()", each.dump());
  }
  const std::int64_t begin = arguments.size() == 2 ? arguments[0].get<std::int64_t>() : 0;
  const auto end = arguments.back().get<std::int64_t>();
  if (end - begin > kRangeMax)
    return fail(Code::invalid_expression, "range() returns at most {} numbers, not {}", kRangeMax, end - begin);
  Json numbers = Json::array();
  for (std::int64_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

Result<Json> join(const Json& list, const Json& separator) {
  if (!list.is_array() && !list.is_null()) return fail(unfit("join", list, "an array"));
  if (!separator.is_string()) return fail(unfit("join", separator, "a string between the elements"));
  const auto& between = separator.get_ref<const std::string&>();
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text += between;
    text += text_of(list[i]);
    if (text.size() > kJoinedBytesMax)
      return fail(Code::invalid_expression, "the result of join() is larger than {} MiB", kJoinedBytesMax >> 20U);
  }
  return Json(std::move(text));
}

/// Returns the field of each element; null for an element that is null.
Result<Json> pluck(const Json& list, const Json& field) {
  if (!list.is_array() && !list.is_null()) return fail(unfit("pluck", list, "an array"));
  if (!field.is_string()) return fail(unfit("pluck", field, "the name of a field"));
  const Path path{field.get<std::string>()};
  Json values = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    Result<Json> value = follow(list[i], path);
    if (!value) {
      Error error = std::move(value).error();
      error.message = fmt::format("element {}: {}", i, error.message);
      return fail(std::move(error));
    }
    values.push_back(std::move(*value));
  }
  return values;
}

}  // namespace

bool is_true(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean: return value.get<bool>();
    case Json::value_t::string: return !value.get_ref<const std::string&>().empty();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float: return wide(value) != 0;
    default: return !value.empty();
  }
}

std::string_view type_text(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "a boolean";
    default: return "a number";
  }
}

bool equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return wide(a) == wide(b);
  if (a.type() != b.type()) return false;
  if (a.is_object()) return equal_objects(a, b);
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
  return a == b;
}

Result<int> compare(const Json& a, const Json& b, std::string_view what) {
  if (a.is_number() && b.is_number()) return wide(a) < wide(b) ? -1 : wide(a) > wide(b) ? 1 : 0;
  if (a.is_string() && b.is_string()) return a.get_ref<const std::string&>().compare(b.get_ref<const std::string&>());
  return fail(Code::invalid_expression, "'{}' can't compare {} with {}", what, type_text(a), type_text(b));
}

Result<bool> is_in(const Json& element, const Json& whole) {
  if (whole.is_null()) return false;
  if (whole.is_array())
    return std::any_of(whole.begin(), whole.end(), [&](const Json& each) { return equal(each, element); });
  if ((whole.is_object() || whole.is_string()) && !element.is_string())
    return fail(Code::invalid_expression, "'in' can't look for {} in {}", type_text(element), type_text(whole));
  if (whole.is_object()) return whole.contains(element.get_ref<const std::string&>());
  if (whole.is_string())
    return whole.get_ref<const std::string&>().find(element.get_ref<const std::string&>()) != std::string::npos;
  return fail(Code::invalid_expression, "'in' can't search {}", type_text(whole));
}

Result<Json> call(Function function, std::span<const Json> arguments) {
  switch (function) {
    case Function::length: return length(arguments[0]);
    case Function::lower:
    case Function::upper: return changed_case(function, arguments[0]);
    case Function::starts_with:
    case Function::ends_with: return affix(function, arguments[0], arguments[1]);
    case Function::number: return number(arguments[0]);
    case Function::text: return Json(text_of(arguments[0]));
    case Function::json:
      if (arguments[0].is_string()) return parsed_json(arguments[0].get_ref<const std::string&>());
      return arguments[0];
    case Function::keys: return keys(arguments[0]);
    case Function::min:
    case Function::max: return extreme(function, arguments);
    case Function::round: return rounded(arguments[0]);
    case Function::range: return range(arguments);
    case Function::join: return join(arguments[0], arguments[1]);
    case Function::pluck: return pluck(arguments[0], arguments[1]);
    case Function::contains: {
      PAWL_TRY_ASSIGN(const bool found, is_in(arguments[1], arguments[0]));
      return Json(found);
    }
    case Function::default_value:
    case Function::always:
    case Function::failed: break;
  }
  return Json();
}

}  // namespace pawl::expression_tree
