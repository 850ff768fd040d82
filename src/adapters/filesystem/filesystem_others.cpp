// FilesystemStore: other writers. Telling the writer of a run that somebody waits for it, and reading their journals.
#include <algorithm>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/filesystem/layout.hpp"

namespace pawl {
namespace {

class FilesystemClaim final : public RunClaim {
 public:
  explicit FilesystemClaim(std::unique_ptr<File> lock) : lock_(std::move(lock)) {}
  [[nodiscard]] bool has_rivals() const override { return lock_->locked_elsewhere(layout::kClaimByte).value_or(false); }

 private:
  const std::unique_ptr<File> lock_;  // closing it ends the claim
};

}  // namespace

Result<std::unique_ptr<RunClaim>> FilesystemStore::claim(const RunId& run) {
  PAWL_TRY(process_.refuse_copy());
  PAWL_TRY_ASSIGN(auto lock, files_.open(layout::run_lock(run.text()), OpenMode::create));  // a backup has none
  PAWL_TRY(lock->try_lock_shared(layout::kClaimByte));
  return std::make_unique<FilesystemClaim>(std::move(lock));
}

/// Most stores have one writer, or others that rest. Their journals need not be read again for every run.
Result<std::shared_ptr<JournalSnapshot>> FilesystemStore::view_of_others() {
  const std::string& boot_id = environment_.owner.boot_id;
  if (others_) {
    PAWL_TRY_ASSIGN(const bool untouched, others_->is_untouched(files_, boot_id, journal_->number()));
    if (untouched) return others_;
  }
  PAWL_TRY_ASSIGN(others_, JournalSnapshot::take(files_, boot_id, JournalSnapshot::Records::all, journal_->number()));
  return others_;
}

/// The own journal has no records of a run that this process has not opened and that it did not have before.
Result<std::optional<Error>> FilesystemStore::absence_of(const RunId& run) {
  const Lock lock(open_mutex_);
  if (!journal_ || journaled_.contains(run.text())) return std::optional<Error>();
  PAWL_TRY_ASSIGN(const auto others, view_of_others());
  if (others->damage() || others->copied() || std::ranges::any_of(others->journals(), &JournalView::has_unconfirmed))
    return std::optional<Error>();
  const auto record = RunReader(files_, keys_, run.text(), others).run_record();
  if (record || record.error().code != Code::run_not_found) return std::optional<Error>();
  return std::optional(record.error());
}

}  // namespace pawl
