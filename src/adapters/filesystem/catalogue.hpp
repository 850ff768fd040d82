// catalogue.db: an index for queries over all runs. It contains nothing that is not also in the files: if it is
// deleted, it is rebuilt. Every page has a checksum. A damaged page, or a row that Pawl would not write, means that the
// catalogue must be rebuilt.
#pragma once

#include <functional>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "adapters/filesystem/sqlite_files.hpp"
#include "base/result.hpp"

namespace pawl {

/// A save with a caller's id.
struct CatalogueSave {
  std::string run;
  std::string caller_id;  // empty: the run has saves that could not be read when the catalogue was built
  Sequence sequence;
  Uuid id;
  std::string checksum;
  Kind kind = Kind::manual;
  std::string fingerprint;
};

struct CatalogueUpdate {
  std::vector<RunInfo> runs;
  std::vector<CatalogueSave> saves;
};

/// Opens the file again for each call, so that it may be deleted or replaced at any time. Several processes may read.
/// Only one process at a time may write; the store holds a lock for that.
class Catalogue {
 public:
  Catalogue(FileSystem& files, Clock& clock);

  /// Returns false if the file is missing, is not a database, is incomplete or has another format. Fails if it can't be
  /// read. Damage further inside is found by whoever reads it: store_damaged.
  [[nodiscard]] Result<bool> usable() const;
  /// Adds rows or replaces older ones in one transaction, which is durable on return.
  Result<void> record(const CatalogueUpdate& update);
  /// Marks the catalogue as outdated until `resume`. Durable on return. Used before a change of files that the
  /// catalogue must not miss.
  Result<void> suspend();
  Result<void> resume();
  /// Returns whether `suspend` was called without `resume`. False if the file is missing, damaged or of another format.
  [[nodiscard]] Result<bool> is_suspended() const;
  /// Returns the newest damaged runs and then the newest of the others, at most `limit` of each. Fails with
  /// store_damaged if a row is damaged.
  [[nodiscard]] Result<std::vector<RunInfo>> newest(std::size_t limit) const;
  [[nodiscard]] Result<std::optional<RunInfo>> find_run(std::string_view run) const;
  /// Returns the forks of the run with this UUID.
  [[nodiscard]] Result<std::vector<RunInfo>> forks_of(const Uuid& run) const;
  /// If there is no such save, but some of the run could not be read, returns one without a caller's id.
  [[nodiscard]] Result<std::optional<CatalogueSave>> find_save(std::string_view run, std::string_view caller_id) const;
  [[nodiscard]] Result<std::vector<CatalogueSave>> saves_of(std::string_view run) const;
  /// Replaces everything about that run with `row`, if any. Leaves no traces in the file, neither in free pages nor
  /// after rows. The old content remains in the rollback journal, whose bytes the caller must destroy.
  Result<void> forget(std::string_view run, const std::optional<RunInfo>& row);
  /// Builds a new catalogue from the pieces that `produce` passes, and moves it into place.
  Result<void> rebuild(
      const std::function<Result<void>(const std::function<Result<void>(const CatalogueUpdate&)>& add)>& produce);
  /// Checks everything. Returns a description of the damage, or an empty string. Fails if the file can't be read.
  [[nodiscard]] Result<std::string> find_fault() const;

 private:
  [[nodiscard]] Result<Database> open(int flags) const;
  [[nodiscard]] Result<Database> open_for_reading() const;
  [[nodiscard]] Error error_of(sqlite3* database) const;
  [[nodiscard]] Result<void> execute(sqlite3* database, const std::string& text) const;
  Result<void> remove_rollback_journal();
  [[nodiscard]] Result<void> insert(sqlite3* database, const CatalogueUpdate& update) const;

  FileSystem& files_;
  mutable SqliteFiles sqlite_;
};

}  // namespace pawl
