#include "engine/state_change.hpp"

#include <algorithm>
#include <charconv>

#include "codec/json_check.hpp"
#include "text/state_patch.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kValueBytesMax = 8ULL << 20;
constexpr std::size_t kPartsMax = 100;

Error bad_change(std::string_view text) {
  return Error{Code::invalid_change,
               fmt::format("invalid change '{}': must be PATH=VALUE", text),
               {},
               "for example: --set a.b[0]=VALUE; the value is parsed as JSON if valid, otherwise kept as text",
               0};
}

std::optional<std::size_t> index_in(std::string_view part) {
  std::size_t index = 0;
  const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (problem != std::errc{} || end != part.data() + part.size()) return std::nullopt;
  return index;
}

/// Splits `a.b[0]` into a, b, 0; empty if it is malformed.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    if (end == 0 || parts.size() >= kPartsMax) return {};
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
    while (path.starts_with('[')) {
      const std::size_t close = path.find(']');
      if (close == std::string_view::npos || !index_in(path.substr(1, close - 1))) return {};
      parts.emplace_back(path.substr(1, close - 1));
      path.remove_prefix(close + 1);
    }
    if (path.empty()) return parts;
    if (!path.starts_with('.')) return {};
    path.remove_prefix(1);
  }
}

/// Returns the change as a JSON Merge Patch, which keeps all other bytes. Nothing if a patch can't express it.
std::optional<Json> as_patch(const StateChange& change) {
  if (change.value.is_object() || change.value.is_null()) return std::nullopt;
  Json patch = change.value;
  for (auto part = change.path.rbegin(); part != change.path.rend(); ++part) {
    if (index_in(*part) || *part == "$append") return std::nullopt;
    patch = Json::object({{*part, std::move(patch)}});
  }
  return patch;
}

}  // namespace

std::string StateChange::text() const { return fmt::format("{}", fmt::join(path, ".")); }

Result<StateChange> parse_change(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail(bad_change(text));
  StateChange change{parts_of(text.substr(0, equals)), {}};
  if (change.path.empty()) return fail(bad_change(text));
  const std::string_view value = text.substr(equals + 1);
  if (check_json(value, kValueBytesMax)) {
    change.value = Json::parse(value, nullptr, false);
    return change;
  }
  change.value = std::string(value);
  if (const Result<void> checked = check_json(compact(change.value), kValueBytesMax); !checked)
    return fail(checked.error());
  return change;
}

Result<void> apply_change(Json& value, const StateChange& change) {
  Json* at = &value;
  for (const std::string& part : change.path) {
    if (at->is_null()) *at = Json::object();
    if (at->is_object()) {
      at = &(*at)[part];
      continue;
    }
    const auto index = index_in(part);
    if (at->is_array() && index && *index <= at->size()) {
      if (*index == at->size()) at->push_back(Json());
      at = &(*at)[*index];
      continue;
    }
    return fail(Error{Code::invalid_change,
                      fmt::format("'{}' can't be set: '{}' is no {}", change.text(), part,
                                  at->is_array() ? "index of the array" : "part of a plain value"),
                      {},
                      {},
                      0,
                      Advice::show_state});
  }
  *at = change.value;
  return {};
}

Result<std::string> changed_state(std::string_view state, const std::vector<StateChange>& changes) {
  std::string text(state);
  for (const StateChange& change : changes) {
    Json value = Json::parse(text, nullptr, false);
    PAWL_TRY(apply_change(value, change));
    if (const std::optional<Json> patch = as_patch(change)) {
      PAWL_TRY_ASSIGN(text, apply_patch(text, compact(*patch)));
    } else {
      text = compact(value);
    }
  }
  return text;
}

}  // namespace pawl
