// The file that marks a run as erased, and functions that destroy data.
#pragma once

#include <optional>
#include <string_view>

#include "codec/erased_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Returns nothing if the run was not erased. Takes no lock.
[[nodiscard]] Result<std::optional<ErasedRecord>> load_erased(FileSystem& files, std::string_view run);
/// Fails with run_erased if the run was erased.
[[nodiscard]] Result<void> refuse_erased(FileSystem& files, std::string_view run);
[[nodiscard]] Result<RunInfo> info_of_erased(const ErasedRecord& record);

/// Overwrites the file with zeros from `offset` to its end. Does not sync.
Result<void> overwrite(File& file, std::uint64_t offset);
/// Returns null if there is nothing to overwrite: the file does not exist, is a link (which is not followed) or a pipe,
/// or is not writable.
[[nodiscard]] Result<std::unique_ptr<File>> open_to_wipe(FileSystem& files, const std::string& path);
/// Overwrites the whole file with zeros, syncs it, and removes it. If there is nothing to overwrite, only removes it.
/// The caller must sync the removal.
Result<void> wipe_file(FileSystem& files, const std::string& path);

}  // namespace pawl
