// The filesystem store on a simulated disk or on a real folder, for the contract suite.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "testing/sim_file_system.hpp"
#include "testing/store_contract.hpp"

namespace pawl::testing {

/// A temporary folder, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Segments are so small that a few saves rotate and recycle them.
[[nodiscard]] inline FilesystemOptions small_options() {
  FilesystemOptions options;
  options.segment_bytes = 16U << 10;
  options.segments_max = 3;
  options.journals_max = 1;
  options.settle_at_close_bytes = 8U << 10;
  options.settle_at_close_batches = 3;
  options.inline_bytes_max = 2U << 10;
  options.batch_bytes_max = 4U << 10;
  options.differences_floor_bytes = 2U << 10;
  options.differences_max = 10;
  options.catalogue = false;
  options.reserve_bytes = 0;
  options.trail_lines_kept = 2;
  options.trail_lines_archived_min = 3;
  return options;
}

/// The same options, but encrypted and compressed.
[[nodiscard]] inline FilesystemOptions packed_options(FilesystemOptions options, StateFormat format) {
  const SecretKey key = SecretKey::of("an outer key, known to the tests");
  options.packing = {format, Compression::zstd, 0, 3};
  options.new_key = NewStoreKey{key, {}};
  options.find_key = [key](const Uuid&, const StoreKeyInfo&) -> Result<SecretKey> { return key; };
  return options;
}

class FilesystemUnderTest final : public StoreUnderTest {
 public:
  explicit FilesystemUnderTest(const FilesystemOptions& options) : options_(options) {
    options_.root = folder_.path();
    options_.catalogue = true;
    if (options.background == Background::thread) clock_.sleep_really();
  }

  std::unique_ptr<Store> open() override {
    auto files = PosixFileSystem::open(folder_.path());
    if (!files) std::abort();
    files_.push_back(std::move(*files));
    Environment environment{&clock_, &random_, sim_owner("boot", writer_pid())};
    auto store = FilesystemStore::open(*files_.back(), environment, options_);
    if (!store) std::abort();
    return std::move(*store);
  }
  ManualClock& clock() override { return clock_; }
  [[nodiscard]] std::uint64_t writer_pid() const override { return 4711; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  FilesystemOptions options_;
  ManualClock clock_;
  SeededRandom random_{7};
  std::vector<std::unique_ptr<PosixFileSystem>> files_;
};

}  // namespace pawl::testing
