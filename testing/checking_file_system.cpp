#include "testing/checking_file_system.hpp"

#include <algorithm>
#include <array>

namespace pawl::testing {
namespace {

using What = LoggedOp::What;
using Log = CheckingFileSystem::Log;

std::string_view name_of(What what) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "open", "exists", "list", "make_folder", "rename", "remove",   "sync_folder", "sync_all",
      "read", "write",  "sync", "resize",      "size",   "try_lock", "unlock",      "locked_elsewhere"};
  return kNames[static_cast<std::size_t>(what)];
}

bool is_change(const LoggedOp& op) {
  switch (op.what) {
    case What::make_folder:
    case What::rename:
    case What::remove:
    case What::sync_folder:
    case What::sync_all:
    case What::write:
    case What::sync:
    case What::resize: return true;
    default: return false;
  }
}

/// Adds the outcome to the entry, logs it and returns the outcome.
template <class T>
Result<T> logged(Log& log, LoggedOp op, Result<T> result) {
  op.ok = result.has_value();
  log.add(std::move(op));
  return result;
}

class CheckingFile final : public File {
 public:
  CheckingFile(std::unique_ptr<File> inner, std::string path, std::shared_ptr<Log> log)
      : inner_(std::move(inner)), path_(std::move(path)), log_(std::move(log)) {}

  Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
    return logged(*log_, op(What::read, offset, size), inner_->read_at(offset, size));
  }
  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    return logged(*log_, op(What::write, offset, bytes.size()), inner_->write_at(offset, bytes));
  }
  Result<void> sync(SyncPoint point) override {
    return logged(*log_, {What::sync, path_, {}, point, 0, 0, false}, inner_->sync(point));
  }
  Result<void> resize(std::uint64_t size) override {
    return logged(*log_, op(What::resize, 0, size), inner_->resize(size));
  }
  Result<std::uint64_t> id() override { return inner_->id(); }
  Result<std::uint64_t> next_data(std::uint64_t offset) override { return inner_->next_data(offset); }
  Result<std::uint64_t> size() override { return logged(*log_, op(What::size, 0, 0), inner_->size()); }
  Result<bool> try_lock(std::uint64_t byte) override {
    return logged(*log_, op(What::try_lock, byte, 1), inner_->try_lock(byte));
  }
  Result<bool> try_lock_shared(std::uint64_t byte) override {
    return logged(*log_, op(What::try_lock, byte, 1), inner_->try_lock_shared(byte));
  }
  Result<void> unlock(std::uint64_t byte) override {
    return logged(*log_, op(What::unlock, byte, 1), inner_->unlock(byte));
  }
  Result<bool> locked_elsewhere(std::uint64_t byte) override {
    return logged(*log_, op(What::locked_elsewhere, byte, 1), inner_->locked_elsewhere(byte));
  }

 private:
  [[nodiscard]] LoggedOp op(What what, std::uint64_t offset, std::uint64_t size) const {
    return {what, path_, {}, {}, offset, size, false};
  }

  const std::unique_ptr<File> inner_;
  const std::string path_;
  const std::shared_ptr<Log> log_;
};

LoggedOp on_path(What what, std::string_view path, std::string_view to = {}, std::optional<SyncPoint> point = {}) {
  return {what, std::string(path), std::string(to), point, 0, 0, false};
}

}  // namespace

std::string LoggedOp::text() const {
  std::string line = fmt::format("{} {}", name_of(what), path);
  if (!to.empty()) line += fmt::format(" -> {}", to);
  if (point) line += fmt::format(" ({})", pawl::to_text(*point));
  if (size != 0) line += fmt::format(" [{}, {} bytes]", offset, size);
  if (!ok) line += " failed";
  return line;
}

void CheckingFileSystem::Log::add(LoggedOp op) {
  const Lock lock(mutex_);
  ops_.push_back(std::move(op));
}

std::vector<LoggedOp> CheckingFileSystem::Log::copy() const {
  const Lock lock(mutex_);
  return ops_;
}

void CheckingFileSystem::Log::clear() {
  const Lock lock(mutex_);
  ops_.clear();
}

CheckingFileSystem::CheckingFileSystem(FileSystem& inner) : inner_(inner) {}

Result<std::unique_ptr<File>> CheckingFileSystem::open(std::string_view path, OpenMode mode) {
  PAWL_TRY_ASSIGN(auto file, logged(*log_, on_path(What::open, path), inner_.open(path, mode)));
  return std::make_unique<CheckingFile>(std::move(file), std::string(path), log_);
}

Result<bool> CheckingFileSystem::exists(std::string_view path) {
  return logged(*log_, on_path(What::exists, path), inner_.exists(path));
}

Result<std::vector<FolderEntry>> CheckingFileSystem::list(std::string_view folder) {
  return logged(*log_, on_path(What::list, folder), inner_.list(folder));
}

Result<bool> CheckingFileSystem::make_folder(std::string_view path) {
  return logged(*log_, on_path(What::make_folder, path), inner_.make_folder(path));
}

Result<void> CheckingFileSystem::rename(std::string_view from, std::string_view to) {
  return logged(*log_, on_path(What::rename, from, to), inner_.rename(from, to));
}

Result<void> CheckingFileSystem::remove(std::string_view path) {
  return logged(*log_, on_path(What::remove, path), inner_.remove(path));
}

Result<void> CheckingFileSystem::remove_folder(std::string_view path) {
  return logged(*log_, on_path(What::remove, path), inner_.remove_folder(path));
}

Result<void> CheckingFileSystem::sync_folder(std::string_view path, SyncPoint point) {
  return logged(*log_, on_path(What::sync_folder, path, {}, point), inner_.sync_folder(path, point));
}

Result<void> CheckingFileSystem::sync_all(SyncPoint point) {
  return logged(*log_, on_path(What::sync_all, {}, {}, point), inner_.sync_all(point));
}

std::vector<LoggedOp> CheckingFileSystem::log() const { return log_->copy(); }

std::vector<LoggedOp> CheckingFileSystem::changes() const {
  std::vector<LoggedOp> ops = log_->copy();
  std::erase_if(ops, [](const LoggedOp& op) { return !is_change(op); });
  return ops;
}

std::size_t CheckingFileSystem::count(LoggedOp::What what) const {
  const std::vector<LoggedOp> ops = log_->copy();
  return static_cast<std::size_t>(std::ranges::count(ops, what, &LoggedOp::what));
}

std::size_t CheckingFileSystem::count(SyncPoint point) const {
  const std::vector<LoggedOp> ops = log_->copy();
  return static_cast<std::size_t>(std::ranges::count(ops, std::optional(point), &LoggedOp::point));
}

void CheckingFileSystem::clear() { log_->clear(); }

}  // namespace pawl::testing
