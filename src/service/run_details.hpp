// Details of one run or one checkpoint.
#pragma once

#include <variant>
#include <vector>

#include "service/checkpoint_dependents.hpp"
#include "service/lineage.hpp"
#include "service/run_report.hpp"
#include "service/run_summary.hpp"
#include "service/step_call.hpp"

namespace pawl {

struct CheckpointDetails {
  CheckpointInfo info;
  CheckpointDependents dependents;
};
[[nodiscard]] Result<CheckpointDetails> checkpoint_details(Store& store, const Address& address);

struct CheckpointsRequest {
  std::optional<Sequence> after = {};  // none: the newest ones
  std::size_t limit = 100;
};
struct CheckpointPage {
  std::vector<CheckpointInfo> checkpoints;  // oldest first
  bool more_before = false;                 // only known if the newest ones were asked for
  bool more_after = false;
};
[[nodiscard]] Result<CheckpointPage> list_checkpoints(Store& store, const RunId& run,
                                                      const CheckpointsRequest& request);

/// A run of a workflow.
struct WorkflowRunDetails {
  RunReport report;
  RunProgress progress;
  Lineage lineage;
  std::vector<Json> outputs;  // of report.steps, in the same order; null: none
  std::vector<Event> events;  // oldest first
};

/// A run whose steps a script calls.
struct StepsRunDetails {
  RunInfo info;
  CheckpointInfo latest;
  Lineage lineage;
  StepsStatus steps;
};

/// A run without a workflow or steps: its states are saved directly.
struct PlainRunDetails {
  RunInfo info;
  CheckpointInfo latest;
  Lineage lineage;
  std::vector<CheckpointInfo> newest;  // oldest first
};

using RunDetails = std::variant<WorkflowRunDetails, StepsRunDetails, PlainRunDetails>;

/// What to read in addition. Options that do not apply to the kind of the run are ignored.
struct DetailOptions {
  Detail detail = Detail::state;
  enum class Outputs : std::uint8_t { omit, read } outputs = Outputs::omit;
  EventsWanted events = {};
  std::size_t checkpoints_max = 0;
};

[[nodiscard]] Result<RunDetails> run_details(Store& store, const RunId& run, const DetailOptions& options);

}  // namespace pawl
