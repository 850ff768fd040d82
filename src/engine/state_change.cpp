#include "engine/state_change.hpp"

#include <algorithm>
#include <charconv>

#include "codec/json_check.hpp"
#include "text/state_patch.hpp"
#include "text/suggest.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kValueBytesMax = 8ULL << 20;
constexpr std::size_t kPartsMax = 100;

Error bad_change(std::string_view text) {
  return Error{Code::invalid_change,
               fmt::format("invalid change '{}': must be PATH=VALUE", text),
               {},
               "for example: --set a.b[0]=VALUE or --set /a/b/0=VALUE; in a JSON pointer, ~1 stands for / and ~0 for ~",
               0};
}

std::optional<std::size_t> index_in(std::string_view part) {
  if (part.size() > 1 && part.starts_with('0')) return std::nullopt;  // it may be a name
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

/// Splits `/a/b~1c/0` into a, b/c, 0; empty if it is malformed.
std::vector<std::string> parts_of_pointer(std::string_view pointer) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      if (parts.size() >= kPartsMax) return {};
      parts.emplace_back();
      continue;
    }
    if (pointer[i] != '~') {
      parts.back() += pointer[i];
      continue;
    }
    const char code = i + 1 < pointer.size() ? pointer[++i] : '\0';
    if (code != '0' && code != '1') return {};
    parts.back() += code == '0' ? '~' : '/';
  }
  return parts;
}

std::string pointer_of(const std::vector<std::string>& path, std::size_t count) {
  std::string pointer;
  for (std::size_t i = 0; i < count; ++i) {
    pointer += '/';
    for (const char c : path[i]) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return pointer;
}

/// Returns the member or element that `part` names, or null.
Json* part_of(Json& value, const std::string& part) {
  if (value.is_object()) {
    const auto found = value.find(part);
    return found == value.end() ? nullptr : &*found;
  }
  const auto index = index_in(part);
  return value.is_array() && index && *index < value.size() ? &value[*index] : nullptr;
}

std::string nearest_text(const std::vector<std::string>& path, std::size_t known, const Json& nearest) {
  // A name that contains dots, written as if it were several names.
  std::string joined;
  for (std::size_t i = known; nearest.is_object() && i < path.size(); ++i) {
    joined += (joined.empty() ? "" : ".") + path[i];
    if (i > known && nearest.contains(joined)) {
      std::vector<std::string> better(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(known));
      better.push_back(joined);
      return fmt::format("did you mean {}?", pointer_of(better, better.size()));
    }
  }
  std::vector<std::string> names;
  if (nearest.is_object()) {
    for (const auto& [name, value] : nearest.items()) names.push_back(name);
  }
  if (const std::string similar = suggest(path[known], names); !similar.empty()) {
    std::vector<std::string> better(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(known));
    better.push_back(similar);
    return fmt::format("did you mean {}?", pointer_of(better, better.size()));
  }
  const std::string where = known == 0 ? "the state" : pointer_of(path, known);
  if (nearest.is_array())
    return fmt::format("{} has {} element{}", where, nearest.size(), nearest.size() == 1 ? "" : "s");
  if (nearest.is_object()) return fmt::format("{} has no member '{}'", where, path[known]);
  return fmt::format("{} is not an object or array", where);
}

Result<void> refuse_missing(Json& value, const StateChange& change) {
  Json* at = &value;
  for (std::size_t known = 0; known < change.path.size(); ++known) {
    Json* const next = part_of(*at, change.path[known]);
    if (next != nullptr) {
      at = next;
      continue;
    }
    return fail(
        Error{Code::invalid_change,
              fmt::format("'{}' does not exist in the state", change.typed.empty() ? change.text() : change.typed),
              {},
              fmt::format("{}; to add it, pass --create", nearest_text(change.path, known, *at)),
              0});
  }
  return {};
}

/// Returns the change as a JSON Merge Patch, which keeps all other bytes. Nothing if a patch can't express it.
std::optional<Json> as_patch(const StateChange& change) {
  if (change.value.is_object() || change.value.is_null()) return std::nullopt;
  Json patch = change.value;
  for (auto part = change.path.rbegin(); part != change.path.rend(); ++part) {
    if (index_in(*part) || *part == "-" || *part == "$append") return std::nullopt;
    patch = Json::object({{*part, std::move(patch)}});
  }
  return patch;
}

}  // namespace

std::string StateChange::text() const {
  const bool plain = std::ranges::none_of(
      path, [](const std::string& part) { return part.empty() || part.find_first_of(".[]/=") != std::string::npos; });
  return plain ? fmt::format("{}", fmt::join(path, ".")) : pointer_of(path, path.size());
}

Result<StateChange> parse_change(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail(bad_change(text));
  const std::string_view path = text.substr(0, equals);
  StateChange change{path.starts_with('/') ? parts_of_pointer(path) : parts_of(path), {}, std::string(path)};
  if (change.path.empty()) return fail(bad_change(text));
  const std::string_view value = text.substr(equals + 1);
  const Result<void> is_json = check_json(value, kValueBytesMax);
  if (is_json) {
    change.value = parse_json(value);
    return change;
  }
  // It is JSON, so it is not meant as text.
  if (is_json.error().code == Code::number_out_of_range) return fail(at(is_json.error(), change.text()));
  change.value = std::string(value);
  if (const Result<void> checked = check_json(compact(change.value), kValueBytesMax); !checked)
    return fail(checked.error());
  return change;
}

Result<void> apply_change(Json& value, const StateChange& change, MissingPath missing) {
  if (missing == MissingPath::refuse) PAWL_TRY(refuse_missing(value, change));
  Json* at = &value;
  for (const std::string& part : change.path) {
    if (at->is_null()) *at = Json::object();
    if (at->is_object()) {
      at = &(*at)[part];
      continue;
    }
    const auto index = at->is_array() && part == "-" ? std::optional(at->size()) : index_in(part);
    if (at->is_array() && index && *index <= at->size()) {
      if (*index == at->size()) at->push_back(Json());
      at = &(*at)[*index];
      continue;
    }
    return fail(Error{
        Code::invalid_change,
        fmt::format("'{}' can't be set: {}", change.text(),
                    at->is_array()
                        ? fmt::format("'{}' is not an index of the array, nor the next one ({})", part, at->size())
                        : fmt::format("'{}' would be inside a {}", part, at->type_name())),
        {},
        {},
        0,
        Advice::show_state});
  }
  *at = change.value;
  return {};
}

Result<std::string> changed_state(std::string_view state, const std::vector<StateChange>& changes,
                                  MissingPath missing) {
  std::string text(state);
  for (const StateChange& change : changes) {
    Json value = parse_json(text);
    PAWL_TRY(apply_change(value, change, missing));
    if (const std::optional<Json> patch = as_patch(change)) {
      PAWL_TRY_ASSIGN(text, apply_patch(text, compact(*patch)));
    } else {
      text = compact(value);
    }
  }
  return text;
}

}  // namespace pawl
