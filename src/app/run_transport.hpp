// Runs as portable files, and folders that are imported: what the commands `export` and `import` ask of the world.
#pragma once

#include "cli/run_transport.hpp"

namespace pawl {

[[nodiscard]] cli::RunTransport run_transport();
/// A folder to look at.
[[nodiscard]] Result<std::unique_ptr<FileSystem>> open_source_folder(const std::string& folder);

}  // namespace pawl
