// Secrets in the data of events.
#pragma once

#include <memory>

#include "base/json.hpp"
#include "secrets/secret_patterns.hpp"

namespace pawl {

/// Masks the texts within `value`, at any depth; names of members stay.
void mask_texts(Json& value, const std::shared_ptr<const SecretPatterns>& patterns, MaskCounts& counts);

/// The same for an event's data. What the state of a run refers to stays exact, because it is part of the state:
/// outputs and items, and the workflow that a resume compares with.
void mask_event(Json& data, const std::shared_ptr<const SecretPatterns>& patterns, MaskCounts& counts);

}  // namespace pawl
