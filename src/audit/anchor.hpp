// An anchor: a signed list of the last audit entry of every run (docs/formats/audit.md). Kept apart from the store, it
// reveals what a hash chain alone can't: a truncated trail, a rebuilt chain, a deleted run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/signing.hpp"
#include "audit/verify.hpp"

namespace pawl {

struct Anchor {
  Uuid store = {};
  Timestamp created = {};
  std::vector<AuditHead> runs = {};  // sorted by run
  std::string public_key = {};       // 64 hexadecimal digits

  [[nodiscard]] const AuditHead* find(std::string_view run) const;
};

/// Returns the text of the file. Sets `anchor.public_key`.
[[nodiscard]] Result<std::string> sign_anchor(Anchor& anchor, const SigningKey& key);

/// Fails with signature_wrong if the text is not an anchor, if the signature does not match, or if it was signed with
/// another key than `trusted`.
[[nodiscard]] Result<Anchor> read_anchor(std::string_view text, std::string_view trusted);

}  // namespace pawl
