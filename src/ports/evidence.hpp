// What a verification reads of a store: stored bytes, unchanged and in order. Needs no keys and writes nothing.
//
// An error that is a refusal (is_refusal) is a finding: data that is missing, truncated or modified, with its file. Any
// other error is a failure of the machine.
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

/// One stored record without its newline. Views are valid until the next call of the function that returned it.
struct StoredText {
  std::uint64_t number = 0;  // index of an entry, sequence of a checkpoint, number of an event
  std::string_view text = {};
  std::string_view file = {};  // for messages
};

/// One run. Not thread-safe. If both a journal and a file contain a record, they must contain the same bytes. A record
/// that only a journal contains is returned from there.
class RunEvidence {
 public:
  RunEvidence() = default;
  RunEvidence(const RunEvidence&) = delete;
  RunEvidence& operator=(const RunEvidence&) = delete;
  virtual ~RunEvidence() = default;

  virtual Result<std::string> run_file() = 0;
  virtual Result<std::optional<std::string>> pruned_file() = 0;
  virtual Result<std::optional<std::string>> roots_file() = 0;
  /// Returns the list of checkpoints that were set aside because of damage.
  virtual Result<std::optional<std::string>> aside_file() { return std::optional<std::string>(); }
  /// Returns the content of erased.json.
  virtual Result<std::optional<std::string>> erased_file() = 0;
  /// Each returns the next record in ascending order, or nothing after the last one.
  virtual Result<std::optional<StoredText>> next_entry() = 0;
  virtual Result<std::optional<StoredText>> next_checkpoint() = 0;
  virtual Result<std::optional<StoredText>> next_event() = 0;
  /// Returns the SHA-256 of the salt and the bytes of the blob, or nothing if it is missing.
  virtual Result<std::optional<Sha256>> blob_hash(std::string_view name, std::string_view salt) = 0;

  /// Returns the last entry at the time reading began; later entries are ignored. Returns the highest number if it is
  /// unknown.
  [[nodiscard]] virtual std::uint64_t last_entry() const = 0;
  /// Entries before this one are only in files. 0 if all are.
  [[nodiscard]] virtual std::uint64_t first_entry_in_journal() const = 0;
  /// Returns false if somebody wrote since reading began, so that an apparent error may be an unfinished write.
  virtual Result<bool> unchanged() = 0;
  /// Returns whether this is a copy that was made while the store was in use, and that nobody could complete since.
  /// What is missing at the end of such a run was not copied.
  [[nodiscard]] virtual bool copied_in_use() const { return false; }
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
  /// Returns the ids of all runs, sorted.
  virtual Result<std::vector<std::string>> runs() = 0;
  /// Fails with run_not_found if neither a journal nor a file contains it. `fresh` reads the journals again.
  enum class Journals : std::uint8_t { as_read, fresh };
  virtual Result<std::unique_ptr<RunEvidence>> run(const RunId& run, Journals journals) = 0;
};

}  // namespace pawl
