// Verifying runs from the command line: progress and results.
#pragma once

#include "cli/command.hpp"
#include "service/verify_store.hpp"

namespace pawl::cli {

[[nodiscard]] Result<std::unique_ptr<Evidence>> open_evidence(const Invocation& invocation);

/// Counts entries in a line on standard error, if that is a terminal.
[[nodiscard]] Result<RunVerdict> verify_with_progress(const Invocation& invocation, Evidence& evidence,
                                                      const RunId& run, const AnchorPoint* anchor);
/// The same for use cases. `invocation` outlives it.
[[nodiscard]] VerifyOne verifier(const Invocation& invocation);

[[nodiscard]] std::string verdict_text(const RunVerdict& verdict, const Style& style);
[[nodiscard]] std::string verdict_json(const RunVerdict& verdict);

}  // namespace pawl::cli
