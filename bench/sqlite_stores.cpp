// SQLite with a write-ahead log and synchronous=FULL: each commit is flushed.
#include <sqlite3.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/stores.hpp"

namespace pawl::bench {
namespace {

constexpr const char* kFlushLevel = "WAL, synchronous=FULL";

class Database {
 public:
  explicit Database(const Folder& folder) {
    // Used by one thread at a time, or guarded by our own mutex.
    require(sqlite3_open_v2((folder / "bench.db").c_str(), &handle_,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
        "CREATE TABLE checkpoints(run INTEGER, seq INTEGER, state TEXT, PRIMARY KEY(run, seq)) WITHOUT ROWID");
    require(sqlite3_prepare_v2(handle_, "INSERT INTO checkpoints VALUES(?,?,?)", -1, &insert_, nullptr));
    require(sqlite3_prepare_v2(handle_, "BEGIN IMMEDIATE", -1, &begin_, nullptr));
    require(sqlite3_prepare_v2(handle_, "COMMIT", -1, &commit_, nullptr));
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    for (sqlite3_stmt* statement : {insert_, begin_, commit_}) sqlite3_finalize(statement);
    sqlite3_close(handle_);
  }
  void begin() { step(begin_); }
  void commit() { step(commit_); }
  void insert(std::size_t run, std::string_view state) {
    require(sqlite3_bind_int64(insert_, 1, static_cast<sqlite3_int64>(run)));
    require(sqlite3_bind_int64(insert_, 2, ++sequence_));
    require(sqlite3_bind_text(insert_, 3, state.data(), static_cast<int>(state.size()), SQLITE_STATIC));
    step(insert_);
  }

 private:
  void require(int code) const {
    if (code != SQLITE_OK) give_up(fmt::format("sqlite: {}", sqlite3_errmsg(handle_)));
  }
  void run(const char* sql) { require(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }
  void step(sqlite3_stmt* statement) const {
    if (sqlite3_step(statement) != SQLITE_DONE) give_up(fmt::format("sqlite: {}", sqlite3_errmsg(handle_)));
    sqlite3_reset(statement);
  }

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  sqlite3_int64 sequence_ = 0;
};

class SingleSqlite final : public SingleWriter {
 public:
  explicit SingleSqlite(const Folder& folder) : database_(folder) {}
  void save(std::string_view state) override { database_.insert(0, state); }
  std::string name() const override { return "sqlite"; }
  std::string flush_level() const override { return kFlushLevel; }

 private:
  Database database_;
};

class SharedSqlite final : public SharedWriter {
 public:
  explicit SharedSqlite(const Folder& folder) : database_(folder) {}
  void save(std::size_t thread, std::string_view state) override {
    const std::lock_guard lock(mutex_);
    database_.insert(thread, state);
  }
  std::string name() const override { return "sqlite plain"; }
  std::string flush_level() const override { return kFlushLevel; }

 private:
  std::mutex mutex_;
  Database database_;
};

class BatchingSqlite final : public SharedWriter {
 public:
  explicit BatchingSqlite(const Folder& folder) : database_(folder), thread_([this] { work(); }) {}
  ~BatchingSqlite() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void save(std::size_t thread, std::string_view state) override {
    Row row{thread, state};
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(&row);
      if (queue_.size() == 1) wake_.notify_one();
    }
    row.done.wait(0);
  }
  std::string name() const override { return "sqlite batching"; }
  std::string flush_level() const override { return std::string(kFlushLevel) + ", shared"; }

 private:
  struct Row {
    std::size_t run;
    std::string_view state;
    std::atomic<std::uint32_t> done{0};
  };

  void work() {
    std::vector<Row*> rows;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      rows.swap(queue_);
      lock.unlock();
      database_.begin();
      for (Row* row : rows) database_.insert(row->run, row->state);
      database_.commit();
      for (Row* row : rows) {
        std::atomic<std::uint32_t>& done = row->done;
        done.store(1);
        done.notify_one();
      }
      rows.clear();
      lock.lock();
    }
  }

  Database database_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Row*> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<SingleWriter> make_sqlite(const Folder& folder) { return std::make_unique<SingleSqlite>(folder); }
std::unique_ptr<SharedWriter> make_shared_sqlite(const Folder& folder) {
  return std::make_unique<SharedSqlite>(folder);
}
std::unique_ptr<SharedWriter> make_batching_sqlite(const Folder& folder) {
  return std::make_unique<BatchingSqlite>(folder);
}

}  // namespace pawl::bench
