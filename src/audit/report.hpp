// A run's audit trail as a document: JSON, CSV, or one HTML page that needs nothing else and can be printed.
#pragma once

#include <optional>
#include <pawl/audit.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "audit/verify.hpp"

namespace pawl {

struct AuditReport {
  RunInfo run;
  std::vector<AuditEntry> entries = {};
  Timestamp made = {};
  std::optional<RunVerdict> verdict = {};  // nothing: it was not verified
};

/// All of an entry, on one line.
[[nodiscard]] std::string entry_json(std::string_view run, const AuditEntry& entry);

[[nodiscard]] std::string report_as_json(const AuditReport& report);
/// RFC 4180, with a header. A cell that a spreadsheet would take for a formula begins with an apostrophe.
[[nodiscard]] std::string report_as_csv(const AuditReport& report);
/// Stretches of checkpoints without anything else are one row.
[[nodiscard]] std::string report_as_html(const AuditReport& report);

}  // namespace pawl
