// Masks secrets in the data of events.
#pragma once

#include <memory>

#include "base/json.hpp"
#include "secrets/secret_patterns.hpp"

namespace pawl {

/// Masks the strings in `value`, at any depth, but not the names of members.
void mask_texts(Json& value, const std::shared_ptr<const SecretPatterns>& patterns, MaskCounts& counts);

/// The same for the data of an event. Outputs, items and the workflow stay exact, because the state refers to them.
void mask_event(Json& data, const std::shared_ptr<const SecretPatterns>& patterns, MaskCounts& counts);

}  // namespace pawl
