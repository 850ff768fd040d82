// One entry of a run's audit trail: the tamper-evident chain of what was done and decided (docs/formats/audit.md).
#pragma once

#include <pawl/types.hpp>

namespace pawl {

struct AuditEntry {
  std::uint64_t index = 0;  // within the run, from 1
  Timestamp at = {};
  std::string type = {};
  Sequence sequence = {};    // the checkpoint that it was committed with
  std::string payload = {};  // "sha256:..." of what it vouches for: run.json, the checkpoint's record, the event's line
  std::string previous = {};  // hash of the entry before, in hexadecimal; 64 zeros for the first
  std::string hash = {};
  std::uint64_t event = 0;  // number of the event that holds its data; 0: none
  std::string events = {};  // "sha256:..." of the lines of the events of the same save; empty: there were none
  std::string user = {};    // of the operating system, where people caused it
  std::string host = {};
  std::string agent = {};  // who acted, as given
  std::string data = {};   // JSON of the event; not part of the entry, and gone where the event is
  bool operator==(const AuditEntry&) const = default;
};

}  // namespace pawl
