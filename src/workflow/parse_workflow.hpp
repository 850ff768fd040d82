// From YAML to a Workflow whose names, order and values were checked, with the place of everything that is wrong.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "domain/workflow.hpp"
#include "yaml/faults.hpp"

namespace pawl {

struct WorkflowSource {
  std::string text;
  std::string file;  // absolute, for messages and the workflow's name; may be empty
};

/// Checks everything that can be known before anything runs. The faults are in the order of the file, at least
/// one and at most a hundred: invalid_workflow, invalid_expression, unknown_name or invalid_command. Their
/// `where` is "FILE:LINE:COLUMN" (without FILE where there is none), their hint says what to write instead.
[[nodiscard]] std::expected<Workflow, std::vector<WorkflowFault>> parse_workflow(const WorkflowSource& source);

/// The same with one error, whose message lists all faults, a line each.
[[nodiscard]] Result<Workflow> parse_or_fail(const WorkflowSource& source);

/// Steps that a running step adds: a JSON array of step objects, checked like the file. They stand behind
/// `siblings`: index siblings.size() is the first one's, and their `after` and `needed` are counted so. Without
/// `needs` the first one comes after `siblings[after]`, the others after each other. `siblings` is a scope of
/// `workflow`, perhaps with steps that were added before. Fails with the first fault.
[[nodiscard]] Result<Steps> parse_added_steps(const Json& steps, const Workflow& workflow, const Steps& siblings,
                                              std::size_t after);

/// The JSON Schema (draft 2020-12) of the language, indented.
[[nodiscard]] std::string workflow_schema();

/// The steps as a drawing for a terminal: layers from the top down, what each waits for, and what is inside of
/// loops and maps. No line is wider than `columns` (at least 20).
[[nodiscard]] std::string draw_workflow(const Workflow& workflow, std::size_t columns);

}  // namespace pawl
