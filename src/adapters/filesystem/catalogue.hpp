// catalogue.db: an index for queries over all runs. Everything in it stands in the files as well: delete it,
// and it is rebuilt. Every row carries a check of its own; a row or file that does not fit means "rebuild".
#pragma once

#include <functional>
#include <optional>
#include <pawl/types.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pawl {

/// A save that carried a caller's id.
struct CatalogueSave {
  std::string run;
  std::string caller_id;
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

/// Opens the file anew for each call, so that it may be deleted or replaced at any time. Several processes
/// may read; changes are made by one at a time (the store holds a lock for that).
class Catalogue {
 public:
  explicit Catalogue(std::string path);

  /// False: missing, unreadable, of another format, or not finished. Small ones are checked as a whole.
  [[nodiscard]] bool usable() const;
  /// Adds, or replaces what is older, in one transaction; durable when it returns.
  Result<void> record(const CatalogueUpdate& update);
  /// From here on it is to be rebuilt, until `resume`; durable when it returns. For a change of files that it must not
  /// miss, whatever happens.
  Result<void> suspend();
  Result<void> resume();
  /// Newest first. Fails with store_damaged where a row does not fit its check.
  [[nodiscard]] Result<std::vector<RunInfo>> newest(std::size_t limit) const;
  [[nodiscard]] Result<std::optional<CatalogueSave>> find_save(std::string_view run, std::string_view caller_id) const;
  /// Puts `row`, if any, in place of what it has of that run, and leaves no remains of it in the file: neither in free
  /// pages nor behind rows. What it was is left in the file's rollback journal, whose bytes are the caller's to
  /// destroy.
  Result<void> forget(std::string_view run, const std::optional<RunInfo>& row);
  /// Makes a new one from what `produce` hands over piece by piece, and puts it in place.
  Result<void> rebuild(
      const std::function<Result<void>(const std::function<Result<void>(const CatalogueUpdate&)>& add)>& produce);
  /// What is wrong with it, looking at everything. Empty: nothing.
  [[nodiscard]] std::string find_fault() const;

 private:
  const std::string path_;
};

}  // namespace pawl
