// What the parts of an executor share: the services, the run, the state of the machine, and how to report facts to it.
#pragma once

#include "engine/event_loop.hpp"
#include "engine/execution_services.hpp"
#include "engine/run_masks.hpp"
#include "engine/step_output.hpp"
#include "machine/machine.hpp"

namespace pawl {

/// Used on the thread of the event loop only. `state` is changed by the executor alone; the parts read it.
struct RunContext {
  const ExecutionServices& services;
  EventLoop& loop;
  const RunId id;
  const Uuid uuid;
  const std::shared_ptr<const Workflow> workflow;
  const RunState base;     // what the machine does not know: names, folders, variables, lineage
  const std::string logs;  // absolute path of the log folder
  const std::string work;  // of inputs and reports of steps; may be the same
  const OpenOutputFile open_output;
  RunMasks masks;
  std::vector<std::string> environment = {};  // of steps: process, env files and workflow
  machine::State state = {};
  std::function<void(machine::Fact)> feed = {};
  /// An event of the run's history, saved with the next checkpoint.
  std::function<void(const char* type, const std::string& step, Json data)> tell = {};
  /// Delivers what is in the inbox now.
  std::function<void()> read_inbox = {};
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // for callbacks: false once the executor is gone

  [[nodiscard]] const machine::Node* node(machine::NodeId id_of_node) const {
    return machine::find_node(state, id_of_node);
  }
  [[nodiscard]] const machine::Scope& scope_of(const machine::Node& node_in) const {
    return machine::scope_at(state, node_in.scope);
  }
  [[nodiscard]] std::shared_ptr<StepOutput> make_output(const std::string& path, StepOutput::Wanted wanted) const {
    auto file = open_output ? open_output(path) : plain_output_files(services.files)(path);
    return std::make_shared<StepOutput>(std::move(file), masks.patterns(), masks.counts(), std::move(wanted));
  }
};

}  // namespace pawl
