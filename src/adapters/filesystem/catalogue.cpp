#include "adapters/filesystem/catalogue.hpp"

#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/hash.hpp"

namespace pawl {
namespace {

constexpr int kBusyTimeoutMs = 10'000;
constexpr int kCatalogueFormat = 2;
/// Files up to this size are checked completely before they are used, which takes about 1 ms.
constexpr std::uintmax_t kCheckedBytesMax = 256U << 10;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS runs(run TEXT PRIMARY KEY, uuid TEXT, created INTEGER, updated INTEGER, latest INTEGER,"
    " status INTEGER, kind INTEGER, durability INTEGER, workflow TEXT, workflow_hash TEXT, session TEXT, fork_of TEXT,"
    " fork_of_seq INTEGER, row_check INTEGER)"
    " WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS runs_by_update ON runs(updated DESC, run);"
    "CREATE TABLE IF NOT EXISTS saves(run TEXT, caller TEXT, seq INTEGER, id TEXT, checksum TEXT, kind INTEGER, "
    "fingerprint TEXT,"
    " row_check INTEGER, PRIMARY KEY(run, caller)) WITHOUT ROWID;";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

Error sqlite_error(sqlite3* database, const std::string& path) {
  const int code = database != nullptr ? sqlite3_errcode(database) : SQLITE_NOMEM;
  const Code mapped = code == SQLITE_FULL                              ? Code::disk_full
                      : code == SQLITE_READONLY || code == SQLITE_PERM ? Code::permission_denied
                      : code == SQLITE_BUSY                            ? Code::store_busy
                                                                       : Code::store_damaged;
  return Error{
      mapped,
      fmt::format("can't use the catalogue: {}", database != nullptr ? sqlite3_errmsg(database) : "out of memory"),
      path, "delete catalogue.db; it is rebuilt from the runs' files", 0};
}

/// A prepared statement with its bound values.
class Statement {
 public:
  Statement(sqlite3* database, const char* text) { sqlite3_prepare_v2(database, text, -1, &statement_, nullptr); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Statement& bind(std::string_view text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  /// SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  void reset() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? std::string()
                            : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  /// One letter per column: 't' for text, 'i' for an integer. A single flipped bit can turn a text into a blob with the
  /// same bytes, which queries then miss.
  [[nodiscard]] bool has_types(std::string_view letters) const {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const int expected = letters[i] == 't' ? SQLITE_TEXT : SQLITE_INTEGER;
      if (sqlite3_column_type(statement_, static_cast<int>(i)) != expected) return false;
    }
    return true;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Result<Database> open_database(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) return fail(sqlite_error(database.get(), path));
  sqlite3_busy_timeout(database.get(), kBusyTimeoutMs);
  return database;
}

/// Opens the database for reading, but writable if possible: only then can SQLite roll back an interrupted change.
Result<Database> open_for_reading(const std::string& path) {
  auto database = open_database(path, SQLITE_OPEN_READWRITE);
  if (!database) return open_database(path, SQLITE_OPEN_READONLY);
  return database;
}

Result<void> execute(sqlite3* database, const char* text, const std::string& path) {
  if (sqlite3_exec(database, text, nullptr, nullptr, nullptr) != SQLITE_OK) return fail(sqlite_error(database, path));
  return {};
}

std::string fork_of(const RunInfo& run) { return run.fork_of_run ? run.fork_of_run->text() : std::string(); }

std::int64_t check_of(const RunInfo& run) {
  return crc32c(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", run.id.text(), run.uuid.text(), run.created.us,
                            run.updated.us, run.latest.value, static_cast<int>(run.status), static_cast<int>(run.kind),
                            static_cast<int>(run.durability), run.workflow, run.workflow_hash, run.session,
                            fork_of(run), run.fork_of_sequence.value));
}

std::int64_t check_of(const CatalogueSave& save) {
  return crc32c(fmt::format("{}|{}|{}|{}|{}|{}|{}", save.run, save.caller_id, save.sequence.value, save.id.text(),
                            save.checksum, static_cast<int>(save.kind), save.fingerprint));
}

/// Fails with store_damaged if the checksum differs or a value could not have been written by this program.
Result<RunInfo> run_of(const Statement& row, const std::string& path) {
  const auto damaged = [&] {
    return fail(Error{Code::store_damaged, "a row of the catalogue has a wrong checksum", path,
                      "delete catalogue.db; it is rebuilt from the runs' files", 0});
  };
  if (!row.has_types("ttiiiiiittttii")) return damaged();
  const auto id = RunId::parse(row.text(0));
  const auto uuid = Uuid::parse(row.text(1));
  if (!id || !uuid) return damaged();
  RunInfo run{.id = *id,
              .uuid = *uuid,
              .created = {row.number(2)},
              .updated = {row.number(3)},
              .latest = {static_cast<std::uint64_t>(row.number(4))},
              .status = static_cast<Status>(row.number(5)),
              .kind = static_cast<Kind>(row.number(6)),
              .durability = static_cast<Durability>(row.number(7)),
              .workflow = row.text(8),
              .workflow_hash = row.text(9),
              .session = row.text(10),
              .fork_of_run = {},
              .fork_of_sequence = {static_cast<std::uint64_t>(row.number(12))}};
  if (!row.text(11).empty()) run.fork_of_run = Uuid::parse(row.text(11)).value_or(Uuid{});
  if (check_of(run) != row.number(13)) return damaged();
  return run;
}

Result<CatalogueSave> save_of(const Statement& row, const std::string& path) {
  const bool typed = row.has_types("ttittiti");
  CatalogueSave save{row.text(0),
                     row.text(1),
                     {static_cast<std::uint64_t>(row.number(2))},
                     Uuid::parse(row.text(3)).value_or(Uuid{}),
                     row.text(4),
                     static_cast<Kind>(row.number(5)),
                     row.text(6)};
  if (typed && check_of(save) == row.number(7)) return save;
  return fail(Error{Code::store_damaged, "a row of the catalogue has a wrong checksum", path,
                    "delete catalogue.db; it is rebuilt from the runs' files", 0});
}

Result<void> insert(sqlite3* database, const CatalogueUpdate& update, const std::string& path) {
  Statement runs(
      database,
      "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(run) DO UPDATE SET uuid=excluded.uuid,"
      " created=excluded.created, updated=excluded.updated, latest=excluded.latest, status=excluded.status,"
      " kind=excluded.kind, durability=excluded.durability, workflow=excluded.workflow,"
      " workflow_hash=excluded.workflow_hash, session=excluded.session, fork_of=excluded.fork_of,"
      " fork_of_seq=excluded.fork_of_seq, row_check=excluded.row_check"
      " WHERE excluded.latest >= runs.latest");
  for (const RunInfo& run : update.runs) {
    runs.bind(run.id.text()).bind(run.uuid.text()).bind(run.created.us).bind(run.updated.us);
    runs.bind(static_cast<std::int64_t>(run.latest.value)).bind(static_cast<std::int64_t>(run.status));
    runs.bind(static_cast<std::int64_t>(run.kind)).bind(static_cast<std::int64_t>(run.durability));
    runs.bind(run.workflow).bind(run.workflow_hash).bind(run.session).bind(fork_of(run));
    runs.bind(static_cast<std::int64_t>(run.fork_of_sequence.value)).bind(check_of(run));
    if (runs.step() != SQLITE_DONE) return fail(sqlite_error(database, path));
    runs.reset();
  }
  Statement saves(database, "INSERT OR REPLACE INTO saves VALUES(?,?,?,?,?,?,?,?)");
  for (const CatalogueSave& save : update.saves) {
    saves.bind(save.run).bind(save.caller_id).bind(static_cast<std::int64_t>(save.sequence.value)).bind(save.id.text());
    saves.bind(save.checksum).bind(static_cast<std::int64_t>(save.kind)).bind(save.fingerprint).bind(check_of(save));
    if (saves.step() != SQLITE_DONE) return fail(sqlite_error(database, path));
    saves.reset();
  }
  return {};
}

}  // namespace

Catalogue::Catalogue(std::string path) : path_(std::move(path)) {}

bool Catalogue::usable() const {
  {
    const auto database = open_for_reading(path_);
    if (!database) return false;
    // The format number is written last, so a catalogue without it is incomplete.
    Statement version(database->get(), "PRAGMA user_version");
    if (version.step() != SQLITE_ROW || version.number(0) != kCatalogueFormat) return false;
  }
  // Must run after the first reader is closed: a second one would wait for a writer that waits for the first.
  std::error_code problem;
  if (std::filesystem::file_size(path_, problem) > kCheckedBytesMax || problem) return !problem;
  return find_fault().empty();
}

std::string Catalogue::find_fault() const {
  const auto database = open_for_reading(path_);
  if (!database) return database.error().message;
  Statement check(database->get(), "PRAGMA integrity_check(1)");
  if (check.step() != SQLITE_ROW) return "SQLite can't check the file";
  if (check.text(0) != "ok") return check.text(0);
  Statement rows(database->get(), "SELECT * FROM runs");
  int code = SQLITE_DONE;
  while ((code = rows.step()) == SQLITE_ROW) {
    if (const auto run = run_of(rows, path_); !run) return run.error().message;
  }
  if (code != SQLITE_DONE) return "its rows can't be read";
  Statement saves(database->get(), "SELECT * FROM saves");
  while ((code = saves.step()) == SQLITE_ROW) {
    if (const auto save = save_of(saves, path_); !save) return save.error().message;
  }
  return code == SQLITE_DONE ? "" : "its rows can't be read";
}

Result<void> Catalogue::record(const CatalogueUpdate& update) {
  PAWL_TRY_ASSIGN(const Database database, open_database(path_, SQLITE_OPEN_READWRITE));
  PAWL_TRY(execute(database.get(), "PRAGMA synchronous=FULL; BEGIN IMMEDIATE", path_));
  PAWL_TRY(insert(database.get(), update, path_));
  return execute(database.get(), "COMMIT", path_);
}

Result<void> Catalogue::forget(std::string_view run, const std::optional<RunInfo>& row) {
  PAWL_TRY_ASSIGN(const Database database, open_database(path_, SQLITE_OPEN_READWRITE));
  // The rollback journal contains the old pages. It is kept, so that its bytes can be overwritten instead of only
  // unlinked.
  PAWL_TRY(execute(database.get(), "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON", path_));
  Statement mode(database.get(), "PRAGMA journal_mode=PERSIST");
  if (mode.step() != SQLITE_ROW) return fail(sqlite_error(database.get(), path_));
  mode.reset();
  PAWL_TRY(execute(database.get(), "BEGIN IMMEDIATE", path_));
  for (const char* text : {"DELETE FROM saves WHERE run=?", "DELETE FROM runs WHERE run=?"}) {
    Statement remove(database.get(), text);
    remove.bind(std::string(run));
    if (remove.step() != SQLITE_DONE) return fail(sqlite_error(database.get(), path_));
  }
  if (row) PAWL_TRY(insert(database.get(), {{*row}, {}}, path_));
  PAWL_TRY(execute(database.get(), "COMMIT", path_));
  // Split pages may still contain deleted rows after their current ones, so all pages are rewritten.
  return execute(database.get(), "VACUUM", path_);
}

Result<void> Catalogue::suspend() {
  PAWL_TRY_ASSIGN(const Database database, open_database(path_, SQLITE_OPEN_READWRITE));
  return execute(database.get(), "PRAGMA synchronous=FULL; PRAGMA user_version=0", path_);
}

Result<void> Catalogue::resume() {
  PAWL_TRY_ASSIGN(const Database database, open_database(path_, SQLITE_OPEN_READWRITE));
  return execute(database.get(),
                 fmt::format("PRAGMA synchronous=FULL; PRAGMA user_version={}", kCatalogueFormat).c_str(), path_);
}

Result<std::vector<RunInfo>> Catalogue::newest(std::size_t limit) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading(path_));
  Statement rows(database.get(), "SELECT * FROM runs ORDER BY updated DESC, run LIMIT ?");
  rows.bind(static_cast<std::int64_t>(std::min<std::size_t>(limit, std::size_t{1} << 40)));
  std::vector<RunInfo> found;
  int code = SQLITE_DONE;
  while ((code = rows.step()) == SQLITE_ROW) {
    PAWL_TRY_ASSIGN(RunInfo run, run_of(rows, path_));
    found.push_back(std::move(run));
  }
  if (code != SQLITE_DONE) return fail(sqlite_error(database.get(), path_));
  return found;
}

Result<std::optional<CatalogueSave>> Catalogue::find_save(std::string_view run, std::string_view caller_id) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading(path_));
  Statement rows(database.get(), "SELECT * FROM saves WHERE run=? AND caller=?");
  rows.bind(run).bind(caller_id);
  const int code = rows.step();
  if (code == SQLITE_DONE) return std::optional<CatalogueSave>();
  if (code != SQLITE_ROW) return fail(sqlite_error(database.get(), path_));
  PAWL_TRY_ASSIGN(CatalogueSave save, save_of(rows, path_));
  return std::optional(std::move(save));
}

Result<void> Catalogue::rebuild(
    const std::function<Result<void>(const std::function<Result<void>(const CatalogueUpdate&)>& add)>& produce) {
  const std::string temporary = path_ + ".tmp";
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  std::filesystem::remove(temporary + "-journal", ignored);
  {
    PAWL_TRY_ASSIGN(const Database database, open_database(temporary, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    PAWL_TRY(execute(database.get(), "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384; BEGIN", path_));
    PAWL_TRY(execute(database.get(), kSchema, path_));
    PAWL_TRY(produce([&](const CatalogueUpdate& update) { return insert(database.get(), update, path_); }));
    PAWL_TRY(execute(database.get(), fmt::format("PRAGMA user_version={}; COMMIT", kCatalogueFormat).c_str(), path_));
  }
  // A rollback journal of the old file must never be applied to the new one.
  std::filesystem::remove(path_ + "-journal", ignored);
  if (std::rename(temporary.c_str(), path_.c_str()) != 0) {
    return fail(Code::rename_failed, "can't move the rebuilt catalogue to {}", path_);
  }
  return {};
}

}  // namespace pawl
