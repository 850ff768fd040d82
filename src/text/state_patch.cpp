#include "text/state_patch.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kAppend = "$append";

/// A member of a patch. `plain` is its key without quotes and escapes.
struct Change {
  std::string_view quoted_key;
  std::string plain;
  std::string_view value;
  bool used = false;
};

/// The members of one object of the patch, searchable by key.
class Changes {
 public:
  explicit Changes(std::string_view object) {
    JsonMembers members(object);
    while (const std::optional<JsonMember> member = members.next()) {
      list_.push_back({member->key, unescape_json(member->key), member->value});
    }
    if (list_.size() <= kScanMax) return;
    for (std::size_t i = 0; i < list_.size(); ++i) by_key_.push_back(i);
    std::sort(by_key_.begin(), by_key_.end(),
              [this](std::size_t a, std::size_t b) { return list_[a].plain < list_[b].plain; });
  }

  [[nodiscard]] std::vector<Change>& in_order() { return list_; }

  [[nodiscard]] Change* find(std::string_view quoted_key) {
    const std::string_view raw = quoted_key.substr(1, quoted_key.size() - std::min<std::size_t>(quoted_key.size(), 2));
    if (raw.find('\\') == std::string_view::npos) return find_plain(raw);
    return find_plain(unescape_json(quoted_key));
  }

  [[nodiscard]] Change* find_plain(std::string_view key) {
    if (by_key_.empty()) {
      const auto found = std::find_if(list_.begin(), list_.end(), [key](const Change& c) { return c.plain == key; });
      return found == list_.end() ? nullptr : &*found;
    }
    const auto found = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                        [this](std::size_t i, std::string_view k) { return list_[i].plain < k; });
    return found == by_key_.end() || list_[*found].plain != key ? nullptr : &list_[*found];
  }

 private:
  static constexpr std::size_t kScanMax = 8;
  std::vector<Change> list_;
  std::vector<std::size_t> by_key_;  // empty while a linear search is faster
};

/// Returns the content of an array, without its brackets and the white space next to them.
std::string_view inside(std::string_view array) { return trim_json(array.substr(1, array.size() - 2)); }

/// Reads the state once from start to end. Everything before `copied_` was copied to `out_` or dropped.
class Patcher {
 public:
  Patcher(std::string_view state, std::size_t patch_bytes) : state_(state) { out_.reserve(state.size() + patch_bytes); }

  Result<std::string> run(std::string_view patch) {
    PAWL_TRY(merge(skip_json_space(state_, 0), patch));
    copy_until(state_.size());
    return std::move(out_);
  }

 private:
  void copy_until(std::size_t end) {
    if (end <= copied_) return;
    out_.append(state_.substr(copied_, end - copied_));
    copied_ = end;
  }
  void drop_until(std::size_t end) { copied_ = std::max(copied_, end); }

  /// Merges `patch` into the value that begins at `at`, and returns where that value ends.
  Result<std::size_t> merge(std::size_t at, std::string_view patch) {
    const bool into_object = json_type(state_.substr(at)) == JsonType::object;
    if (json_type(patch) == JsonType::object) {
      Changes changes(patch);
      PAWL_TRY_ASSIGN(const std::optional<std::string_view> appended, appended_array(changes));
      if (appended) return append(at, *appended);
      if (into_object) return merge_object(at, changes);
    }
    const std::size_t end = skip_json_value(state_, at);
    copy_until(at);
    PAWL_TRY(write_new(patch));
    drop_until(end);
    return end;
  }

  Result<std::size_t> merge_object(std::size_t at, Changes& changes) {
    bool kept = false;         // whether a member of the state was kept
    std::size_t end = at + 1;  // end of the last member, or of the opening brace
    std::size_t next = skip_json_space(state_, end);
    while (next < state_.size() && state_[next] == '"') {
      const std::size_t key_end = skip_json_value(state_, next);
      const std::size_t value_at = value_after(key_end);
      Change* change = changes.find(state_.substr(next, key_end - next));
      if (!kept && copied_ == end) drop_until(next);  // everything before it was removed, so its comma is removed, too
      if (change != nullptr && json_type(change->value) == JsonType::null) {
        change->used = true;
        copy_until(kept ? end : next);  // remove the comma before it as well, if there is one
        end = skip_json_value(state_, value_at);
        drop_until(end);
      } else {
        kept = true;
        PAWL_TRY_ASSIGN(end, merge_member(value_at, change));
      }
      next = skip_json_space(state_, end);
      if (next < state_.size() && state_[next] == ',') next = skip_json_space(state_, next + 1);
    }
    copy_until(end);
    PAWL_TRY(write_members(changes, kept));
    return std::min(next + 1, state_.size());
  }

