// Messages to a run that is executed, or can be resumed.
#pragma once

#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Posts a message that only a run that has not ended can act on: a decision, a signal, an audit entry, a request to
/// cancel. When this returns, the message is durable, and the run has consumed it or will do so: an execution that ends
/// seals the inbox before it reads it for the last time (ports/store.hpp, S24). Returns the id of the message.
///
/// Waits for a run that is just ending, for at most 2 s. Fails with run_ended if the run ended without the message,
/// which is then removed, and with run_busy if that is still unknown: the message may be consumed. Also fails as
/// checked_post does.
[[nodiscard]] Result<std::string> deliver(Store& store, Clock& clock, const RunId& run, std::string_view body);

}  // namespace pawl
