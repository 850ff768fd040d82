// RocksDB with WriteOptions.sync: the write-ahead log is flushed, with RocksDB's own group commit.
#include <rocksdb/db.h>

#include <atomic>

#include "bench/stores.hpp"

namespace pawl::bench {
namespace {

class Database {
 public:
  explicit Database(const Folder& folder) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    require(rocksdb::DB::Open(options, folder.string(), &opened));
    database_.reset(opened);
    sync_.sync = true;
  }
  void save(std::size_t run, std::string_view state) {
    const std::string key = fmt::format("{:04}/{:012}", run, sequence_.fetch_add(1, std::memory_order_relaxed));
    require(database_->Put(sync_, key, rocksdb::Slice(state.data(), state.size())));
  }

 private:
  static void require(const rocksdb::Status& status) {
    if (!status.ok()) give_up("rocksdb: " + status.ToString());
  }
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::WriteOptions sync_;
  std::atomic<std::uint64_t> sequence_{0};
};

class SingleRocks final : public SingleWriter {
 public:
  explicit SingleRocks(const Folder& folder) : database_(folder) {}
  void save(std::string_view state) override { database_.save(0, state); }
  std::string name() const override { return "rocksdb"; }
  std::string flush_level() const override { return "WriteOptions.sync"; }

 private:
  Database database_;
};

class SharedRocks final : public SharedWriter {
 public:
  explicit SharedRocks(const Folder& folder) : database_(folder) {}
  void save(std::size_t thread, std::string_view state) override { database_.save(thread, state); }
  std::string name() const override { return "rocksdb"; }
  std::string flush_level() const override { return "WriteOptions.sync, shared"; }

 private:
  Database database_;
};

}  // namespace

std::unique_ptr<SingleWriter> make_rocksdb(const Folder& folder) { return std::make_unique<SingleRocks>(folder); }
std::unique_ptr<SharedWriter> make_shared_rocksdb(const Folder& folder) {
  return std::make_unique<SharedRocks>(folder);
}

}  // namespace pawl::bench