  std::size_t value_after(std::size_t key_end) const {
    std::size_t at = skip_json_space(state_, key_end);
    if (at < state_.size() && state_[at] == ':') ++at;
    return skip_json_space(state_, at);
  }

  Result<std::size_t> merge_member(std::size_t value_at, Change* change) {
    if (change == nullptr) return skip_json_value(state_, value_at);
    change->used = true;
    PAWL_TRY(enter(change->plain));
    auto end = merge(value_at, change->value);
    path_.pop_back();
    return end;
  }

  /// Writes the members that the state does not have yet. `some` says whether others precede them.
  Result<void> write_members(Changes& changes, bool some) {
    for (const Change& change : changes.in_order()) {
      if (change.used || json_type(change.value) == JsonType::null) continue;
      if (some) out_ += ',';
      some = true;
      out_.append(change.quoted_key);
      out_ += ':';
      PAWL_TRY(enter(change.plain));
      PAWL_TRY(write_new(change.value));
      path_.pop_back();
    }
    return {};
  }

  /// Writes the result of applying `patch` to a missing value.
  Result<void> write_new(std::string_view patch) {
    if (json_type(patch) != JsonType::object) {
      out_.append(patch);
      return {};
    }
    Changes changes(patch);
    PAWL_TRY_ASSIGN(const std::optional<std::string_view> appended, appended_array(changes));
    if (appended) {
      out_.append(*appended);
      return {};
    }
    out_ += '{';
    PAWL_TRY(write_members(changes, false));
    out_ += '}';
    return {};
  }

  Result<std::size_t> append(std::size_t at, std::string_view array) {
    if (json_type(state_.substr(at)) != JsonType::array) {
      return refuse("the patch appends to something that is not an array");
    }
    const std::size_t end = skip_json_value(state_, at);
    const std::string_view elements = inside(array);
    if (elements.empty()) return end;
    std::size_t insert_at = end - 1;
    while (insert_at > at + 1 && is_json_space(state_[insert_at - 1])) --insert_at;
    copy_until(insert_at);
    if (insert_at > at + 1) out_ += ',';
    out_.append(elements);
    return end;
  }

  /// Returns the array of `{"$append": [...]}`, or nothing if the object does not have that form.
  Result<std::optional<std::string_view>> appended_array(Changes& changes) {
    const Change* change = changes.find_plain(kAppend);
    if (change == nullptr) return std::nullopt;
    if (changes.in_order().size() > 1) return refuse("\"$append\" must be the only member of its object");
    if (json_type(change->value) != JsonType::array) return refuse("the value of \"$append\" is not an array");
    return change->value;
  }

  Result<void> enter(std::string_view key) {
    if (path_.size() >= kJsonDepthMax) {
      return fail(Code::json_too_deep, "the patch is nested more than {} deep", kJsonDepthMax);
    }
    path_.push_back(key);
    return {};
  }

  std::unexpected<Error> refuse(std::string_view what) const {
    std::string pointer;
    for (const std::string_view key : path_) append_json_pointer(pointer, key);
    const std::string place = pointer.empty() ? "at the top level" : "at " + pointer;
    return fail(Error{Code::invalid_patch, fmt::format("{}, {}", what, place), pointer,
                      "to append, use {\"$append\": [...]} where the state has an array; anything else "
                      "replaces the value",
                      0});
  }

  std::string_view state_;
  std::string out_;
  std::size_t copied_ = 0;
  std::vector<std::string_view> path_;  // keys of the patch down to the current position, for messages
};

}  // namespace

Result<std::string> apply_patch(std::string_view state, std::string_view patch) {
  const std::string_view change = trim_json(patch);
  if (json_type(change) == JsonType::none) return fail(Code::invalid_patch, "the patch is empty");
  if (trim_json(state).empty()) return fail(Code::invalid_patch, "there is no state to patch");
  return Patcher(state, change.size()).run(change);
}

}  // namespace pawl
