// Recording in the audit trail that a state was read, if the setting `audit.reads` is on.
#pragma once

#include "domain/settings.hpp"
#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Adds an audit entry if `settings.audit.reads` is set. Call it before anything of the state is shown: a read that
/// can't be recorded must not happen. `reader` names what read it, for example "restore".
[[nodiscard]] Result<void> note_read(Store& store, const Settings& settings, Clock& clock, const RunId& run,
                                     Sequence sequence, std::string_view reader);

}  // namespace pawl
