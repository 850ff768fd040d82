// Verifying the audit trails of a store, with or without an anchor, and creating the content of a new anchor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/anchor.hpp"
#include "audit/verify.hpp"
#include "ports/evidence.hpp"

namespace pawl {

/// Verifies one run: `verify_run`, possibly with a progress line.
using VerifyOne = std::function<Result<RunVerdict>(Evidence& evidence, const RunId& run, const AnchorPoint* anchor)>;

struct VerifiedStore {
  std::vector<RunVerdict> runs;
  std::vector<std::string> gone;   // in the anchor but not in the store
  std::vector<std::string> fresh;  // in the store but not in the anchor

  [[nodiscard]] bool fine() const;
};

/// Verifies `run`, or all runs if it is empty. Fails with anchor_mismatch if the anchor belongs to another store, or
/// with an error that prevents the verification. A run that does not verify is part of the result.
[[nodiscard]] Result<VerifiedStore> verify_store(Evidence& evidence, const std::string& run,
                                                 const std::optional<Anchor>& anchor, const VerifyOne& verify);

/// Returns the first run that does not verify or is missing, as an error.
[[nodiscard]] Result<void> check_verified(const VerifiedStore& verified);

/// `verdict` must be bad.
[[nodiscard]] Error error_of(const RunVerdict& verdict);

/// Verifies all runs and collects their heads, unsigned. Fails at the first run that does not verify.
[[nodiscard]] Result<Anchor> collect_anchor(Evidence& evidence, Timestamp now, const VerifyOne& verify);

}  // namespace pawl
