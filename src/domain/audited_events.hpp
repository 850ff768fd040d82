// Which events have their own entry in the audit trail.
#pragma once

#include <pawl/save.hpp>
#include <string_view>

namespace pawl {

/// Returns whether the event is audited: decisions, refusals, and everything that somebody allowed.
[[nodiscard]] bool is_audited_type(std::string_view type);

[[nodiscard]] inline bool is_audited(const NewEvent& event) {
  return event.audited == Audited::yes || is_audited_type(event.type);
}

}  // namespace pawl
