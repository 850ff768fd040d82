// Writes imported runs to a store, in the same way for all formats.
//
// The caller's id of every checkpoint is derived from its original id, so an import can be repeated without duplicates.
// Times in a store never go backwards, so the original ones are kept in the metadata (`imported`).
#pragma once

#include <map>
#include <optional>

#include "domain/workflow.hpp"
#include "importers/imported.hpp"
#include "ports/store.hpp"

namespace pawl {

enum class ImportMode : std::uint8_t { write, dry_run };

struct ImportOptions {
  std::string_view format = {};
  std::string run_id = {};  // of a single run; for several runs, a prefix: ID-
  ImportMode mode = ImportMode::write;
  const Workflow* workflow = nullptr;  // if set, each run ends with a state that can be resumed
  std::function<Result<std::string>(const Json& vars)> working_dir = {};  // of the workflow
  std::uint64_t state_bytes_max = 100ULL << 20;
};

struct TakenRun {
  std::string run = {};
  std::string original = {};
  std::uint64_t written = 0;   // checkpoints; in a dry run, those that would be written
  std::uint64_t repeated = 0;  // checkpoints that were already present
  std::uint64_t events = 0;
  Sequence latest = {};  // 0 in a dry run of a new run
  bool resumable = false;
};

struct ImportReport {
  std::vector<TakenRun> runs = {};
  std::vector<ImportProblem> refused = {};
  std::vector<ImportNote> notes = {};
};

/// Takes runs one by one. Holds one run back until the next one, or `finish`, shows whether it is the only one.
class ImportWriter {
 public:
  /// `store` is null in a dry run without a store. All arguments must outlive this object.
  ImportWriter(Store* store, const ImportOptions& options, ImportReport& report);

  /// Returns the sink for an importer.
  [[nodiscard]] ImportSink sink();
  /// Writes the run that was held back. Fails only with errors of the store; nothing more is written then.
  Result<void> finish();

 private:
  enum class Alone : std::uint8_t { yes, no };
  struct Known {
    bool exists = false;
    std::map<std::string, CheckpointInfo> imported;  // by caller's id
    CheckpointInfo latest;
    std::uint64_t events = 0;
  };
  void take(ImportedRun run, Alone alone);
  Result<void> write(const RunId& id, ImportedRun& run);
  Result<Known> look(const RunId& id) const;
  Result<void> write_checkpoints(const RunId& id, ImportedRun& run, Known& known, TakenRun& taken);
  Result<void> adopt(RunWriter* writer, const ImportedRun& run, Known& known, TakenRun& taken);
  [[nodiscard]] std::string caller_of(std::string_view id) const;
  [[nodiscard]] std::string metadata_of(const ImportedCheckpoint& checkpoint) const;
  [[nodiscard]] Result<void> check(const ImportedCheckpoint& checkpoint, std::string_view state) const;

  Store* store_;
  const ImportOptions& options_;
  ImportReport& report_;
  std::optional<ImportedRun> held_;
  std::map<std::string, std::string> ids_;  // run -> original
  bool several_ = false;
  std::optional<Error> trouble_;
};

}  // namespace pawl
