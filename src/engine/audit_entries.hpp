// Entries that people and programs add to a run's audit trail.
#pragma once

#include <string>

#include "base/json.hpp"
#include "domain/settings.hpp"
#include "ports/environment.hpp"
#include "ports/store.hpp"

namespace pawl {

inline constexpr std::uint64_t kAuditDataBytesMax = 64U << 10U;

struct NewAuditEntry {
  std::string type = {};
  std::string agent = {};  // who acted; may be empty
  Json data = Json::object();
};

struct AddedEntry {
  bool asked = false;      // the run's owner was asked to write the entry
  std::string owner = {};  // the owner, for messages
  Sequence sequence = {};  // of the checkpoint that it was committed with
};

/// Returns who acted according to the data of an event (`by` or `agent`); empty if neither is a valid label.
[[nodiscard]] std::string agent_of(const Json& data);

/// Fails with invalid_label or state_too_large, and with usage for a type that is reserved for Pawl.
[[nodiscard]] Result<void> check_entry(const NewAuditEntry& entry);

/// Saves the same state again with the entry, or sends a message if an execution holds the run. Durable when it
/// returns. Masks what looks like a secret, as in events. Waits a few seconds for any other holder, then fails with
/// run_busy.
[[nodiscard]] Result<AddedEntry> add_audit_entry(Store& store, const RunId& run, NewAuditEntry entry,
                                                 const Settings& settings, Clock& clock);

}  // namespace pawl
