// Converts YAML to a Workflow, and checks names, order and values. Every error has its place.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "domain/workflow.hpp"
#include "yaml/faults.hpp"

namespace pawl {

struct WorkflowSource {
  std::string text;
  std::string file;  // absolute, for messages and the name of the workflow; may be empty
  /// Reads a file of templates. If it is not set, templates come from the text of a recorded workflow, which contains
  /// them as comments.
  std::function<Result<std::string>(const std::string& path)> read = {};
  /// The run was begun before. Keys without effect, which older versions accepted, are remarks and not errors.
  bool begun = false;
};

/// Checks everything that can be known before anything runs. Errors are in the order of the file, at least one and at
/// most 100: invalid_workflow, invalid_expression, unknown_name or invalid_command. `where` is "FILE:LINE:COLUMN"
/// (without FILE if there is none), and the hint says what to write instead.
[[nodiscard]] std::expected<Workflow, std::vector<WorkflowFault>> parse_workflow(const WorkflowSource& source);

/// Like check_workflow, but with one error whose message lists all errors, one per line.
[[nodiscard]] Result<Workflow> parse_or_fail(const WorkflowSource& source);

/// Parses steps that a running step adds: a JSON array of step objects, checked like the file. They follow `siblings`:
/// the first one has the index siblings.size(), which also applies to their `after` and `needed`. Without `needs` the
/// first one runs after `siblings[after]`, and each of the others after the previous one. `siblings` is a scope of
/// `workflow`, possibly with steps that were added before. Fails with the first error.
[[nodiscard]] Result<Steps> parse_added_steps(const Json& steps, const Workflow& workflow, const Steps& siblings,
                                              std::size_t after);

/// Returns the JSON Schema (draft 2020-12) of workflow files, indented.
[[nodiscard]] std::string workflow_schema();

/// Returns a drawing of the steps for a terminal: layers from top to bottom, what each step waits for, and the steps
/// inside loops and maps. No line is wider than `columns` (at least 20).
[[nodiscard]] std::string draw_workflow(const Workflow& workflow, std::size_t columns);

}  // namespace pawl
