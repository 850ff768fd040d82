// What is likely to go wrong when a valid workflow is run here: files and handlers that are missing.
#pragma once

#include <pawl/handlers.hpp>
#include <string>
#include <vector>

#include "domain/workflow.hpp"
#include "ports/local_files.hpp"

namespace pawl {

struct WorkflowWarning {
  Place place = {};
  std::string step = {};  // its path; empty where it is the workflow's
  std::string message = {};
};

/// In the order of the file. Only what is known without running anything: names with expressions in them are left out.
[[nodiscard]] std::vector<WorkflowWarning> workflow_warnings(const Workflow& workflow, LocalFiles& files,
                                                             const HandlerRegistry& handlers);

/// All steps, those inside of others included.
[[nodiscard]] std::size_t step_count(const Workflow& workflow);

/// The program that a command starts first, where it is named by a path: `./gather.sh`. Else empty.
[[nodiscard]] std::string first_program(const std::string& script);

}  // namespace pawl
