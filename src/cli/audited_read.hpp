// Reading a checkpoint's state as an entry of the audit trail, where the settings want it.
#pragma once

#include "cli/command.hpp"

namespace pawl::cli {

/// `audit.reads`.
[[nodiscard]] bool reads_are_noted(const Invocation& invocation);
/// To be called before anything of the state is shown: what can't be recorded is not shown. Nothing without
/// `audit.reads`.
[[nodiscard]] Result<void> note_read(const Invocation& invocation, Store& store, const RunId& run, Sequence sequence,
                                     std::string_view command);

}  // namespace pawl::cli
