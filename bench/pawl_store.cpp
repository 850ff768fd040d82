#include "bench/pawl_store.hpp"

#include <numeric>

#include "engine/save.hpp"

namespace pawl::bench {
namespace {

constexpr std::uint64_t kStateBytesMax = 100ULL << 20;

class SinglePawl final : public SingleWriter {
 public:
  explicit SinglePawl(const Folder& folder) : store_(folder), run_(store_.run("bench")) {}
  void save(std::string_view state) override { bench::save(*run_, state); }
  std::string name() const override { return "pawl"; }
  std::string flush_level() const override { return "fdatasync of the journal (Durability::sync)"; }
  std::optional<std::uint64_t> own_flushes() const override { return store_.save_path_flushes(); }

 private:
  PawlStore store_;
  std::unique_ptr<RunWriter> run_;
};

class SharedPawl final : public SharedWriter {
 public:
  SharedPawl(const Folder& folder, std::size_t threads) : store_(folder) {
    for (std::size_t i = 0; i < threads; ++i) runs_.push_back(store_.run(fmt::format("run-{}", i)));
  }
  void save(std::size_t thread, std::string_view state) override { bench::save(*runs_[thread], state); }
  std::string name() const override { return "pawl"; }
  std::string flush_level() const override { return "fdatasync of the journal, shared (Durability::sync)"; }
  std::optional<std::uint64_t> own_flushes() const override { return store_.save_path_flushes(); }

 private:
  PawlStore store_;
  std::vector<std::unique_ptr<RunWriter>> runs_;
};

}  // namespace

PawlStore::PawlStore(const Folder& folder, Background background, const RetentionSettings& retention)
    : PawlStore(folder, FilesystemOptions{.background = background, .retention = retention}) {}

PawlStore::PawlStore(const Folder& folder, FilesystemOptions options) {
  must(make_root(folder.string()));
  files_ = must(PosixFileSystem::open(folder.string()));
  store_ = must(FilesystemStore::open(*files_, Environment{&clock_, &random_, current_owner()}, options));
}

std::unique_ptr<RunWriter> PawlStore::run(const std::string& id) {
  return must(store_->open_run(must(RunId::parse(id)), RunOptions{}));
}

std::uint64_t PawlStore::save_path_flushes() const {
  const auto counts = files_->sync_counts();
  const auto of = [&](SyncPoint point) { return counts[static_cast<std::size_t>(point)]; };
  return of(SyncPoint::journal_batch) + of(SyncPoint::blob);
}

std::uint64_t PawlStore::all_flushes() const {
  const auto counts = files_->sync_counts();
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void save(RunWriter& run, std::string_view state) {
  must(checked_save(run, SaveRequest{.body = state}, kStateBytesMax));
}

std::unique_ptr<SingleWriter> make_pawl(const Folder& folder) { return std::make_unique<SinglePawl>(folder); }

std::unique_ptr<SharedWriter> make_shared_pawl(const Folder& folder, std::size_t threads) {
  return std::make_unique<SharedPawl>(folder, threads);
}

}  // namespace pawl::bench
