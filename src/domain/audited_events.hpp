// Which events get an entry of their own in the audit trail.
#pragma once

#include <pawl/save.hpp>
#include <string_view>

namespace pawl {

/// Decisions, refusals, and what somebody let pass.
[[nodiscard]] bool is_audited_type(std::string_view type);

[[nodiscard]] inline bool is_audited(const NewEvent& event) {
  return event.audited == Audited::yes || is_audited_type(event.type);
}

}  // namespace pawl
