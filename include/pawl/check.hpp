// What a check of the store (fsck) looks at and finds.
#pragma once

#include <pawl/types.hpp>

namespace pawl {

struct CheckScope {
  std::optional<RunId> run = {};  // none: the whole store
  Sequence sequence = {};         // with a run: this checkpoint only
};

enum class Repair : std::uint8_t { no, yes };

struct Finding {
  enum class Severity : std::uint8_t {
    note,      // worth knowing; nothing is wrong
    mended,    // was wrong, and is mended
    mendable,  // a repair mends it without loss
    damage,    // something stored can't be read as it was written
  };
  Severity severity = Severity::note;
  Code code{};
  std::string file = {};
  std::string run = {};
  Sequence sequence = {};
  std::string what = {};
  std::string advice = {};       // what to do, without naming a command
  Advice action = Advice::none;  // what to do next, in addition
};

struct CheckReport {
  std::vector<Finding> findings = {};
  std::uint64_t runs = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  [[nodiscard]] bool damaged() const {
    for (const Finding& finding : findings) {
      if (finding.severity == Finding::Severity::damage || finding.severity == Finding::Severity::mendable) return true;
    }
    return false;
  }
};

}  // namespace pawl
