// Lets SQLite work on the files of a store through the port `FileSystem`.
//
// SQLite's own commit protocol then runs on whatever disk the store runs on: in tests on a simulated one that loses
// power in the middle of a commit. A store whose folder was moved keeps its catalogue, because the port does not look
// the folder up again.
//
// The last 8 bytes of every page of a database are a checksum over the page and its place. SQLite leaves them alone. A
// page that does not match is an error for SQLite, so that a flipped bit can't hide a row.
#pragma once

#include <sqlite3.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"

namespace pawl {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// Registers itself with SQLite under a name of its own for as long as it exists. Databases that it opened must be
/// closed before it is destroyed.
class SqliteFiles {
 public:
  SqliteFiles(FileSystem& files, Clock& clock);
  SqliteFiles(const SqliteFiles&) = delete;
  SqliteFiles& operator=(const SqliteFiles&) = delete;
  ~SqliteFiles();

  /// Opens a database by its path in the store. `flags` are those of sqlite3_open_v2. Null if it can't be opened; then
  /// `take_failure` has the reason. A database that is created has pages of 4096 bytes.
  [[nodiscard]] Database open(const std::string& path, int flags);
  /// Returns and forgets the first error that the file system reported to this thread since the last call. SQLite
  /// reports only its kind.
  [[nodiscard]] std::optional<Error> take_failure();

 private:
  friend struct SqliteFileCalls;
  void note(const Error& error);

  FileSystem& files_;
  Clock& clock_;
  std::string name_;
  sqlite3_vfs vfs_{};
  Mutex mutex_;
  std::map<std::thread::id, Error> failures_ PAWL_GUARDED_BY(mutex_);
};

}  // namespace pawl
