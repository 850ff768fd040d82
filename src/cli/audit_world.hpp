// What `pawl verify` and `pawl audit` reach of the world beside the store itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/signing.hpp"
#include "ports/evidence.hpp"

namespace pawl::cli {

struct AuditWorld {
  /// Reads only. store_not_found; usage for a store that has no files.
  std::function<Result<std::unique_ptr<Evidence>>(std::string_view uri)> open_evidence;
  /// The user's own, made at the first use.
  std::function<Result<SigningKey>()> signing_key;
  /// Its public part; nothing where there is none yet.
  std::function<Result<std::optional<std::string>>()> own_public_key;
};

}  // namespace pawl::cli
