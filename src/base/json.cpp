#include "base/json.hpp"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace pawl {
namespace {

/// In an object with up to this many members, a search for each new key is faster than an index.
constexpr std::size_t kSearchedMax = 16;

using Members = Json::object_t::Container;  // the members by position

/// Keeps the last value of a repeated key, at the place of the first one, as small objects do.
void merge_repeated(Members& members) {
  std::unordered_map<std::string_view, std::size_t> first_places;
  first_places.reserve(members.size());
  std::vector<std::size_t> repeated;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto [first, is_new] = first_places.try_emplace(members[i].first, i);
    if (is_new) continue;
    members[first->second].second = std::move(members[i].second);
    repeated.push_back(i);
  }
  if (repeated.empty()) return;
  Members unique;
  std::size_t next_repeated = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (next_repeated < repeated.size() && repeated[next_repeated] == i) {
      ++next_repeated;
    } else {
      unique.emplace_back(members[i].first, std::move(members[i].second));
    }
  }
  members.swap(unique);
}

/// Receives the parts of a text. Appends members of large objects, where nlohmann's parser would search all of them.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(Json& root) : root_(root) {}

  bool null() override { return put(nullptr) != nullptr; }
  bool boolean(bool value) override { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value) != nullptr; }
  bool string(string_t& value) override { return put(std::move(value)) != nullptr; }
  bool binary(binary_t& /*value*/) override { return false; }  // not in JSON
  bool start_object(std::size_t /*size*/) override { return open(Json::value_t::object); }
  bool start_array(std::size_t /*size*/) override { return open(Json::value_t::array); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    if (members.size() < kSearchedMax) {
      member_ = &members[std::move(name)];
    } else {
      member_ = &members.emplace_back(std::move(name), nullptr).second;
    }
    return true;
  }

  bool end_object() override {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    if (members.size() > kSearchedMax) merge_repeated(members);
    return close();
  }

  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  template <class Value>
  Json* put(Value&& value) {
    if (open_.empty()) {
      root_ = Json(std::forward<Value>(value));
      return &root_;
    }
    if (open_.back()->is_array()) {
      return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::forward<Value>(value));
    }
    *member_ = Json(std::forward<Value>(value));
    return member_;
  }

  bool open(Json::value_t type) {
    open_.push_back(put(type));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Json*> open_;  // the objects and arrays that are not complete yet, outermost first
  Json* member_ = nullptr;   // the member whose value comes next
};

}  // namespace

Json parse_json(std::string_view text) {
  Json root;
  TreeBuilder builder(root);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return Json(Json::value_t::discarded);
  return root;
}

}  // namespace pawl
