#include "adapters/filesystem/sqlite_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/hash.hpp"

namespace pawl {
namespace {

// The bytes that SQLite's own files are locked with, so that `sqlite3 catalogue.db` can be used at the same time.
constexpr std::uint64_t kPendingByte = 0x40000000;
constexpr std::uint64_t kReservedByte = kPendingByte + 1;
constexpr std::uint64_t kSharedByte = kPendingByte + 2;
constexpr int kPathMax = 512;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kSumBytes = 8;

struct OpenFile {
  sqlite3_file base;  // first: SQLite knows this part only
  SqliteFiles* owner;
  std::unique_ptr<File> file;
  int lock;
  bool name_is_new;  // its folder must be synced with the file
  bool has_sums;     // a database, not a journal
};

OpenFile& open_file(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

std::string sum_of(std::string_view page, sqlite3_int64 offset) {
  return fmt::format("{:08x}", crc32c(page.substr(0, kPageBytes - kSumBytes), static_cast<std::uint32_t>(offset >> 9)));
}

bool is_page(const OpenFile& open, std::size_t size, sqlite3_int64 offset) {
  return open.has_sums && size == kPageBytes && offset % static_cast<sqlite3_int64>(kPageBytes) == 0;
}

/// A page that was allocated and freed in one transaction is never written, and is all zeros.
bool is_whole(std::string_view page, sqlite3_int64 offset) {
  return page.ends_with(sum_of(page, offset)) || page.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

/// The functions that SQLite calls. They return its codes and keep the error of the port.
struct SqliteFileCalls {
  static SqliteFiles& owner(sqlite3_vfs* vfs) { return *static_cast<SqliteFiles*>(vfs->pAppData); }

  static int failed(SqliteFiles& owner, const Error& error, int code) {
    owner.note(error);
    return error.code == Code::disk_full ? SQLITE_FULL : code;
  }

  // ---- A file ----

  static int close(sqlite3_file* file) {
    open_file(file).~OpenFile();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* file, void* target, int size, sqlite3_int64 offset) {
    OpenFile& open = open_file(file);
    const auto wanted = static_cast<std::size_t>(size);
    const auto bytes = open.file->read_at(static_cast<std::uint64_t>(offset), wanted);
    if (!bytes) return failed(*open.owner, bytes.error(), SQLITE_IOERR_READ);
    std::memcpy(target, bytes->data(), bytes->size());
    if (bytes->size() == wanted)
      return !is_page(open, wanted, offset) || is_whole(*bytes, offset) ? SQLITE_OK : SQLITE_IOERR_DATA;
    std::memset(static_cast<char*>(target) + bytes->size(), 0, wanted - bytes->size());
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* file, const void* source, int size, sqlite3_int64 offset) {
    OpenFile& open = open_file(file);
    const std::string_view bytes(static_cast<const char*>(source), static_cast<std::size_t>(size));
    std::string page;
    if (is_page(open, bytes.size(), offset)) {
      page = bytes.substr(0, kPageBytes - kSumBytes);
      page += sum_of(bytes, offset);
    }
    const auto written = open.file->write_at(static_cast<std::uint64_t>(offset), page.empty() ? bytes : page);
    return written ? SQLITE_OK : failed(*open.owner, written.error(), SQLITE_IOERR_WRITE);
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    OpenFile& open = open_file(file);
    const auto resized = open.file->resize(static_cast<std::uint64_t>(size));
    return resized ? SQLITE_OK : failed(*open.owner, resized.error(), SQLITE_IOERR_TRUNCATE);
  }

  static int sync(sqlite3_file* file, int /*flags*/) {
    OpenFile& open = open_file(file);
    auto synced = open.file->sync(SyncPoint::catalogue);
    // A journal without a name would not be found after a power loss.
    if (synced && open.name_is_new) synced = open.owner->files_.sync_folder("", SyncPoint::catalogue_name);
    if (!synced) return failed(*open.owner, synced.error(), SQLITE_IOERR_FSYNC);
    open.name_is_new = false;
    return SQLITE_OK;
  }

  static int file_size(sqlite3_file* file, sqlite3_int64* size) {
    OpenFile& open = open_file(file);
    const auto bytes = open.file->size();
    if (!bytes) return failed(*open.owner, bytes.error(), SQLITE_IOERR_FSTAT);
    *size = static_cast<sqlite3_int64>(*bytes);
    return SQLITE_OK;
  }

  /// A reader passes the pending byte, which a writer holds while it waits for the readers to finish.
  static Result<bool> lock_shared(File& file) {
    PAWL_TRY_ASSIGN(const bool passed, file.try_lock_shared(kPendingByte));
    if (!passed) return false;
    const auto shared = file.try_lock_shared(kSharedByte);
    PAWL_TRY(file.unlock(kPendingByte));
    return shared;
  }

  static Result<bool> lock_to(OpenFile& open, int level) {
    File& file = *open.file;
    if (open.lock < SQLITE_LOCK_SHARED) {
      PAWL_TRY_ASSIGN(const bool shared, lock_shared(file));
      if (!shared) return false;
      open.lock = SQLITE_LOCK_SHARED;
    }
    // Whoever rolls back the journal of a crash goes straight to exclusive: a reserved lock would tell others that the
    // journal is in use, and they would read the database as it is.
    if (level == SQLITE_LOCK_RESERVED) {
      PAWL_TRY_ASSIGN(const bool reserved, file.try_lock(kReservedByte));
      if (!reserved) return false;
      open.lock = SQLITE_LOCK_RESERVED;
    }
    if (level < SQLITE_LOCK_EXCLUSIVE || open.lock == SQLITE_LOCK_EXCLUSIVE) return true;
    if (open.lock < SQLITE_LOCK_PENDING) {
      PAWL_TRY_ASSIGN(const bool pending, file.try_lock(kPendingByte));
      if (!pending) return false;
      open.lock = SQLITE_LOCK_PENDING;
    }
    PAWL_TRY_ASSIGN(const bool alone, file.try_lock(kSharedByte));
    if (!alone) return false;
    open.lock = SQLITE_LOCK_EXCLUSIVE;
    return true;
  }

  static int lock(sqlite3_file* file, int level) {
    OpenFile& open = open_file(file);
    if (open.lock >= level) return SQLITE_OK;
    const auto locked = lock_to(open, level);
    if (!locked) return failed(*open.owner, locked.error(), SQLITE_IOERR_LOCK);
    return *locked ? SQLITE_OK : SQLITE_BUSY;
  }

  static Result<void> unlock_to(OpenFile& open, int level) {
    File& file = *open.file;
    if (open.lock > SQLITE_LOCK_SHARED) {
      if (level == SQLITE_LOCK_SHARED) static_cast<void>(file.try_lock_shared(kSharedByte));
      PAWL_TRY(file.unlock(kPendingByte));
      PAWL_TRY(file.unlock(kReservedByte));
    }
    if (level == SQLITE_LOCK_NONE) PAWL_TRY(file.unlock(kSharedByte));
    return {};
  }

  static int unlock(sqlite3_file* file, int level) {
    OpenFile& open = open_file(file);
    if (open.lock <= level) return SQLITE_OK;
    const auto unlocked = unlock_to(open, level);
    open.lock = level;
    return unlocked ? SQLITE_OK : failed(*open.owner, unlocked.error(), SQLITE_IOERR_UNLOCK);
  }

  static int check_reserved(sqlite3_file* file, int* reserved) {
    OpenFile& open = open_file(file);
    if (open.lock > SQLITE_LOCK_SHARED) {
      *reserved = 1;
      return SQLITE_OK;
    }
    const auto held = open.file->locked_elsewhere(kReservedByte);
    if (!held) return failed(*open.owner, held.error(), SQLITE_IOERR_CHECKRESERVEDLOCK);
    *reserved = *held ? 1 : 0;
    return SQLITE_OK;
  }

  static int control(sqlite3_file* /*file*/, int /*operation*/, void* /*argument*/) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file* /*file*/) { return 512; }
  static int characteristics(sqlite3_file* /*file*/) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  // ---- The file system ----

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
    static constexpr sqlite3_io_methods kMethods = {
        1,       close,          read,    write,       truncate,        sync,    file_size, lock,
        unlock,  check_reserved, control, sector_size, characteristics, nullptr, nullptr,   nullptr,
        nullptr, nullptr,        nullptr};
    file->pMethods = nullptr;
    SqliteFiles& self = owner(vfs);
    if (path == nullptr) return SQLITE_CANTOPEN;  // a temporary file: `temp_store` keeps those in memory
    const bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
    bool is_new = false;
    if (creates) {
      const auto exists = self.files_.exists(path);
      if (!exists) return failed(self, exists.error(), SQLITE_CANTOPEN);
      is_new = !*exists;
    }
    const OpenMode mode = (flags & SQLITE_OPEN_READWRITE) == 0 ? OpenMode::read
                          : creates                            ? OpenMode::create
                                                               : OpenMode::write;
    auto opened = self.files_.open(path, mode);
    if (!opened) return failed(self, opened.error(), SQLITE_CANTOPEN);
    new (file)
        OpenFile{{&kMethods}, &self, std::move(*opened), SQLITE_LOCK_NONE, is_new, (flags & SQLITE_OPEN_MAIN_DB) != 0};
    if (flags_out != nullptr) *flags_out = flags;
    return SQLITE_OK;
  }

  /// `sync_folder` is set after a commit: the transaction is durable once the journal's name is gone for good.
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    SqliteFiles& self = owner(vfs);
    const auto exists = self.files_.exists(path);
    if (exists && !*exists) return SQLITE_IOERR_DELETE_NOENT;
    auto removed = exists ? self.files_.remove(path) : std::unexpected(exists.error());
    if (removed && sync_folder != 0) removed = self.files_.sync_folder("", SyncPoint::catalogue_name);
    return removed ? SQLITE_OK : failed(self, removed.error(), SQLITE_IOERR_DELETE);
  }

