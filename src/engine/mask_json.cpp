#include "engine/mask_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace pawl {
namespace {

constexpr std::array<std::string_view, 7> kExact = {"step",  "item",     "output", "outputs",
                                                    "steps", "workflow", "binding"};

}  // namespace

void mask_texts(Json& value, const std::shared_ptr<const SecretPatterns>& patterns, MaskCounts& counts) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (patterns->may_hold(text)) value = mask_secrets(text, patterns, counts);
  } else if (value.is_structured()) {
    for (Json& inner : value) mask_texts(inner, patterns, counts);
  }
}

void mask_event(Json& data, const std::shared_ptr<const SecretPatterns>& patterns, MaskCounts& counts) {
  if (!data.is_object() || patterns->empty()) return;
  for (auto& [name, value] : data.items()) {
    if (std::ranges::find(kExact, name) == kExact.end()) mask_texts(value, patterns, counts);
  }
}

}  // namespace pawl
