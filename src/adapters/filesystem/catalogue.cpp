#include "adapters/filesystem/catalogue.hpp"

#include <sqlite3.h>

#include <algorithm>

#include "adapters/filesystem/layout.hpp"

namespace pawl {
namespace {

constexpr int kBusyTimeoutMs = 10'000;
constexpr int kCatalogueFormat = 3;
constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS runs(run TEXT PRIMARY KEY, uuid TEXT, created INTEGER, updated INTEGER, latest INTEGER,"
    " status INTEGER, kind INTEGER, durability INTEGER, workflow TEXT, workflow_hash TEXT, session TEXT, fork_of TEXT,"
    " fork_of_seq INTEGER)"
    " WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS runs_by_update ON runs(updated DESC, run);"
    "CREATE INDEX IF NOT EXISTS runs_damaged ON runs(run) WHERE status=5;"
    "CREATE INDEX IF NOT EXISTS runs_by_origin ON runs(fork_of) WHERE fork_of<>'';"
    "CREATE TABLE IF NOT EXISTS saves(run TEXT, caller TEXT, seq INTEGER, id TEXT, checksum TEXT, kind INTEGER, "
    "fingerprint TEXT, PRIMARY KEY(run, caller)) WITHOUT ROWID;";

constexpr int kForWriting = SQLITE_OPEN_READWRITE;
constexpr const char* kRebuildHint = "delete catalogue.db; it is rebuilt from the runs' files";

Error damaged_row() {
  return Error{Code::store_damaged, "a row of the catalogue is damaged", std::string(layout::kCatalogue), kRebuildHint,
               0};
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
  /// Reads an enumerator, if it is one up to `last`.
  template <class Enum>
  [[nodiscard]] std::optional<Enum> one_of(int column, Enum last) const {
    const std::int64_t value = number(column);
    if (value < 0 || value > static_cast<std::int64_t>(last)) return std::nullopt;
    return static_cast<Enum>(value);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

std::string fork_of(const RunInfo& run) { return run.fork_of_run ? run.fork_of_run->text() : std::string(); }

/// Somebody else may have written the file: values that Pawl does not write are damage.
Result<RunInfo> run_of(const Statement& row) {
  const auto id = RunId::parse(row.text(0));
  const auto uuid = Uuid::parse(row.text(1));
  const auto status = row.one_of(5, Status::damaged);
  const auto kind = row.one_of(6, Kind::workflow_complete);
  const auto durability = row.one_of(7, Durability::exit);
  if (!id || !uuid || !status || !kind || !durability) return fail(damaged_row());
  RunInfo run{.id = *id,
              .uuid = *uuid,
              .created = {row.number(2)},
              .updated = {row.number(3)},
              .latest = {static_cast<std::uint64_t>(row.number(4))},
              .status = *status,
              .kind = *kind,
              .durability = *durability,
              .workflow = row.text(8),
              .workflow_hash = row.text(9),
              .session = row.text(10),
              .fork_of_run = {},
              .fork_of_sequence = {static_cast<std::uint64_t>(row.number(12))}};
  if (row.text(11).empty()) return run;
  const auto origin = Uuid::parse(row.text(11));
  if (!origin) return fail(damaged_row());
  run.fork_of_run = *origin;
  return run;
}

Result<CatalogueSave> save_of(const Statement& row) {
  const auto id = Uuid::parse(row.text(3));
  const auto kind = row.one_of(5, Kind::workflow_complete);
  if (!id || !kind) return fail(damaged_row());
  return CatalogueSave{row.text(0), row.text(1), {static_cast<std::uint64_t>(row.number(2))}, *id, row.text(4),
                       *kind,       row.text(6)};
}

Code code_of(int sqlite_code) {
  switch (sqlite_code) {
    case SQLITE_FULL: return Code::disk_full;
    case SQLITE_READONLY:
    case SQLITE_PERM: return Code::permission_denied;
    case SQLITE_BUSY: return Code::store_busy;
    default: return Code::store_damaged;
  }
}

}  // namespace

Catalogue::Catalogue(FileSystem& files, Clock& clock) : files_(files), sqlite_(files, clock) {}

Error Catalogue::error_of(sqlite3* database) const {
  if (auto failure = sqlite_.take_failure()) return *std::move(failure);
  const int code = database != nullptr ? sqlite3_errcode(database) : SQLITE_NOMEM;
  return Error{
      code_of(code),
      fmt::format("can't use the catalogue: {}", database != nullptr ? sqlite3_errmsg(database) : "out of memory"),
      std::string(layout::kCatalogue), kRebuildHint, 0};
}

Result<Database> Catalogue::open(int flags) const {
  Database database = sqlite_.open(std::string(layout::kCatalogue), flags);
  if (!database) return fail(error_of(nullptr));
  sqlite3_busy_timeout(database.get(), kBusyTimeoutMs);
  return database;
}

/// Writable if possible: otherwise SQLite can't roll back a transaction that a crash interrupted.
Result<Database> Catalogue::open_for_reading() const {
  auto database = open(SQLITE_OPEN_READWRITE);
  if (database || database.error().code == Code::input_unreadable) return database;
  return open(SQLITE_OPEN_READONLY);
}

Result<void> Catalogue::execute(sqlite3* database, const std::string& text) const {
  if (sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return fail(error_of(database));
  return {};
}

Result<void> Catalogue::insert(sqlite3* database, const CatalogueUpdate& update) const {
  Statement runs(database,
                 "INSERT INTO runs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(run) DO UPDATE SET uuid=excluded.uuid,"
                 " created=excluded.created, updated=excluded.updated, latest=excluded.latest, status=excluded.status,"
                 " kind=excluded.kind, durability=excluded.durability, workflow=excluded.workflow,"
                 " workflow_hash=excluded.workflow_hash, session=excluded.session, fork_of=excluded.fork_of,"
                 " fork_of_seq=excluded.fork_of_seq"
                 " WHERE excluded.latest >= runs.latest");
  for (const RunInfo& run : update.runs) {
    runs.bind(run.id.text()).bind(run.uuid.text()).bind(run.created.us).bind(run.updated.us);
    runs.bind(static_cast<std::int64_t>(run.latest.value)).bind(static_cast<std::int64_t>(run.status));
    runs.bind(static_cast<std::int64_t>(run.kind)).bind(static_cast<std::int64_t>(run.durability));
    runs.bind(run.workflow).bind(run.workflow_hash).bind(run.session).bind(fork_of(run));
    runs.bind(static_cast<std::int64_t>(run.fork_of_sequence.value));
    if (runs.step() != SQLITE_DONE) return fail(error_of(database));
    runs.reset();
  }
  Statement saves(database, "INSERT OR REPLACE INTO saves VALUES(?,?,?,?,?,?,?)");
  for (const CatalogueSave& save : update.saves) {
    saves.bind(save.run).bind(save.caller_id).bind(static_cast<std::int64_t>(save.sequence.value)).bind(save.id.text());
    saves.bind(save.checksum).bind(static_cast<std::int64_t>(save.kind)).bind(save.fingerprint);
    if (saves.step() != SQLITE_DONE) return fail(error_of(database));
    saves.reset();
  }
  return {};
}

Result<bool> Catalogue::usable() const {
  const auto database = open_for_reading();
  if (!database && database.error().code == Code::input_unreadable) return false;  // missing
  if (!database) return std::unexpected(database.error());
  // The format number is written last when a catalogue is built.
  Statement version(database->get(), "PRAGMA user_version");
  if (version.step() == SQLITE_ROW) return version.number(0) == kCatalogueFormat;
  const Error error = error_of(database->get());
  if (error.code == Code::store_damaged) return false;
  return fail(error);
}

Result<std::string> Catalogue::find_fault() const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading());
  const auto unreadable = [&](const char* what) -> Result<std::string> {
    const Error error = error_of(database.get());
    if (error.code != Code::store_damaged) return fail(error);
    return what;
  };
  Statement check(database.get(), "PRAGMA integrity_check(1)");
  if (check.step() != SQLITE_ROW) return unreadable("part of the file is damaged");
  if (check.text(0) != "ok") return unreadable("part of the file is damaged");
  Statement rows(database.get(), "SELECT * FROM runs");
  int code = SQLITE_DONE;
  while ((code = rows.step()) == SQLITE_ROW) {
    if (const auto run = run_of(rows); !run) return run.error().message;
  }
  if (code != SQLITE_DONE) return unreadable("its rows can't be read");
  Statement saves(database.get(), "SELECT * FROM saves");
  while ((code = saves.step()) == SQLITE_ROW) {
    if (const auto save = save_of(saves); !save) return save.error().message;
  }
  return code == SQLITE_DONE ? std::string() : unreadable("its rows can't be read");
}

// EXTRA also syncs the folder after the rollback journal was removed: only then is a commit durable.

Result<void> Catalogue::record(const CatalogueUpdate& update) {
  PAWL_TRY_ASSIGN(const Database database, open(kForWriting));
  PAWL_TRY(execute(database.get(), "PRAGMA synchronous=EXTRA; BEGIN IMMEDIATE"));
  PAWL_TRY(insert(database.get(), update));
  return execute(database.get(), "COMMIT");
}

Result<void> Catalogue::forget(std::string_view run, const std::optional<RunInfo>& row) {
  PAWL_TRY_ASSIGN(const Database database, open(kForWriting));
  // The rollback journal contains the old pages: it is kept, so that the caller can overwrite it.
  PAWL_TRY(execute(database.get(), "PRAGMA synchronous=EXTRA; PRAGMA secure_delete=ON"));
  Statement mode(database.get(), "PRAGMA journal_mode=PERSIST");
  if (mode.step() != SQLITE_ROW) return fail(error_of(database.get()));
  mode.reset();
  PAWL_TRY(execute(database.get(), "BEGIN IMMEDIATE"));
  for (const char* text : {"DELETE FROM saves WHERE run=?", "DELETE FROM runs WHERE run=?"}) {
    Statement remove(database.get(), text);
    remove.bind(std::string(run));
    if (remove.step() != SQLITE_DONE) return fail(error_of(database.get()));
  }
  if (row) PAWL_TRY(insert(database.get(), {{*row}, {}}));
  PAWL_TRY(execute(database.get(), "COMMIT"));
  // Pages that were split contain old rows after their new ones: VACUUM writes all of them anew.
  return execute(database.get(), "VACUUM");
}

Result<void> Catalogue::suspend() {
  PAWL_TRY_ASSIGN(const Database database, open(kForWriting));
  return execute(database.get(), "PRAGMA synchronous=EXTRA; PRAGMA user_version=0");
}

Result<void> Catalogue::resume() {
  PAWL_TRY_ASSIGN(const Database database, open(kForWriting));
  return execute(database.get(), fmt::format("PRAGMA synchronous=EXTRA; PRAGMA user_version={}", kCatalogueFormat));
}

Result<bool> Catalogue::is_suspended() const {
  const auto database = open_for_reading();
  if (!database && database.error().code == Code::input_unreadable) return false;  // missing
  if (!database) return std::unexpected(database.error());
  Statement version(database->get(), "PRAGMA user_version");
  if (version.step() != SQLITE_ROW || version.number(0) != 0) return false;
  // An empty file has the same number.
  Statement tables(database->get(), "SELECT count(*) FROM sqlite_schema WHERE name IN ('runs', 'saves')");
  if (tables.step() != SQLITE_ROW || tables.number(0) != 2) return false;
  PAWL_TRY_ASSIGN(const std::string fault, find_fault());
  return fault.empty();
}

Result<std::vector<RunInfo>> Catalogue::newest(std::size_t limit) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading());
  static_assert(static_cast<int>(Status::damaged) == 5);
  std::vector<RunInfo> found;
  for (const char* text : {"SELECT * FROM runs WHERE status=5 ORDER BY updated DESC, run LIMIT ?",
                           "SELECT * FROM runs WHERE status<>5 ORDER BY updated DESC, run LIMIT ?"}) {
    Statement rows(database.get(), text);
    rows.bind(static_cast<std::int64_t>(std::min<std::size_t>(limit, std::size_t{1} << 40)));
    int code = SQLITE_DONE;
    while ((code = rows.step()) == SQLITE_ROW) {
      PAWL_TRY_ASSIGN(RunInfo run, run_of(rows));
      found.push_back(std::move(run));
    }
    if (code != SQLITE_DONE) return fail(error_of(database.get()));
  }
  return found;
}

Result<std::optional<RunInfo>> Catalogue::find_run(std::string_view run) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading());
  Statement rows(database.get(), "SELECT * FROM runs WHERE run=?");
  rows.bind(run);
  const int code = rows.step();
  if (code == SQLITE_DONE) return std::optional<RunInfo>();
  if (code != SQLITE_ROW) return fail(error_of(database.get()));
  PAWL_TRY_ASSIGN(RunInfo found, run_of(rows));
  return std::optional(std::move(found));
}

