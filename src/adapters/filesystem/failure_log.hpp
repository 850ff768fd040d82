// What went wrong in a store, kept for people: recovery/failures.jsonl and files set aside.
#pragma once

#include <pawl/check.hpp>

#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Writes `bytes` to `path` below recovery/, synced.
Result<void> set_aside(FileSystem& files, std::string_view path, std::string_view bytes);
/// Appends one line to recovery/failures.jsonl, synced. Of `finding` code, run, file and what; one process at a time.
Result<void> log_failure(FileSystem& files, const Environment& environment, const Finding& finding);

}  // namespace pawl
