// Exporting a run as one file, and importing that file (docs/formats/export.md).
#pragma once

#include <cstdint>
#include <functional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ports/file_system.hpp"

namespace pawl {

enum class ExportLogs : std::uint8_t { no, yes };

/// An export that was written.
struct ExportedRun {
  Uuid uuid = {};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // size of the export
  std::string sha256 = {};  // of the export without its last line
  bool encrypted = false;
};

enum class ExportUse : std::uint8_t { import, only_check };

/// An export that was imported or checked.
struct ImportedExport {
  std::string run = {};
  Uuid uuid = {};
  Sequence latest = {};
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  bool repeated = false;  // the store contained the same run already
};

struct RunExport {
  /// Passes the export to `write`, piece by piece. Fails with the first error that `write` returns.
  std::function<Result<ExportedRun>(std::string_view store, const RunId& run, ExportLogs logs,
                                    const std::function<Result<void>(std::string_view)>& write)>
      export_run;
  /// Imports `file` into `store`. With ExportUse::only_check it writes nothing.
  std::function<Result<ImportedExport>(std::string_view store, File& file, ExportUse use)> import_run;
};

}  // namespace pawl
