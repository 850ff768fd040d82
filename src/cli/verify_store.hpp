// Verifying runs from the command line, and saying what came of it.
#pragma once

#include "audit/verify.hpp"
#include "cli/command.hpp"

namespace pawl::cli {

[[nodiscard]] Result<std::unique_ptr<Evidence>> open_evidence(const Invocation& invocation);

/// With a line that counts on standard error, where that is a terminal.
[[nodiscard]] Result<RunVerdict> verify_with_progress(const Invocation& invocation, Evidence& evidence,
                                                      const RunId& run, const AnchorPoint* anchor);

[[nodiscard]] std::string verdict_text(const RunVerdict& verdict, const Style& style);
[[nodiscard]] std::string verdict_json(const RunVerdict& verdict);
/// Of a verdict that is bad.
[[nodiscard]] Error error_of(const RunVerdict& verdict);

}  // namespace pawl::cli
