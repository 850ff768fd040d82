// Incoming states: the JSON check, patches and differences. The first byte selects one. A byte 0xFF, which never occurs
// in UTF-8, divides the rest into two texts.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/assert.hpp"
#include "codec/json_check.hpp"
#include "codec/json_diff.hpp"
#include "codec/record_text.hpp"
#include "domain/save_rules.hpp"
#include "text/json_text.hpp"
#include "text/state_patch.hpp"
#include "text/text_diff.hpp"

namespace {

using namespace pawl;
using nlohmann::json;

constexpr std::uint64_t kBytesMax = 1U << 20;

json parsed(std::string_view text) {
  json value = json::parse(text, nullptr, false);
  PAWL_ASSERT(!value.is_discarded());
  return value;
}

/// Accepted text must be JSON for another parser as well, also when it is put on one line.
void check(std::string_view text) {
  if (!check_json(text, kBytesMax)) return;
  const json value = parsed(text);
  PAWL_ASSERT(parsed(one_line(text)) == value);
  PAWL_ASSERT(trim_json(text).size() <= text.size() && json_type(trim_json(text)) != JsonType::none);
}

void patch(std::string_view state, std::string_view change) {
  if (!check_json(state, kBytesMax) || !check_json(change, kBytesMax)) return;
  const auto patched = apply_patch(state, change);
  if (!patched) {
    PAWL_ASSERT(patched.error().code == Code::invalid_patch);
    return;
  }
  PAWL_ASSERT(check_json(*patched, 4 * kBytesMax));
  json expected = parsed(state);
  const json merge = parsed(change);
  if (merge.dump(-1, ' ', false, json::error_handler_t::replace).find("$append") != std::string::npos) return;
  expected.merge_patch(merge);
  PAWL_ASSERT(parsed(*patched) == expected);
}

void text_difference(std::string_view before, std::string_view after) {
  const auto splices = diff_text(before, after);
  const auto applied = apply_splices(before, splices);
  PAWL_ASSERT(applied && *applied == after);
  std::string state(before);
  PAWL_ASSERT(apply_encoded_splices(state, encode_splices(splices)) && state == after);
}

void json_difference(std::string_view before, std::string_view after) {
  if (!check_json(before, kBytesMax) || !check_json(after, kBytesMax)) {
    static_cast<void>(json_patch(before, after));
    return;
  }
  const auto operations = json_patch(before, after);
  PAWL_ASSERT(operations.has_value() && readable_diff(before, after).has_value());
  PAWL_ASSERT(parsed(before).patch(parsed(*operations)) == parsed(after));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const std::size_t middle = rest.find('\xFF');
  const std::string_view first = rest.substr(0, middle);
  const std::string_view second = middle == std::string_view::npos ? std::string_view() : rest.substr(middle + 1);
  switch (bytes[0] % 4) {
    case 0: check(rest); break;
    case 1: patch(first, second); break;
    case 2: text_difference(first, second); break;
    default: json_difference(first, second); break;
  }
  return 0;
}
