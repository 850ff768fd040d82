// What verifying and signing audit trails needs besides the store.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/signing.hpp"
#include "ports/evidence.hpp"

namespace pawl {

struct AuditWorld {
  /// Read-only. Fails with store_not_found, or usage if the store has no files.
  std::function<Result<std::unique_ptr<Evidence>>(std::string_view uri)> open_evidence;
  /// The user's own key, created at the first use.
  std::function<Result<SigningKey>()> signing_key;
  /// The public key; empty if there is none yet.
  std::function<Result<std::optional<std::string>>()> own_public_key;
};

}  // namespace pawl
