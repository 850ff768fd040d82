// The request and the result of erasing or removing a run (Pawl::erase).
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <vector>

namespace pawl {

/// Whether the forks of the run are erased as well.
enum class Cascade : std::uint8_t { no, yes };

/// What is kept of a run whose data is destroyed.
enum class Remains : std::uint8_t {
  trail,      // the run is erased: its audit trail is kept, and it is still listed
  tombstone,  // the run is removed: only its ID, the end of its trail, and who removed it, when and why
};

struct EraseRequest {
  std::string reason = {};  // one line, at most 1,000 bytes; kept permanently, so it should not contain personal data
  std::string by = {};      // who requests it; empty: user and host of this process
  Cascade cascade = Cascade::no;  // yes: erase its forks first; no: fail with run_has_forks if there are any
  Remains remains = Remains::trail;
};

struct Erasure {
  enum class Outcome : std::uint8_t {
    done,     // all data is destroyed
    already,  // it had been erased before; the result describes that erasure
    pending,  // some data is left, see `waiting_for`; a later erase, check or writer destroys it
  };
  RunId run;
  Outcome outcome = Outcome::done;
  Timestamp at = {};    // when it was erased
  std::string by = {};  // who requested it
  std::string reason = {};
  std::optional<std::uint64_t> checkpoints = {};  // number of checkpoints that were destroyed; none: unknown
  std::vector<std::string> waiting_for = {};      // what still contains data of the run, as text for people
  std::vector<std::string> forks = {};            // IDs of the forks that were erased with it
  Remains remains = Remains::trail;
  Uuid uuid = {};             // all zeros if unknown
  Sequence latest = {};       // its last checkpoint; 0 if unknown
  std::uint64_t entries = 0;  // removed runs only: number of entries of its audit trail, without `erased`
  std::string head = {};      // removed runs only: hash of the last of these entries, in hexadecimal
  // Removed runs that had been erased before: when, by whom and why.
  std::optional<Timestamp> erased_at = {};
  std::string erased_by = {};
  std::string erased_reason = {};
  // First entry of the audit trail that was damaged before the erasure; 0: none.
  std::uint64_t damaged_entry = 0;
};

}  // namespace pawl
