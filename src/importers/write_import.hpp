// Puts imported runs into a store: the one stage that writes, the same for all formats.
//
// Every checkpoint is saved with a caller's id made of its own, so that an import that is repeated, or was cut short,
// is answered and not doubled. The times of a store never go back, so the original ones stand in the metadata:
// `imported`.
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
  std::string run_id = {};  // of a single run; of several, put before their own with a '-'
  ImportMode mode = ImportMode::write;
  const Workflow* workflow = nullptr;  // then each run ends with a state that can be resumed
  std::function<Result<std::string>(const Json& vars)> working_dir = {};  // of the workflow
  std::uint64_t state_bytes_max = 100ULL << 20;
};

struct TakenRun {
  std::string run = {};
  std::string original = {};
  std::uint64_t written = 0;   // checkpoints; in a dry run those that would be
  std::uint64_t repeated = 0;  // that were there already
  std::uint64_t events = 0;
  Sequence latest = {};  // 0 in a dry run of a new one
  bool resumable = false;
};

struct ImportReport {
  std::vector<TakenRun> runs = {};
  std::vector<ImportProblem> refused = {};
  std::vector<ImportNote> notes = {};
};

/// Takes runs one by one. One run is held back, because only the next one, or `finish`, tells whether it is the only
/// one.
class ImportWriter {
 public:
  /// `store` null: there is none yet (a dry run). All must outlive it.
  ImportWriter(Store* store, const ImportOptions& options, ImportReport& report);

  /// To be handed to an importer.
  [[nodiscard]] ImportSink sink();
  /// Writes what is left. Fails only where the store does: then nothing more is written.
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
