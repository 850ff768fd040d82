// The implementation of `export` and `import` on a store in a folder.
#pragma once

#include "ports/run_export.hpp"

namespace pawl {

[[nodiscard]] RunExport run_export();
/// Opens the folder that an import reads. Fails with input_unreadable.
[[nodiscard]] Result<std::unique_ptr<FileSystem>> open_source_folder(const std::string& folder);

}  // namespace pawl
