#include "codec/json_check.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <variant>
#include <vector>

#include "codec/json_fault.hpp"
#include "text/json_text.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kKeptBytesMax = std::size_t{16} << 20U;  // texts up to this size keep their buffers
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// A parser and the padded copy that it requires, reused between calls.
class Workspace {
 public:
  simdjson::simdjson_result<dom::element> parse(std::string_view text) {
    if (!reserve(text.size())) return simdjson::MEMALLOC;
    std::memcpy(buffer_.get(), text.data(), text.size());
    std::memset(buffer_.get() + text.size(), 0, simdjson::SIMDJSON_PADDING);
    return parser_->parse(buffer_.get(), text.size(), false);
  }

  /// Frees the memory that a large text required.
  void shrink() {
    if (capacity_ <= kKeptBytesMax) return;
    parser_.reset();
    buffer_.reset();
    capacity_ = 0;
  }

 private:
  bool reserve(std::size_t bytes) {
    if (parser_ && bytes <= capacity_) return true;
    const std::size_t capacity = std::max(std::size_t{64} << 10U, bytes + bytes / 4);
    buffer_.reset(new (std::nothrow) char[capacity + simdjson::SIMDJSON_PADDING]);
    parser_.reset(new (std::nothrow) dom::parser());
    capacity_ = 0;
    if (!buffer_ || !parser_ || parser_->allocate(capacity, kJsonDepthMax + 1) != simdjson::SUCCESS) return false;
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<dom::parser> parser_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
};

/// Searches for an object with a duplicate key. Depth first, with its own stack.
class DuplicateSearch {
 public:
  /// Returns the duplicate key, without escapes.
  std::optional<std::string_view> run(dom::element root) {
    if (auto key = enter(root)) return key;
    while (!stack_.empty()) {
      too_deep_ = too_deep_ || stack_.size() > kJsonDepthMax;
      const std::optional<dom::element> child = next_child(stack_.back());
      if (!child) {
        stack_.pop_back();
      } else if (auto key = enter(*child)) {
        return key;
      }
    }
    return std::nullopt;
  }
  /// simdjson does not count an empty container as a level, so the text can still be too deep.
  [[nodiscard]] bool too_deep() const { return too_deep_; }

 private:
  struct InObject {
    dom::object::iterator at, end;
  };
  struct InArray {
    dom::array::iterator at, end;
  };
  using Frame = std::variant<InObject, InArray>;

  static bool is_container(dom::element element) { return element.is_object() || element.is_array(); }

  /// Skips scalars, which contain no keys.
  static std::optional<dom::element> next_child(Frame& frame) {
    if (auto* object = std::get_if<InObject>(&frame)) {
      for (; object->at != object->end; ++object->at) {
        if (const dom::element value = object->at.value(); is_container(value)) {
          ++object->at;
          return value;
        }
      }
      return std::nullopt;
    }
    auto& array = std::get<InArray>(frame);
    for (; array.at != array.end; ++array.at) {
      if (const dom::element value = *array.at; is_container(value)) {
        ++array.at;
        return value;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string_view> enter(dom::element element) {
    dom::array array;
    if (element.get(array) == simdjson::SUCCESS) {
      stack_.push_back(InArray{array.begin(), array.end()});
      return std::nullopt;
    }
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS) return std::nullopt;
    stack_.push_back(InObject{object.begin(), object.end()});
    keys_.clear();
    for (auto at = object.begin(); at != object.end(); ++at) keys_.push_back(at.key());
    return keys_.size() <= kPairwiseMax ? duplicate_of_few() : duplicate_of_many();
  }

  std::optional<std::string_view> duplicate_of_few() const {
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (keys_[i] == keys_[j]) return keys_[i];  // compares the lengths first
      }
    }
    return std::nullopt;
  }

  std::optional<std::string_view> duplicate_of_many() {
    const auto shorter_or_less = [](std::string_view a, std::string_view b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    };
    std::sort(keys_.begin(), keys_.end(), shorter_or_less);
    const auto found = std::adjacent_find(keys_.begin(), keys_.end());
    return found == keys_.end() ? std::nullopt : std::optional(*found);
  }

  static constexpr std::size_t kPairwiseMax = 8;
  std::vector<Frame> stack_;
  std::vector<std::string_view> keys_;
  bool too_deep_ = false;
};

/// The parser refused the text; the slow scanner finds out why.
std::unexpected<Error> explain(std::string_view text, simdjson::error_code error) {
  if (std::optional<Error> fault = find_json_fault(text)) return fail(std::move(*fault));
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    return fail(Code::state_too_large, "not enough memory to check {} bytes of JSON", text.size());
  }
  return fail(Code::invalid_json, "this is not valid JSON: {}", simdjson::error_message(error));
}

Result<void> check_keys(std::string_view text, dom::element root) {
  DuplicateSearch search;
  const std::optional<std::string_view> key = search.run(root);
  if (search.too_deep()) return explain(text, simdjson::DEPTH_ERROR);
  if (!key) return {};
  const std::string_view shown = key->substr(0, utf8_cut(*key, 80));
  return fail(Error{Code::duplicate_key,
                    fmt::format("duplicate key {}", escape_json(shown)),
                    {},
                    "remove one of the two; JSON readers disagree about which one counts",
                    0});
}

}  // namespace

Result<void> check_json(std::string_view text, std::uint64_t bytes_max) {
  if (text.size() > bytes_max) {
    return fail(Error{Code::state_too_large,
                      fmt::format("the JSON has {} bytes; the maximum is {}", text.size(), bytes_max),
                      {},
                      "keep large values in files and only their names in the state, or raise "
                      "checkpoint.checkpoint_size_limit_mb",
                      0,
                      Advice::show_settings,
                      {.value = "checkpoint"}});
  }
  if (text.empty()) return fail(Error{Code::invalid_json, "the input is empty", {}, "write an empty state as {}", 0});
  if (text.starts_with(kByteOrderMark)) {
    return fail(Error{Code::invalid_json, "the input begins with a byte order mark (EF BB BF), which is not JSON",
                      "line 1, column 1", "save the file as UTF-8 without a byte order mark", 0});
  }
  thread_local Workspace workspace;
  dom::element root;
  const simdjson::error_code error = workspace.parse(text).get(root);
  Result<void> result = error == simdjson::SUCCESS ? check_keys(text, root) : Result<void>(explain(text, error));
  workspace.shrink();
  return result;
}

}  // namespace pawl
