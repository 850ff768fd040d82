// Runs as portable files: what the commands `export` and `import` ask of the world.
#pragma once

#include <functional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ports/file_system.hpp"

namespace pawl::cli {

enum class WithLogs : std::uint8_t { no, yes };

struct ExportedRun {
  Uuid uuid = {};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the portable file
  std::string sha256 = {};  // of all of it before its last line
  bool encrypted = false;
};

enum class Arrival : std::uint8_t { import, only_check };

struct ArrivedRun {
  std::string run = {};
  Uuid uuid = {};
  Sequence latest = {};
  std::uint64_t checkpoints = 0;
  std::uint64_t files = 0;
  bool repeated = false;  // it was there already, the same
};

struct RunTransport {
  /// Hands the portable file to `write`, piece by piece.
  std::function<Result<ExportedRun>(std::string_view store, const RunId& run, WithLogs logs,
                                    const std::function<Result<void>(std::string_view)>& write)>
      send;
  std::function<Result<ArrivedRun>(std::string_view store, File& file, Arrival arrival)> receive;
};

}  // namespace pawl::cli
