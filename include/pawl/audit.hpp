// An entry of the audit trail of a run. The trail is a tamper-evident hash chain (docs/formats/audit.md).
#pragma once

#include <pawl/types.hpp>

namespace pawl {

struct AuditEntry {
  std::uint64_t index = 0;  // number of the entry within the run, starting at 1
  Timestamp at = {};
  std::string type = {};      // run_created, checkpoint_saved, the type of an audited event, ...
  Sequence sequence = {};     // the checkpoint that the entry was committed with
  std::string payload = {};   // "sha256:..." of what the entry covers: run.json, a checkpoint record or an event line
  std::string previous = {};  // hash of the previous entry, 64 hexadecimal digits; all zeros in the first entry
  std::string hash = {};      // hash of this entry, 64 hexadecimal digits
  std::uint64_t event = 0;    // number of the event that contains the data; 0: none
  std::string events = {};    // "sha256:...", the combined hash of the events of the same save; empty: no events
  std::string user = {};      // operating system user of the process that saved; may be empty
  std::string host = {};      // host of that process; may be empty
  std::string agent = {};     // who acted, as given by the caller
  std::string data = {};      // JSON data of the event; not part of the entry itself; empty if there is no event
  bool operator==(const AuditEntry&) const = default;
};

}  // namespace pawl
