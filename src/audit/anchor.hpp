// An anchor: a signed list of where every run's audit trail ended (docs/formats/audit.md). Kept out of reach of the
// store, it shows what a chain by itself can't: a tail that was cut, a chain that was built anew, a run that is gone.
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

/// The file's text. Sets `anchor.public_key`.
[[nodiscard]] Result<std::string> sign_anchor(Anchor& anchor, const SigningKey& key);

/// signature_wrong where the text is no anchor, is not what was signed, or was signed by another key than `trusted`.
[[nodiscard]] Result<Anchor> read_anchor(std::string_view text, std::string_view trusted);

}  // namespace pawl
