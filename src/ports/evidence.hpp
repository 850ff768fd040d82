// What a verification reads of a store: stored bytes as they are, in order, without keys and without writing anything.
//
// An error that is a refusal (is_refusal) is a finding: what is missing, cut or changed, with its file. Any other is a
// failure of the machine.
#pragma once

#include <memory>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/result.hpp"

namespace pawl {

/// One stored record without its newline. Views hold until the next call of the function that gave it.
struct StoredText {
  std::uint64_t number = 0;  // index of an entry, sequence of a checkpoint, number of an event
  std::string_view text = {};
  std::string_view file = {};  // for messages
};

/// One run. Not thread-safe. What journals and files both hold must be the same bytes; what only a journal holds is
/// given from there.
class RunEvidence {
 public:
  RunEvidence() = default;
  RunEvidence(const RunEvidence&) = delete;
  RunEvidence& operator=(const RunEvidence&) = delete;
  virtual ~RunEvidence() = default;

  virtual Result<std::string> run_file() = 0;
  virtual Result<std::optional<std::string>> pruned_file() = 0;
  virtual Result<std::optional<std::string>> roots_file() = 0;
  /// The mark of an erased run.
  virtual Result<std::optional<std::string>> erased_file() = 0;
  /// Each gives the next record, in ascending order; nothing behind the last.
  virtual Result<std::optional<StoredText>> next_entry() = 0;
  virtual Result<std::optional<StoredText>> next_checkpoint() = 0;
  virtual Result<std::optional<StoredText>> next_event() = 0;
  /// SHA-256 of the salt and the blob's bytes; nothing where it is missing.
  virtual Result<std::optional<Sha256>> blob_hash(std::string_view name, std::string_view salt) = 0;

  /// The last entry when reading began: what a writer adds meanwhile is not looked at. The highest number where it is
  /// not known.
  [[nodiscard]] virtual std::uint64_t last_entry() const = 0;
  /// Entries before this one stand in files alone. 0: all do.
  [[nodiscard]] virtual std::uint64_t first_entry_in_journal() const = 0;
  /// False: somebody wrote since reading began, so what looked wrong may have been on its way.
  virtual Result<bool> unchanged() = 0;
  /// Paths for messages: "run.json", "audit/merkle_roots.json".
  [[nodiscard]] virtual std::string path_of(std::string_view file) const = 0;
};

/// A store. Not thread-safe.
class Evidence {
 public:
  Evidence() = default;
  Evidence(const Evidence&) = delete;
  Evidence& operator=(const Evidence&) = delete;
  virtual ~Evidence() = default;

  virtual Result<Uuid> store_id() = 0;
  /// The ids of all runs, sorted.
  virtual Result<std::vector<std::string>> runs() = 0;
  /// run_not_found where neither journal nor files know it. `fresh`: read the journals again.
  enum class Journals : std::uint8_t { as_read, fresh };
  virtual Result<std::unique_ptr<RunEvidence>> run(const RunId& run, Journals journals) = 0;
};

}  // namespace pawl
