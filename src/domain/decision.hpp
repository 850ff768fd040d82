// What an agent decided and why, and what holds it up.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pawl {

struct Decision {
  Timestamp at;
  std::string agent;
  std::string type;  // for example workflow_adjustment
  std::string description;
  std::string rationale;
  double confidence = 1.0;  // 0 to 1
  std::vector<std::string> alternatives;
  bool operator==(const Decision&) const = default;
};

struct Blocker {
  Timestamp at;
  std::string agent;
  std::string description;
  bool operator==(const Blocker&) const = default;
};

/// Fails with invalid_label where the agent or the description is empty or the confidence is not in 0 to 1.
[[nodiscard]] Result<void> check_decision(const Decision& decision);

/// A JSON object, for events and the audit trail. A confidence that is not finite is written as null.
[[nodiscard]] std::string to_json(const Decision& decision);
[[nodiscard]] std::string to_json(const Blocker& blocker);

}  // namespace pawl
