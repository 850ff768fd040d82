// What an importer reads from the files of another program: plain values, before anything is written.
//
// An importer is a pure function from a SourceTree to runs and problems. Each refused item is one problem with its
// file, a code and a reason. A problem never stops the import of the rest.
#pragma once

#include <functional>
#include <optional>
#include <pawl/save.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "domain/run_state.hpp"

namespace pawl {

/// One item that was refused.
struct ImportProblem {
  Code code{};
  std::string file = {};  // relative to the imported folder
  std::string item = {};  // a line, row or id in it; may be empty
  std::string reason = {};
};

/// Information for the user; nothing was refused.
struct ImportNote {
  std::string file = {};
  std::string text = {};
};

struct ImportedCheckpoint {
  std::string id = {};    // the other program's id; unique in its run
  std::string time = {};  // as written in the source
  std::string file = {};
  std::string checksum = {};  // "sha256:..." of the source
  std::string state = {};     // JSON
  /// Index, in the run, of the earlier checkpoint that this one builds on. Its context is saved with the state.
  std::optional<std::size_t> parent = {};
  Kind kind = Kind::manual;
  Status status = Status::active;
  Reason reason = Reason::manual;
  std::string stage = {};
  std::string step = {};
  Json more = Json::object();  // other facts for the metadata
  std::vector<NewEvent> events = {};
};

/// What the other program recorded about a step of its workflow.
struct ImportedStep {
  std::string id = {};                      // or, if empty,
  std::optional<std::uint64_t> index = {};  // its position in the workflow, from 0; or, without one,
  std::string stage = {};                   // all steps of this stage
  StepStatus status = StepStatus::completed;
  Json output = {};
  std::string error = {};
  bool retryable = true;
  Timestamp ended = {};
};

struct ImportedRun {
  std::string id = {};        // the other program's id
  std::string workflow = {};  // path or name of its definition; may be empty
  std::string session = {};
  std::vector<ImportedCheckpoint> checkpoints = {};  // oldest first
  std::vector<ImportedStep> steps = {};              // as of the last checkpoint; later entries win
  Json vars = Json::object();
  bool completed = false;  // the whole workflow
  std::string error = {};  // of a failed run
};

/// Receives what an importer finds. A run is passed on as soon as it is complete, so that only one is in memory.
struct ImportSink {
  std::function<void(ImportedRun)> run;
  std::function<void(ImportProblem)> problem;
  std::function<void(ImportNote)> note;
};

}  // namespace pawl
