// Pawl as a library: open a store, save checkpoints, restore them.
//
//   auto pawl = pawl::Pawl::open(".pawl");
//   auto run = pawl->run("nightly");
//   auto saved = run->save({.body = R"({"done": 3})"});      // durable when it returns
//   auto back = pawl->restore("nightly");                    // back->state is exactly what was given
//
// Nothing throws; every call that can fail returns a Result. Everything is thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <pawl/audit.hpp>
#include <pawl/check.hpp>
#include <pawl/erase.hpp>
#include <pawl/error.hpp>
#include <pawl/save.hpp>
#include <pawl/types.hpp>
#include <string_view>
#include <vector>

namespace pawl {

class Store;
struct Settings;
class RunWriter;
class DurableRun;

enum class Missing : std::uint8_t { create, refuse };
enum class NetworkFilesystem : std::uint8_t { refuse, allow };

struct OpenOptions {
  Missing missing = Missing::create;  // a store that is not there is made by the first save
  NetworkFilesystem network_filesystem = NetworkFilesystem::refuse;
  std::optional<std::uint64_t> state_bytes_max =
      {};  // nothing: what the settings say (docs/configuration.md), else 100 MiB
};

/// The one writer of a run. Closing it (destruction) makes everything durable, whatever the level.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Returns when the save is durable (level `sync`). On outcome_unknown, save again through a new
  /// handle with the same `caller_id`: it is answered, not doubled.
  Result<Saved> save(const SaveRequest& request);
  /// Makes everything saved so far durable, at any level.
  Result<void> flush();
  [[nodiscard]] RunInfo info() const;

 private:
  friend class Pawl;
  Run(std::unique_ptr<RunWriter> writer, std::uint64_t state_bytes_max);
  std::unique_ptr<RunWriter> writer_;
  std::uint64_t state_bytes_max_ = 0;
};

/// An open store. Runs must be destroyed before it.
class Pawl {
 public:
  /// Reads the settings, too: invalid_config where they are wrong.
  [[nodiscard]] static Result<Pawl> open(std::string_view folder, const OpenOptions& options = {});
  Pawl(Pawl&&) noexcept;
  Pawl& operator=(Pawl&&) noexcept;
  ~Pawl();

  /// Opens a run for writing, made if missing. `run_busy` where another writer has it.
  Result<Run> run(std::string_view id, const RunOptions& options = {});

  /// Opens a run whose steps are functions of this program: include <pawl/workflow.hpp>. Made if missing;
  /// not_a_steps_run where it holds something else.
  Result<DurableRun> durable(std::string_view id);

  /// `address`: RUN, RUN@SEQ, RUN@latest, RUN@name:X, RUN@stage:X, RUN@step:X or RUN@UUID.
  Result<Restored> restore(std::string_view address);
  Result<RunInfo> info(std::string_view run);
  /// Newest first.
  Result<std::vector<RunInfo>> runs(std::size_t limit = 50);
  Result<CheckpointInfo> checkpoint(std::string_view address);
  Result<std::vector<CheckpointInfo>> checkpoints(std::string_view run, Sequence after = {}, std::size_t limit = 100);
  Result<std::vector<Event>> events(std::string_view run, std::uint64_t after_number = 0, std::size_t limit = 100);
  /// What was done and decided, hash-chained (docs/formats/audit.md). A program adds to it with events of its saves
  /// that are `Audited::yes`.
  Result<std::vector<AuditEntry>> audit(std::string_view run, std::uint64_t after = 0, std::size_t limit = 100);
  Result<CheckReport> check(const CheckScope& scope = {}, Repair repair = Repair::no);
  /// Destroys everything that was saved in a run. Its id, its audit trail and the reason stay; run_busy while it has
  /// a writer, run_has_forks while others build on it.
  Result<Erasure> erase(std::string_view run, const EraseRequest& request);

  /// What the settings of the store, its user and the environment say, as read by `open`.
  [[nodiscard]] const Settings& settings() const;
  /// Fails with checkpoints_off where they turn checkpoints off; then no run of this store can be written.
  [[nodiscard]] Result<void> need_checkpoints() const;
  /// The port behind this handle, for programs that bring their own engine.
  [[nodiscard]] Store& store();
  /// The folder or URI that it was opened with.
  [[nodiscard]] const std::string& uri() const;

 private:
  struct Parts;
  explicit Pawl(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
