// The incident log of a store for people: recovery/failures.jsonl, and files that were set aside.
#pragma once

#include <pawl/check.hpp>

#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Writes `bytes` to `path` below recovery/, synced.
Result<void> set_aside(FileSystem& files, std::string_view path, std::string_view bytes);
/// Appends one line to recovery/failures.jsonl and syncs it. The line contains code, run, file and text of `finding`.
/// Only one process at a time writes.
Result<void> log_failure(FileSystem& files, const Environment& environment, const Finding& finding);

}  // namespace pawl
