// Erasing a run: what is asked for, and what was done.
#pragma once

#include <cstdint>
#include <pawl/types.hpp>
#include <string>
#include <vector>

namespace pawl {

enum class Cascade : std::uint8_t { no, yes };

/// What stays of the run when its data is destroyed.
enum class Remains : std::uint8_t {
  trail,      // erased: its audit trail stays and it is listed
  tombstone,  // removed: only what identifies it, where its trail ended, and who removed it, when and why
};

struct EraseRequest {
  std::string reason = {};        // one line; it stays, so it should name nobody
  std::string by = {};            // who asks; empty: the operating system's user and the host
  Cascade cascade = Cascade::no;  // yes: runs that were forked from it are erased first
  Remains remains = Remains::trail;
};

struct Erasure {
  enum class Outcome : std::uint8_t {
    done,     // nothing is left
    already,  // it was erased before
    pending,  // what could be destroyed is; the rest goes when `waiting_for` lets go
  };
  RunId run;
  Outcome outcome = Outcome::done;
  Timestamp at = {};
  std::string by = {};
  std::string reason = {};
  std::uint64_t checkpoints = 0;              // that it had
  std::vector<std::string> waiting_for = {};  // for people
  std::vector<std::string> forks = {};        // that were erased with it
  Remains remains = Remains::trail;
  Uuid uuid = {};
  Sequence latest = {};       // its last checkpoint
  std::uint64_t entries = 0;  // of a removed run's audit trail, without the entry that says so
  std::string head = {};      // hash of the last of them, hexadecimal
};

}  // namespace pawl
