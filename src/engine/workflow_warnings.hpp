// Finds likely errors of a valid workflow before it runs: missing files and handlers.
#pragma once

#include <pawl/handlers.hpp>
#include <string>
#include <vector>

#include "domain/workflow.hpp"
#include "ports/local_files.hpp"

namespace pawl {

struct WorkflowWarning {
  Place place = {};
  std::string step = {};  // its path; empty for the workflow itself
  std::string message = {};
};

/// Returns warnings in the order of the file. Skips names that contain expressions, because nothing is executed.
[[nodiscard]] std::vector<WorkflowWarning> workflow_warnings(const Workflow& workflow, LocalFiles& files,
                                                             const HandlerRegistry& handlers);

/// Returns all steps, including those inside of others.
[[nodiscard]] std::size_t step_count(const Workflow& workflow);

/// Returns the first program of a command if it is a path such as `./gather.sh`, otherwise an empty text.
[[nodiscard]] std::string first_program(const std::string& script);

/// Returns the interpreter, for example `python3 -c`, whose program text contains a value of the workflow (PAWL_ARG_n);
/// empty if there is none. `script` is a command as the shell gets it.
[[nodiscard]] std::string interpreter_of_value(std::string_view script);

}  // namespace pawl
