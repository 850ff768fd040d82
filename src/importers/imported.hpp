// What an importer makes of files of another program: plain values, before anything is written.
//
// An importer is pure: a SourceTree in, runs and problems out. Each thing that is refused is one problem, with its
// file, a code and a reason, and never keeps the rest from being taken.
#pragma once

#include <functional>
#include <optional>
#include <pawl/save.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "domain/run_state.hpp"

namespace pawl {

/// One thing that is not taken.
struct ImportProblem {
  Code code{};
  std::string file = {};  // below the imported folder
  std::string item = {};  // a line, row or id in it; may be empty
  std::string reason = {};
};

/// Worth knowing; nothing was refused.
struct ImportNote {
  std::string file = {};
  std::string text = {};
};

struct ImportedCheckpoint {
  std::string id = {};    // what the other program calls it; unique in its run
  std::string time = {};  // as it stood there
  std::string file = {};
  std::string checksum = {};  // "sha256:..." of what it was read from
  std::string state = {};     // JSON
  /// Index, in the run, of the earlier checkpoint that this one builds on. Its context is saved with the state.
  std::optional<std::size_t> parent = {};
  Kind kind = Kind::manual;
  Status status = Status::active;
  Reason reason = Reason::manual;
  std::string stage = {};
  std::string step = {};
  Json more = Json::object();  // goes into the metadata, beside where it came from
  std::vector<NewEvent> events = {};
};

/// What the other program says of a step of its workflow.
struct ImportedStep {
  std::string id = {};                      // or else
  std::optional<std::uint64_t> index = {};  // its place in the workflow, from 0
  std::string stage = {};                   // or else all steps of this stage
  StepStatus status = StepStatus::completed;
  Json output = {};
  std::string error = {};
  bool retryable = true;
  Timestamp ended = {};
};

struct ImportedRun {
  std::string id = {};        // what the other program calls it
  std::string workflow = {};  // path or name of its definition; may be empty
  std::string session = {};
  std::vector<ImportedCheckpoint> checkpoints = {};  // in their order
  std::vector<ImportedStep> steps = {};              // as of the last checkpoint; what is said later counts
  Json vars = Json::object();
  bool completed = false;  // the whole of it
  std::string error = {};  // of a failed one
};

/// Who takes what an importer finds. A run is handed over as soon as it is known, so that one is in memory at a time.
struct ImportSink {
  std::function<void(ImportedRun)> run;
  std::function<void(ImportProblem)> problem;
  std::function<void(ImportNote)> note;
};

}  // namespace pawl
