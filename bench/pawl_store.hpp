// Pawl as a contestant: assembled like pawl::Pawl::open, but with access to the number of flushes.
#pragma once

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "bench/stores.hpp"

namespace pawl::bench {

/// Returns the value. Exits the program on an error.
template <class T>
T must(Result<T> result) {
  if (!result) give_up(fmt::format("pawl: {} ({})", result.error().message, result.error().where));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class PawlStore {
 public:
  explicit PawlStore(const Folder& folder, Background background = Background::thread,
                     const RetentionSettings& retention = {});
  PawlStore(const Folder& folder, FilesystemOptions options);
  [[nodiscard]] FilesystemStore& store() { return *store_; }
  [[nodiscard]] std::unique_ptr<RunWriter> run(const std::string& id);
  /// Returns the number of flushes that saves wait for. Publishing has its own, in the background.
  [[nodiscard]] std::uint64_t save_path_flushes() const;
  [[nodiscard]] std::uint64_t all_flushes() const;

 private:
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<PosixFileSystem> files_;
  std::unique_ptr<FilesystemStore> store_;
};

/// Checks the state as the library does, then saves it.
void save(RunWriter& run, std::string_view state);

[[nodiscard]] std::unique_ptr<SingleWriter> make_pawl(const Folder& folder);
[[nodiscard]] std::unique_ptr<SharedWriter> make_shared_pawl(const Folder& folder, std::size_t threads);

}  // namespace pawl::bench
