// What a resume compares: the workflow as it was and as it is, the working folder then and now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/workflow.hpp"
#include "ports/local_files.hpp"
#include "ports/store.hpp"

namespace pawl {

/// The step that a path means, whatever its iteration or index: `pages[17].write`. Null where there is none.
[[nodiscard]] const Step* find_step(const Workflow& workflow, std::string_view path);

/// The files of the working folder that commands of the workflow name (`./gather.sh`): sorted, at most 100.
[[nodiscard]] std::vector<std::string> named_files(const Workflow& workflow);

/// The commit that the folder's git repository stands on.
[[nodiscard]] std::optional<std::string> git_head(LocalFiles& files, const std::string& folder);

/// Lines for people: what differs between two records of a folder.
[[nodiscard]] std::vector<std::string> folder_changes(const Json& before, const Json& after);

/// The text of the workflow that the run was started with, from its events; empty where it can't be had.
[[nodiscard]] std::string recorded_text(Store& store, const RunId& id);

/// The lines that differ, with - and + before them and some lines around.
[[nodiscard]] std::string text_difference(std::string_view before, std::string_view after);

[[nodiscard]] std::string joined_list(const std::vector<std::string>& words);

}  // namespace pawl
