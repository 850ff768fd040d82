// Verifying the audit trails of a store, with or without an anchor, and making the content of a new anchor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/anchor.hpp"
#include "audit/verify.hpp"
#include "ports/evidence.hpp"

namespace pawl {

/// Verifies one run: `verify_run`, or the same with a progress line.
using VerifyOne = std::function<Result<RunVerdict>(Evidence& evidence, const RunId& run, const AnchorPoint* anchor)>;

struct VerifiedStore {
  std::vector<RunVerdict> runs;
  std::vector<std::string> gone;   // in the anchor, and not in the store
  std::vector<std::string> fresh;  // in the store, and not in the anchor

  [[nodiscard]] bool fine() const;
};

/// Verifies `run`, or all runs if it is empty. Fails with anchor_mismatch if the anchor belongs to another store, and
/// with what keeps a run from being verified; a run that does not verify is part of the answer.
[[nodiscard]] Result<VerifiedStore> verify_store(Evidence& evidence, const std::string& run,
                                                 const std::optional<Anchor>& anchor, const VerifyOne& verify);

/// The first run that does not verify, or that is gone, as an error.
[[nodiscard]] Result<void> check_verified(const VerifiedStore& verified);

/// `verdict` must be bad.
[[nodiscard]] Error error_of(const RunVerdict& verdict);

/// Verifies all runs and collects their heads, unsigned. Fails at the first run that does not verify.
[[nodiscard]] Result<Anchor> collect_anchor(Evidence& evidence, Timestamp now, const VerifyOne& verify);

}  // namespace pawl
