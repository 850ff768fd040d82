// The command line on a memory store. Captures everything it prints.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "adapters/memory/memory_store.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "adapters/posix/posix_process_runner.hpp"
#include "cli/cli.hpp"
#include "testing/manual_environment.hpp"

namespace pawl::testing {

/// The result of one call of `pawl`.
struct CliResult {
  int status = 0;
  std::string out;
  std::string err;

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
  /// Returns the error document, which is the last line of standard error.
  [[nodiscard]] nlohmann::json error_json() const {
    const std::size_t begin = err.rfind('\n', err.size() - 2);
    return nlohmann::json::parse(err.substr(begin == std::string::npos ? 0 : begin + 1)).at("error");
  }
};

/// A machine whose facts are set by the test.
class FakeMachine final : public Machine {
 public:
  Result<DiskFacts> disk(const std::string&) override { return disk_facts; }
  Result<FileFacts> file(const std::string& path) override {
    const auto found = file_facts.find(path);
    if (found == file_facts.end())
      return fail(Error{Code::input_unreadable, "there is no such file", path, {}, ENOENT});
    return found->second;
  }
  Result<std::vector<std::int64_t>> sync_times_us(const std::string&, std::size_t count) override {
    return std::vector<std::int64_t>(count, sync_us);
  }
  std::vector<std::string> left_over(const std::string&, std::int64_t, std::size_t) override { return left; }

  DiskFacts disk_facts{.type = "ext4",
                       .free_bytes = 10ULL << 30U,
                       .total_bytes = 20ULL << 30U,
                       .free_files = 1'000'000,
                       .total_files = 2'000'000};
  std::map<std::string, FileFacts> file_facts;
  std::int64_t sync_us = 1'500;
  std::vector<std::string> left;
};

class CliTest : public ::testing::Test {
 protected:
  CliResult pawl(std::vector<std::string> args, std::string input = "") {
    CliResult result;
    std::istringstream in(std::move(input));
    cli::Output out("standard output", [&](std::string_view bytes) {
      if (out_error_ == 0) result.out += bytes;
      return out_error_;
    });
    cli::Output err("standard error", [&](std::string_view bytes) {
      result.err += bytes;
      return 0;
    });
    WorkflowWorld workflows{.random = random_, .files = local_files_, .handlers = handlers_};
    workflows.environment = {"PATH=/usr/local/bin:/usr/bin:/bin",
                             fmt::format("PAWL_CHECKPOINT_SIZE_LIMIT={}B", state_bytes_max_)};
    for (const auto& [name, value] : environment_) workflows.environment.push_back(name + "=" + value);
    workflows.start_processes = [](const std::string& lock_path) -> Result<std::unique_ptr<ProcessRunner>> {
      auto started = PosixProcessRunner::start_reaper(lock_path);
      if (!started) return std::unexpected(started.error());
      return std::move(*started);
    };
    workflows.watch_signals = [](const std::function<void(int)>&) { return std::make_unique<SignalWatch>(); };
    workflows.leave = [] {};
    workflows.columns = [this] { return columns_; };
    workflows.rows = [this] { return rows_; };
    cli::CliContext context{
        .in = in,
        .out = out,
        .err = err,
        .clock = real_time_ ? static_cast<Clock&>(system_clock_) : clock_,
        .open_store =
            [this](std::string_view uri, cli::StoreAccess access, const Settings& settings) {
              opened_with_ = settings;
              return open(uri, access);
            },
        .read_file = [this](const std::string& path, std::uint64_t) { return read(path); },
        .read_regular_file = [this](const std::string& path, std::uint64_t) { return read(path); },
        .write_file =
            [this](const std::string& path, std::string_view bytes) {
              files_[path] = bytes;
              return Result<void>();
            },
        .environment =
            [this](const std::string& name) {
              const auto found = environment_.find(name);
              return found == environment_.end() ? std::nullopt : std::optional<std::string>(found->second);
            },
        .version = "1.2.3",
        .in_is_terminal = terminal_,
        .out_is_terminal = terminal_,
        .err_is_terminal = terminal_,
        .machine = &machine_,
        .workflows = &workflows,
        .system_user = [this] { return system_user_; },
    };
    result.status = cli::run_cli(std::move(args), context);
    return result;
  }

  /// Opens another handle on the store that the commands use.
  std::unique_ptr<Store> other_handle() { return std::make_unique<MemoryStore>(store_environment(), disk_); }
  Environment store_environment() { return Environment{&clock_, &random_, sim_owner("boot", 4711)}; }

  ManualClock clock_;
  FakeMachine machine_;
  std::map<std::string, std::string> environment_;
  std::string system_user_;
  std::map<std::string, std::string> files_;
  std::string opened_uri_;
  Settings opened_with_;
  bool store_exists_ = false;
  bool terminal_ = false;
  bool real_time_ = false;  // workflows wait for real processes, so time must pass
  std::size_t columns_ = 80;
  std::size_t rows_ = 24;
  std::uint64_t state_bytes_max_ = 1000;
  int out_error_ = 0;
  std::optional<CheckReport> report_;  // returned by fsck instead of the memory store's report
  std::optional<Timestamp> believed_;  // the time by which the store judges ages instead of the clock's

 private:
  /// Returns `report_` from `check`.
  class ReportingStore;
  /// Does not believe the clock.
  class DoubtingStore;

  Result<std::unique_ptr<Store>> open(std::string_view uri, cli::StoreAccess access);

  Result<std::string> read(const std::string& path) {
    const auto found = files_.find(path);
    if (found == files_.end()) return fail(Error{Code::input_unreadable, "no such file", path, {}, ENOENT});
    return found->second;
  }

  // Tests run in parallel, and the processes of a run are found by its UUID, so UUIDs must be unique across tests.
  SeededRandom random_{static_cast<std::uint64_t>(::getpid())};
  SystemClock system_clock_;
  PosixLocalFiles local_files_;
  HandlerRegistry handlers_;
  std::shared_ptr<MemoryDisk> disk_ = make_memory_disk();
};

class CliTest::ReportingStore final : public MemoryStore {
 public:
  ReportingStore(const Environment& environment, std::shared_ptr<MemoryDisk> disk, CheckReport report)
      : MemoryStore(environment, std::move(disk)), report_(std::move(report)) {}
  Result<CheckReport> check(const CheckScope&, Repair) override { return report_; }

 private:
  CheckReport report_;
};

class CliTest::DoubtingStore final : public MemoryStore {
 public:
  DoubtingStore(const Environment& environment, std::shared_ptr<MemoryDisk> disk, Timestamp believed)
      : MemoryStore(environment, std::move(disk)), believed_(believed) {}
  Timestamp believable_now() override { return believed_; }

 private:
  Timestamp believed_;
};

inline Result<std::unique_ptr<Store>> CliTest::open(std::string_view uri, cli::StoreAccess access) {
  opened_uri_ = uri;
  if (access == cli::StoreAccess::read && !store_exists_) {
    return fail(Error{Code::store_not_found, "no store found", std::string(uri), {}, 0});
  }
  store_exists_ = true;
  if (report_) return std::make_unique<ReportingStore>(store_environment(), disk_, *report_);
  if (believed_) return std::make_unique<DoubtingStore>(store_environment(), disk_, *believed_);
  return other_handle();
}

}  // namespace pawl::testing