Result<std::vector<RunInfo>> Catalogue::forks_of(const Uuid& run) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading());
  // A catalogue that an older version created has no index for this.
  Statement rows(database.get(), "SELECT * FROM runs WHERE fork_of=? AND fork_of<>''");
  rows.bind(run.text());
  std::vector<RunInfo> found;
  int code = SQLITE_DONE;
  while ((code = rows.step()) == SQLITE_ROW) {
    PAWL_TRY_ASSIGN(RunInfo fork, run_of(rows));
    found.push_back(std::move(fork));
  }
  if (code != SQLITE_DONE) return fail(error_of(database.get()));
  return found;
}

Result<std::optional<CatalogueSave>> Catalogue::find_save(std::string_view run, std::string_view caller_id) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading());
  Statement rows(database.get(), "SELECT * FROM saves WHERE run=? AND caller IN (?,'') ORDER BY caller DESC");
  rows.bind(run).bind(caller_id);
  const int code = rows.step();
  if (code == SQLITE_DONE) return std::optional<CatalogueSave>();
  if (code != SQLITE_ROW) return fail(error_of(database.get()));
  PAWL_TRY_ASSIGN(CatalogueSave save, save_of(rows));
  return std::optional(std::move(save));
}

Result<std::vector<CatalogueSave>> Catalogue::saves_of(std::string_view run) const {
  PAWL_TRY_ASSIGN(const Database database, open_for_reading());
  Statement rows(database.get(), "SELECT * FROM saves WHERE run=?");
  rows.bind(run);
  std::vector<CatalogueSave> found;
  int code = SQLITE_DONE;
  while ((code = rows.step()) == SQLITE_ROW) {
    PAWL_TRY_ASSIGN(CatalogueSave save, save_of(rows));
    found.push_back(std::move(save));
  }
  if (code != SQLITE_DONE) return fail(error_of(database.get()));
  return found;
}

