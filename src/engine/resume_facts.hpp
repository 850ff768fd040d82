// What a resume compares: the old and the new workflow, and the working directory then and now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/workflow.hpp"
#include "ports/local_files.hpp"
#include "ports/store.hpp"

namespace pawl {

/// Returns the step at a path such as `pages[17].write`, ignoring iterations and indices. Null if there is none.
[[nodiscard]] const Step* find_step(const Workflow& workflow, std::string_view path);

/// Returns files of the working directory that commands of the workflow name (`./gather.sh`), sorted, at most 100.
[[nodiscard]] std::vector<std::string> named_files(const Workflow& workflow);

/// Returns the current commit of the folder's git repository.
[[nodiscard]] std::optional<std::string> git_head(LocalFiles& files, const std::string& folder);

/// Returns the differences between two records of a folder, as lines for people.
[[nodiscard]] std::vector<std::string> folder_changes(const Json& before, const Json& after);

/// Returns the text of the workflow that the run was started with, from its events; empty if it is not available.
[[nodiscard]] std::string recorded_text(Store& store, const RunId& id);

/// Returns the lines that differ, marked with - and +, with some context.
[[nodiscard]] std::string text_difference(std::string_view before, std::string_view after);

[[nodiscard]] std::string joined_list(const std::vector<std::string>& words);

}  // namespace pawl
