// The program: the command line on the real world.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_foreground.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "adapters/posix/posix_machine.hpp"
#include "adapters/posix/posix_process_runner.hpp"
#include "adapters/posix/posix_terminal.hpp"
#include "app/audit_world.hpp"
#include "app/backup.hpp"
#include "app/compose.hpp"
#include "app/detach.hpp"
#include "app/folders.hpp"
#include "app/local_files.hpp"
#include "app/main/build_info.hpp"
#include "app/run_export.hpp"
#include "app/signals.hpp"
#include "app/store_admin.hpp"
#include "cli/cli.hpp"

#ifndef PAWL_VERSION
#define PAWL_VERSION "0.1.0"
#endif

namespace {

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

pawl::Result<std::unique_ptr<pawl::Store>> open_for_command(std::string_view uri, pawl::cli::StoreAccess access,
                                                            const pawl::Settings& settings) {
  pawl::OpenOptions options;
  options.missing = access == pawl::cli::StoreAccess::read ? pawl::Missing::refuse : pawl::Missing::create;
  if (environment_variable("PAWL_ALLOW_NETWORK_FS") == "1") options.network_filesystem = pawl::NetworkFilesystem::allow;
  const bool stays = access == pawl::cli::StoreAccess::serve;
  return pawl::open_store(uri, options, stays ? pawl::StoreUse::service : pawl::StoreUse::one_shot, settings);
}

/// Occupies the numbers of closed standard streams, so that no file of the store can get one and be printed to. They
/// are opened in the wrong direction, so that using them still fails.
void reserve_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

pawl::cli::Output descriptor_output(std::string name, int fd) {
  return {std::move(name), [fd](std::string_view bytes) { return pawl::write_fully(fd, bytes); }};
}

std::size_t terminal_columns() {
  winsize size{};
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

std::size_t terminal_rows() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 24;
  return size.ws_row;
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);     // a write to a closed pipe then fails, which gives a message and an exit status
  std::signal(SIGXFSZ, SIG_IGN);     // the same for a file above `ulimit -f`
  std::ios::sync_with_stdio(false);  // lets std::cin distinguish a failed read from the end of the input
  pawl::cli::Output out = descriptor_output("standard output", STDOUT_FILENO);
  pawl::cli::Output err = descriptor_output("standard error", STDERR_FILENO);
  pawl::SystemClock clock;
  pawl::SystemRandom random;
  pawl::PosixLocalFiles files;
  const pawl::HandlerRegistry handlers;
  pawl::WorkflowWorld workflows{.random = random, .files = files, .handlers = handlers};
  for (char** entry = environ; *entry != nullptr; ++entry) workflows.environment.emplace_back(*entry);
  workflows.start_processes = [](const std::string& lock_path) -> pawl::Result<std::unique_ptr<pawl::ProcessRunner>> {
    auto started = pawl::PosixProcessRunner::start_reaper(lock_path);
    if (!started) return std::unexpected(started.error());
    return std::move(*started);
  };
  workflows.watch_signals = pawl::watch_signals;
  workflows.detach = pawl::detach;
  workflows.leave = [] { std::_Exit(130); };
  workflows.open_terminal = [] { return std::make_unique<pawl::PosixTerminal>(STDIN_FILENO, STDOUT_FILENO); };
  workflows.columns = terminal_columns;
  workflows.rows = terminal_rows;
  workflows.resident_bytes = pawl::resident_bytes;
  pawl::PosixMachine machine(clock);
  pawl::PosixForeground foreground;
  workflows.foreground = &foreground;
  pawl::cli::CliContext context{
      .in = std::cin,
      .out = out,
      .err = err,
      .clock = clock,
      .open_store = open_for_command,
      .read_file = pawl::read_local_file,
      .read_regular_file = pawl::read_regular_file,
      .write_file = pawl::write_local_file,
      .create_file = pawl::create_result_file,
      .environment = environment_variable,
      .version = PAWL_VERSION,
      .build = pawl::build_info(),
      .in_is_terminal = ::isatty(STDIN_FILENO) == 1,
      .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
      .err_is_terminal = ::isatty(STDERR_FILENO) == 1,
      .admin = pawl::store_admin(),
      .audit = pawl::audit_world(),
      .open_folder = pawl::open_source_folder,
      .run_export = pawl::run_export(),
      .backups = pawl::store_backups(),
      .machine = &machine,
      .workflows = &workflows,
      .system_user = [] { return pawl::current_owner().user; },
      .account = [] { return pawl::who(pawl::current_owner()); },
      .look_at_folder = pawl::look_at_folder,
      .make_parents = pawl::make_parents,
  };
  return pawl::cli::run_cli(std::vector<std::string>(argv + 1, argv + argc), context);
}