Result<void> Catalogue::rebuild(
    const std::function<Result<void>(const std::function<Result<void>(const CatalogueUpdate&)>& add)>& produce) {
  const std::string path(layout::kCatalogue);
  const std::string temporary = path + ".tmp";
  PAWL_TRY(files_.remove(temporary));
  {
    const Database database = sqlite_.open(temporary, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (!database) return fail(error_of(nullptr));
    // Nothing has to be rolled back: after a crash the file is built again.
    PAWL_TRY(execute(database.get(), "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384"));
    PAWL_TRY(execute(database.get(), std::string("BEGIN; ") + kSchema));
    PAWL_TRY(produce([&](const CatalogueUpdate& update) { return insert(database.get(), update); }));
    PAWL_TRY(execute(database.get(), fmt::format("PRAGMA user_version={}; COMMIT", kCatalogueFormat)));
  }
  PAWL_TRY(remove_rollback_journal());
  PAWL_TRY(files_.rename(temporary, path));  // readers find the old file or the new one
  return files_.sync_folder("", SyncPoint::catalogue_name);
}

/// A rollback journal belongs to its database: it must neither be applied to another one, nor be missing next to its
/// own. SQLite applies and removes it. If it can't, the old database goes first, then its journal.
Result<void> Catalogue::remove_rollback_journal() {
  const std::string path(layout::kCatalogue);
  const std::string journal = path + "-journal";
  PAWL_TRY_ASSIGN(bool exists, files_.exists(journal));
  if (!exists) return {};
  if (const auto database = open(kForWriting)) {
    static_cast<void>(
        execute(database->get(), "BEGIN IMMEDIATE; COMMIT; PRAGMA journal_mode=PERSIST; PRAGMA journal_mode=DELETE"));
  }
  PAWL_TRY_ASSIGN(exists, files_.exists(journal));
  if (!exists) return files_.sync_folder("", SyncPoint::catalogue_name);
  for (const std::string& old : {path, journal}) {
    PAWL_TRY(files_.remove(old));
    PAWL_TRY(files_.sync_folder("", SyncPoint::catalogue_name));
  }
  return {};
}

}  // namespace pawl
