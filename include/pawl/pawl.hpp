// The Pawl library: opens a store, saves checkpoints and restores them.
//
//   auto pawl = pawl::Pawl::open(".pawl");
//   auto run = pawl->run("nightly");
//   auto saved = run->save({.body = R"({"done": 3})"});      // durable when it returns
//   auto back = pawl->restore("nightly");                    // back->state equals the saved body byte for byte
//
// No function throws. Functions that can fail return a Result. All functions except moves and destructors may be called
// from several threads at the same time.
//
// After fork(), the child can't use a store that its parent opened: every function fails with used_after_fork, and
// destructors touch nothing. The child opens the store again. fork() followed by exec is always allowed.
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

/// What `open` does if the store does not exist.
enum class Missing : std::uint8_t { create, refuse };
/// Whether a store may be on a network filesystem, where locks and syncs are unreliable.
enum class NetworkFilesystem : std::uint8_t { refuse, allow };

struct OpenOptions {
  /// create: `open` creates the folder, whose parent must exist. The first save creates the store in it, or `open` does
  /// if the settings require encryption.
  /// refuse: `open` fails with store_not_found.
  Missing missing = Missing::create;
  /// refuse: `open` fails with network_filesystem.
  NetworkFilesystem network_filesystem = NetworkFilesystem::refuse;
  /// Maximum size of a state, in bytes. If it is not set, the setting checkpoint.checkpoint_size_limit_mb applies
  /// (docs/configuration.md; default: 100 MiB).
  std::optional<std::uint64_t> state_bytes_max = {};
};

/// The only writer of a run. Destroying it makes all saves durable, at every durability level, and unlocks the run.
/// A destructor cannot report errors, so call `flush` first if the level is `async` or `exit`. Thread-safe.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Saves a checkpoint. Returns when the save is as durable as the level of the run requires (see Durability). A save
  /// that fails writes nothing, unless the error is outcome_unknown: then the save may or may not be durable, and this
  /// Pawl can no longer write. Destroy the Run and its Pawl, open both again and repeat the save with the same
  /// `caller_id`; it is never written twice. Until then, further saves fail with handle_failed.
  ///
  /// Other errors are invalid_json, json_too_deep, invalid_utf8, duplicate_key, number_out_of_range, state_too_large,
  /// invalid_label, invalid_patch, parent_conflict, caller_id_reused, transition_refused, and errors of the categories
  /// storage and system.
  Result<Saved> save(const SaveRequest& request);
  /// Returns when everything saved so far is durable, at every durability level.
  Result<void> flush();
  /// Returns the run as of its last save.
  [[nodiscard]] RunInfo info() const;

 private:
  friend class Pawl;
  Run(std::unique_ptr<RunWriter> writer, std::uint64_t state_bytes_max);
  std::unique_ptr<RunWriter> writer_;
  std::uint64_t state_bytes_max_ = 0;
};

/// An open store. Every Run, DurableRun and WorkflowEngine must be destroyed before its Pawl. Thread-safe.
///
/// Functions that take a run or an address fail with invalid_run_id or invalid_address if it is malformed, with
/// run_not_found or checkpoint_not_found if it does not exist, with checkpoint_pruned if the checkpoint was pruned, and
/// with run_erased or run_removed if the run was. Damaged data is never returned: it is an error of the category
/// integrity.
class Pawl {
 public:
  /// Opens the store in `folder`: a path, `file:PATH`, or `memory:` for an empty store that exists as long as the
  /// returned object. Also reads the settings. Fails with invalid_config if they are invalid, with store_not_found,
  /// network_filesystem or usage (unknown scheme), or if the store is damaged or unreadable.
  [[nodiscard]] static Result<Pawl> open(std::string_view folder, const OpenOptions& options = {});
  Pawl(Pawl&&) noexcept;
  Pawl& operator=(Pawl&&) noexcept;
  ~Pawl();

  /// Opens a run for writing. A new run exists from its first save on. Fails with run_busy if the run has another
  /// writer, in any process, with durability_fixed if it was created with another level, and with checkpoints_off.
  Result<Run> run(std::string_view id, const RunOptions& options = {});

  /// Opens a run whose steps are functions of this program, and creates it if it is missing. Requires
  /// <pawl/workflow.hpp>. Fails with not_a_steps_run if the run contains anything else, and with checkpoints_off.
  Result<DurableRun> durable(std::string_view id);

  /// Returns a checkpoint and its state. `address` is RUN, RUN@SEQ, RUN@latest, RUN@name:X, RUN@stage:X, RUN@step:X or
  /// RUN@UUID. If several checkpoints match, the newest is used. Needs no lock, and sees every acknowledged save.
  Result<Restored> restore(std::string_view address);
  /// Returns a run without its checkpoints.
  Result<RunInfo> info(std::string_view run);
  /// Returns at most `limit` runs, the most recently saved first. Includes erased and damaged runs.
  Result<std::vector<RunInfo>> runs(std::size_t limit = 50);
  /// Returns a checkpoint without its state. `address` is as for `restore`.
  Result<CheckpointInfo> checkpoint(std::string_view address);
  /// Returns at most `limit` checkpoints with a sequence number greater than `after`, oldest first.
  Result<std::vector<CheckpointInfo>> checkpoints(std::string_view run, Sequence after = {}, std::size_t limit = 100);
  /// Returns at most `limit` events with a number greater than `after_number`, oldest first.
  Result<std::vector<Event>> events(std::string_view run, std::uint64_t after_number = 0, std::size_t limit = 100);
  /// Returns at most `limit` entries of the audit trail (docs/formats/audit.md) with an index greater than `after`,
  /// oldest first. The trail of an erased run is still readable. A program adds its own entries by saving events with
  /// `Audited::yes`.
  Result<std::vector<AuditEntry>> audit(std::string_view run, std::uint64_t after = 0, std::size_t limit = 100);
  /// Checks everything in `scope` and reports damage as findings, not as an error. With Repair::yes, also repairs what
  /// can be repaired without losing an acknowledged save.
  Result<CheckReport> check(const CheckScope& scope = {}, Repair repair = Repair::no);
  /// Destroys everything that was saved in a run, durably when it returns. `request.remains` says what is kept; the ID
  /// is never used again. The outcome may be `pending`. Fails with run_busy if the run has a writer, with run_has_forks
  /// if it has forks and `request.cascade` is `no`, and with usage if the reason is missing or invalid.
  Result<Erasure> erase(std::string_view run, const EraseRequest& request);

  /// Returns the effective settings of the store, its user and the environment, as `open` read them.
  [[nodiscard]] const Settings& settings() const;
  /// Fails with checkpoints_off if the setting checkpoint.enabled is false: then no run of this store can be written.
  /// Stores in memory are always writable.
  [[nodiscard]] Result<void> need_checkpoints() const;
  /// Returns the underlying store, for programs that have their own engine. It exists as long as this Pawl.
  [[nodiscard]] Store& store();
  /// Returns the folder or URI that was passed to `open`.
  [[nodiscard]] const std::string& uri() const;

 private:
  struct Parts;
  explicit Pawl(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
