// The audit trail of a run as a document: JSON, CSV, or a self-contained HTML page for printing.
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
  std::optional<RunVerdict> verdict = {};  // empty: not verified
};

/// Returns the complete entry on one line.
[[nodiscard]] std::string entry_json(std::string_view run, const AuditEntry& entry);

[[nodiscard]] std::string report_as_json(const AuditReport& report);
/// Returns CSV (RFC 4180) with a header. A cell that a spreadsheet would read as a formula starts with an apostrophe.
[[nodiscard]] std::string report_as_csv(const AuditReport& report);
/// Returns HTML. Consecutive checkpoints without other entries share one row.
[[nodiscard]] std::string report_as_html(const AuditReport& report);

}  // namespace pawl
