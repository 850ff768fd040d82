// The contestants. Any failure exits the program: a benchmark of failing saves is meaningless.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::bench {

/// Prints the message and exits with status 1.
[[noreturn]] void give_up(const std::string& message);

/// Saves states one after the other; each is durable when `save` returns. For one thread.
class SingleWriter {
 public:
  SingleWriter() = default;
  SingleWriter(const SingleWriter&) = delete;
  SingleWriter& operator=(const SingleWriter&) = delete;
  virtual ~SingleWriter() = default;
  virtual void save(std::string_view state) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string flush_level() const = 0;
  /// Returns the flushes on the save path so far. If the store can't report them, all flushes of the process are
  /// counted.
  [[nodiscard]] virtual std::optional<std::uint64_t> own_flushes() const { return std::nullopt; }
};

/// The same for many threads, each of which saves to its own run.
class SharedWriter {
 public:
  SharedWriter() = default;
  SharedWriter(const SharedWriter&) = delete;
  SharedWriter& operator=(const SharedWriter&) = delete;
  virtual ~SharedWriter() = default;
  virtual void save(std::size_t thread, std::string_view state) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string flush_level() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> own_flushes() const { return std::nullopt; }
};

using Folder = std::filesystem::path;

/// The lower bound: overwrites a file of zeros from start to end, with fdatasync after each write.
[[nodiscard]] std::unique_ptr<SingleWriter> make_raw(const Folder& folder, std::size_t record_bytes);
/// One file per checkpoint: written, fsynced and renamed, then its folder is fsynced.
[[nodiscard]] std::unique_ptr<SingleWriter> make_file_per_checkpoint(const Folder& folder);
[[nodiscard]] std::unique_ptr<SingleWriter> make_sqlite(const Folder& folder);
[[nodiscard]] std::unique_ptr<SingleWriter> make_rocksdb(const Folder& folder);

/// One connection behind a mutex, one commit per save.
[[nodiscard]] std::unique_ptr<SharedWriter> make_shared_sqlite(const Folder& folder);
/// One thread takes all waiting rows and commits them together.
[[nodiscard]] std::unique_ptr<SharedWriter> make_batching_sqlite(const Folder& folder);
[[nodiscard]] std::unique_ptr<SharedWriter> make_shared_rocksdb(const Folder& folder);
/// The lower bound: one log, in which the saves of all threads share a write and an fdatasync.
[[nodiscard]] std::unique_ptr<SharedWriter> make_group_commit(const Folder& folder);

}  // namespace pawl::bench
