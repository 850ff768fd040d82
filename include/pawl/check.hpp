// The scope and the findings of a store check (Pawl::check, `pawl fsck`).
#pragma once

#include <pawl/types.hpp>

namespace pawl {

struct CheckScope {
  std::optional<RunId> run = {};  // not set: the whole store
  Sequence sequence = {};         // only this checkpoint of `run`; 0: all of them
};

/// Whether a check also repairs what it can repair without losing an acknowledged save.
enum class Repair : std::uint8_t { no, yes };

struct Finding {
  enum class Severity : std::uint8_t {
    note,      // information only; nothing is wrong
    mended,    // was damaged and has been repaired
    mendable,  // damaged; Repair::yes repairs it without losing data
    damage,    // stored data is lost or altered and cannot be repaired
  };
  Severity severity = Severity::note;
  Code code{};
  std::string file = {};                // path relative to the store; may be empty
  std::string run = {};                 // empty: the finding is not about a single run
  Sequence sequence = {};               // 0: the finding is not about a single checkpoint
  std::string what = {};                // what was found, for people
  std::string advice = {};              // what to do about it, without naming a command; may be empty
  Advice action = Advice::none;         // what to do next, in addition to `advice`
  std::vector<Sequence> affected = {};  // other checkpoints of the run that can't be read because of it
};

struct CheckReport {
  std::vector<Finding> findings = {};
  std::uint64_t runs = 0;         // number of runs checked, without erased ones
  std::uint64_t erased = 0;       // number of erased runs checked; removed ones don't count
  std::uint64_t checkpoints = 0;  // number of checkpoints checked
  std::uint64_t files = 0;        // number of files checked
  /// Returns whether any damage is left, repairable or not.
  [[nodiscard]] bool damaged() const {
    for (const Finding& finding : findings) {
      if (finding.severity == Finding::Severity::damage || finding.severity == Finding::Severity::mendable) return true;
    }
    return false;
  }
};

}  // namespace pawl
