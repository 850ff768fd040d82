// The command line as a function: arguments and a context in, an exit status out.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/build_info.hpp"
#include "cli/output.hpp"
#include "cli/store_place.hpp"
#include "domain/settings.hpp"
#include "ports/backup.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"
#include "ports/machine.hpp"
#include "ports/result_file.hpp"
#include "ports/run_export.hpp"
#include "ports/store.hpp"
#include "ports/store_admin.hpp"
#include "service/audit_world.hpp"
#include "service/workflow_world.hpp"

namespace pawl::cli {

enum class StoreAccess : std::uint8_t {
  read,   // fails with store_not_found if the store does not exist
  write,  // creates the store if it does not exist
  serve,  // the same, for a long-running program: saves are published in the background
};

/// Everything outside the process that a command uses.
struct CliContext {
  std::istream& in;
  Output& out;
  Output& err;
  Clock& clock;
  std::function<Result<std::unique_ptr<Store>>(std::string_view uri, StoreAccess access, const Settings& settings)>
      open_store;
  /// Reads a file of at most `bytes_max` bytes. Fails with input_unreadable or state_too_large.
  std::function<Result<std::string>(const std::string& path, std::uint64_t bytes_max)> read_file;
  /// The same for files of a store and for settings: fails if it is a pipe, which would block.
  std::function<Result<std::string>(const std::string& path, std::uint64_t bytes_max)> read_regular_file;
  /// Replaces a file atomically.
  std::function<Result<void>(const std::string& path, std::string_view bytes)> write_file;
  /// The same for a large file.
  std::function<Result<std::unique_ptr<ResultFile>>(const std::string& path)> create_file = {};
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::string version;
  BuildInfo build{};
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int status = 0;  // of a command that succeeded; `pawl step` returns that of its command
  StoreAdmin admin = {};
  AuditWorld audit = {};
  /// Opens a folder for an import. Fails with input_unreadable if it does not exist.
  std::function<Result<std::unique_ptr<FileSystem>>(const std::string& folder)> open_folder = {};
  RunExport run_export = {};
  StoreBackups backups = {};
  Machine* machine = nullptr;          // never null for `pawl doctor`
  WorkflowWorld* workflows = nullptr;  // never null for commands that run workflows
  /// The account that this process runs as.
  std::function<std::string()> system_user = {};
  /// The same with the host, as messages to runs have it: user@host.
  std::function<std::string()> account = {};
  /// For the search for a store. If it is not set, the store is ./.pawl.
  LookAtFolder look_at_folder = {};
  /// Creates the missing parent folders of a path. Durable on return.
  std::function<Result<void>(const std::string& path)> make_parents = {};
};

/// Runs `pawl` with `args` (without the program's name). When it returns, all output was flushed and checked. Does not
/// throw.
[[nodiscard]] int run_cli(std::vector<std::string> args, CliContext& context);

}  // namespace pawl::cli
