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
  bool asked = false;      // the run's owner was asked to: it writes the entry
  std::string owner = {};  // that one, for people
  Sequence sequence = {};  // of the checkpoint that it was committed with
};

/// Who acted, by the data of an event: `by`, or `agent`; empty where neither is there, or can't be a label.
[[nodiscard]] std::string agent_of(const Json& data);

/// invalid_label or state_too_large; usage for a type that Pawl itself writes.
[[nodiscard]] Result<void> check_entry(const NewAuditEntry& entry);

/// A save of the same state with the entry; where an execution holds the run, a message to it. Durable when it returns.
/// What looks like a secret is masked as in events. Any other holder is waited for a few seconds: run_busy.
[[nodiscard]] Result<AddedEntry> add_audit_entry(Store& store, const RunId& run, NewAuditEntry entry,
                                                 const Settings& settings, Clock& clock);

}  // namespace pawl