  static int access(sqlite3_vfs* vfs, const char* path, int /*flags*/, int* result) {
    SqliteFiles& self = owner(vfs);
    *result = 0;
    // The catalogue never has one. SQLite would use it if somebody put one here, which needs shared memory.
    if (std::string_view(path).ends_with("-wal")) return SQLITE_OK;
    const auto exists = self.files_.exists(path);
    if (!exists) return failed(self, exists.error(), SQLITE_IOERR_ACCESS);
    *result = *exists ? 1 : 0;
    return SQLITE_OK;
  }

  static int full_path(sqlite3_vfs* /*vfs*/, const char* path, int size, char* target) {
    const std::size_t length = std::strlen(path);
    if (length >= static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
    std::memcpy(target, path, length + 1);
    return SQLITE_OK;
  }

  static int randomness(sqlite3_vfs* /*vfs*/, int size, char* target) {
    sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
    return system->xRandomness(system, size, target);
  }

  static int sleep(sqlite3_vfs* vfs, int microseconds) {
    owner(vfs).clock_.sleep_us(microseconds);
    return microseconds;
  }

  static int current_time(sqlite3_vfs* /*vfs*/, double* now) {
    sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
    return system->xCurrentTime(system, now);
  }

  static int last_error(sqlite3_vfs* /*vfs*/, int /*size*/, char* /*target*/) { return 0; }
};

SqliteFiles::SqliteFiles(FileSystem& files, Clock& clock)
    : files_(files), clock_(clock), name_(fmt::format("pawl-{}", static_cast<const void*>(this))) {
  sqlite3_initialize();
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(OpenFile);
  vfs_.mxPathname = kPathMax;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = SqliteFileCalls::open;
  vfs_.xDelete = SqliteFileCalls::remove;
  vfs_.xAccess = SqliteFileCalls::access;
  vfs_.xFullPathname = SqliteFileCalls::full_path;
  vfs_.xRandomness = SqliteFileCalls::randomness;
  vfs_.xSleep = SqliteFileCalls::sleep;
  vfs_.xCurrentTime = SqliteFileCalls::current_time;
  vfs_.xGetLastError = SqliteFileCalls::last_error;
  sqlite3_vfs_register(&vfs_, 0);
}

SqliteFiles::~SqliteFiles() { sqlite3_vfs_unregister(&vfs_); }

Database SqliteFiles::open(const std::string& path, int flags) {
  static_cast<void>(take_failure());
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, name_.c_str());
  Database database(raw);
  if (code != SQLITE_OK) return nullptr;
  sqlite3_exec(database.get(), fmt::format("PRAGMA temp_store=MEMORY; PRAGMA page_size={}", kPageBytes).c_str(),
               nullptr, nullptr, nullptr);
  int reserved = kSumBytes;
  sqlite3_file_control(database.get(), nullptr, SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  return database;
}

std::optional<Error> SqliteFiles::take_failure() {
  const Lock lock(mutex_);
  const auto found = failures_.extract(std::this_thread::get_id());
  return found ? std::optional(found.mapped()) : std::nullopt;
}

void SqliteFiles::note(const Error& error) {
  const Lock lock(mutex_);
  failures_.try_emplace(std::this_thread::get_id(), error);
}

}  // namespace pawl
