// What executions of runs are given: services of the process, and a run that is open.
#pragma once

#include <pawl/handlers.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/run_state.hpp"
#include "domain/settings.hpp"
#include "domain/workflow.hpp"
#include "engine/output_file.hpp"
#include "engine/prompt.hpp"
#include "engine/run_events.hpp"
#include "engine/state_keys.hpp"
#include "ports/environment.hpp"
#include "ports/local_files.hpp"
#include "ports/store.hpp"

namespace pawl {

/// What an execution does when it can only wait for a person or a signal.
enum class Waiting : std::uint8_t { leave, stay };

enum class Changes : std::uint8_t { refuse, accept };

/// A project that is in another folder than when its run was started.
struct MovedFolder {
  std::string from;
  std::string to;
};

/// The services that executions use. Must outlive them.
struct ExecutionServices {
  Store& store;
  Clock& clock;
  Random& random;
  LocalFiles& files;
  const HandlerRegistry& handlers;
  RunObserver* observer = nullptr;                                              // may be null
  std::vector<std::string> environment = {};                                    // NAME=value, of this process
  std::string store_uri = {};                                                   // for $PAWL_STORE of steps
  std::function<Result<Workflow>(const std::string& file)> load_workflow = {};  // absolute path
  PromptPerson prompt = {};  // asks a person at the terminal; may be empty
  std::string person = {};   // who answers
  /// Checks and parses steps that a step adds.
  std::function<Result<Steps>(const Json& steps, const Workflow& workflow, const Steps& siblings, std::size_t after)>
      parse_added = {};
  std::function<std::uint64_t()> resident_bytes = {};  // of this process; may be empty
  Waiting waiting = Waiting::leave;
  Changes child_changes = Changes::refuse;  // whether children continue with a changed workflow
  Settings settings = {};
  Json given = Json::object();            // values of masked keys, for a resume
  std::optional<MovedFolder> moved = {};  // child runs move with their parent
  std::uint32_t parallel_max = 1024;      // parallel attempts
};

/// How a run continues.
struct ResumeFacts {
  bool automatic = false;
  bool changes_accepted = false;
  Json budget = {};  // the new limits, or null
};

/// A run that is open for execution.
struct OpenedRun {
  RunId id;
  std::shared_ptr<const Workflow> workflow;
  RunState state;
  std::unique_ptr<RunWriter> writer;
  std::string logs;                         // absolute path of the log folder of this run
  std::string work = {};                    // folder for inputs and reports of steps; empty: the same
  OpenOutputFile open_output = {};          // empty: plain files
  KeyValues key_values = {};                // of the keys whose values are not saved
  std::uint64_t events = 0;                 // number of events so far
  std::vector<NewEvent> first_events = {};  // for the first save of this execution
  Kind first_kind = Kind::workflow_start;
  Reason first_reason = Reason::workflow_started;
  std::optional<ResumeFacts> resume = {};  // not set: the run is new
};

}  // namespace pawl
