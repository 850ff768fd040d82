// The mark of an erased run as a file, and bytes that are destroyed.
#pragma once

#include <optional>
#include <string_view>

#include "codec/erased_text.hpp"
#include "ports/file_system.hpp"

namespace pawl {

/// Nothing where the run was not erased. Takes no lock.
[[nodiscard]] Result<std::optional<ErasedRecord>> load_erased(FileSystem& files, std::string_view run);
/// Fails with run_erased where the run was.
[[nodiscard]] Result<void> refuse_erased(FileSystem& files, std::string_view run);
[[nodiscard]] Result<RunInfo> info_of_erased(const ErasedRecord& record);

/// Zeros from `offset` to the end of the file. Not synced.
Result<void> overwrite(File& file, std::uint64_t offset);
/// Null where there is nothing to be overwritten: no such file, a link (which is not followed), a pipe, a file that may
/// not be written.
[[nodiscard]] Result<std::unique_ptr<File>> open_to_wipe(FileSystem& files, const std::string& path);
/// Zeros over the whole file, synced; then it is removed. Where there is nothing to be overwritten it is removed only.
/// That its name is gone is the caller's to sync.
Result<void> wipe_file(FileSystem& files, const std::string& path);

}  // namespace pawl
