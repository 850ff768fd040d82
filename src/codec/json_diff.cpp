#include "codec/json_diff.hpp"

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"
#include "text/json_text.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::size_t kShownBytesMax = 80;

/// One change. `before` is missing for an addition, `after` for a removal.
struct Change {
  std::string pointer;
  const Json* before = nullptr;
  const Json* after = nullptr;
};

using MemberList = Json::object_t::Container;  // the members by position

/// The members of an object by key, because ordered_json searches all of them for each key.
class Members {
 public:
  Members(const MemberList& members, std::size_t first) {
    by_key_.reserve(members.size() - first);
    for (std::size_t i = first; i < members.size(); ++i) by_key_.emplace(members[i].first, &members[i].second);
  }
  [[nodiscard]] const Json* find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const Json*> by_key_;
};

/// Collects the changes in an order in which they can be applied. Recursion is bounded by the maximum depth of JSON.
class Comparison {
 public:
  std::vector<Change> run(const Json& before, const Json& after) {
    compare(before, after);
    return std::move(changes_);
  }

 private:
  void compare(const Json& before, const Json& after) {
    if (before.is_object() && after.is_object()) {
      compare_objects(before, after);
    } else if (before.is_array() && after.is_array()) {
      compare_arrays(before, after);
    } else if (before != after) {
      changes_.push_back({pointer_, &before, &after});
    }
  }

  void compare_objects(const Json& before, const Json& after) {
    const MemberList& old_list = before.get_ref<const Json::object_t&>();
    const MemberList& new_list = after.get_ref<const Json::object_t&>();
    // Two states of a run mostly have the same keys in the same order; these need no index.
    std::size_t i = 0;
    for (; i < old_list.size() && i < new_list.size() && old_list[i].first == new_list[i].first; ++i) {
      visit(old_list[i].first, &old_list[i].second, &new_list[i].second);
    }
    if (i == old_list.size() && i == new_list.size()) return;
    const Members old_members(old_list, i);
    const Members new_members(new_list, i);
    for (std::size_t k = i; k < old_list.size(); ++k) {
      visit(old_list[k].first, &old_list[k].second, new_members.find(old_list[k].first));
    }
    for (std::size_t k = i; k < new_list.size(); ++k) {
      if (old_members.find(new_list[k].first) == nullptr) visit(new_list[k].first, nullptr, &new_list[k].second);
    }
  }

  void compare_arrays(const Json& before, const Json& after) {
    const std::size_t common = std::min(before.size(), after.size());
    for (std::size_t i = 0; i < common; ++i) visit(std::to_string(i), &before[i], &after[i]);
    for (std::size_t i = before.size(); i > common; --i) visit(std::to_string(i - 1), &before[i - 1], nullptr);
    for (std::size_t i = common; i < after.size(); ++i) visit(std::to_string(i), nullptr, &after[i]);
  }

  void visit(std::string_view key, const Json* before, const Json* after) {
    const std::size_t size = pointer_.size();
    append_json_pointer(pointer_, key);
    if (before != nullptr && after != nullptr) {
      compare(*before, *after);
    } else {
      changes_.push_back({pointer_, before, after});
    }
    pointer_.resize(size);
  }

  std::string pointer_;
  std::vector<Change> changes_;
};

void append_operation(std::string& out, const Change& change) {
  const char* name = change.before == nullptr ? "add" : change.after == nullptr ? "remove" : "replace";
  out += fmt::format("{{\"op\":\"{}\",\"path\":", name);
  append_json_string(out, change.pointer);
  if (change.after != nullptr) out += ",\"value\":" + change.after->dump();
  out += '}';
}

std::string shown(const Json& value) {
  std::string text = value.dump();
  if (text.size() <= kShownBytesMax) return text;
  text.resize(utf8_cut(text, kShownBytesMax));
  return text + "...";
}

/// Returns the pointer on one line, whatever characters the keys contain.
std::string shown(const std::string& pointer) {
  if (pointer.empty()) return "(everything)";
  const std::string quoted = escape_json(pointer);
  return quoted.substr(1, quoted.size() - 2);
}

void append_line(std::string& out, const Change& change) {
  if (change.before == nullptr) {
    out += fmt::format("+ {}: {}\n", shown(change.pointer), shown(*change.after));
  } else if (change.after == nullptr) {
    out += fmt::format("- {}: {}\n", shown(change.pointer), shown(*change.before));
  } else {
    out += fmt::format("~ {}: {} -> {}\n", shown(change.pointer), shown(*change.before), shown(*change.after));
  }
}

/// Parses both texts, compares them and calls `write` to format the changes. Exceptions of the library are caught here.
template <class Write>
Result<std::string> compared(std::string_view before, std::string_view after, Write write) {
  try {
    const Json old_json = parse_json(before);
    const Json new_json = parse_json(after);
    if (old_json.is_discarded()) return fail(Code::invalid_json, "the first of the two states is not valid JSON");
    if (new_json.is_discarded()) return fail(Code::invalid_json, "the second of the two states is not valid JSON");
    return write(Comparison().run(old_json, new_json));
  } catch (const std::exception& exception) {
    return fail(Code::invalid_json, "the states can't be compared: {}", exception.what());
  }
}

}  // namespace

Result<std::string> json_patch(std::string_view before, std::string_view after) {
  return compared(before, after, [](const std::vector<Change>& changes) {
    std::string out = "[";
    for (const Change& change : changes) {
      if (out.size() > 1) out += ',';
      append_operation(out, change);
    }
    return out + "]";
  });
}

Result<std::string> readable_diff(std::string_view before, std::string_view after) {
  return compared(before, after, [](const std::vector<Change>& changes) {
    std::string out;
    for (const Change& change : changes) append_line(out, change);
    return out;
  });
}

}  // namespace pawl
