#include "app/local_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "app/remove_on_signal.hpp"

namespace pawl {
namespace {

constexpr mode_t kNewFileMode = 0666;  // restricted by the user's umask

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error os_failure(Code code, std::string_view what, const std::string& path, int os_error) {
  if (os_error == ENOSPC || os_error == EDQUOT) code = Code::disk_full;
  return Error{code, fmt::format("{}: {}", what, std::generic_category().message(os_error)), path, {}, os_error};
}

constexpr int kLinksMax = 40;

/// Follows symbolic links to a file that need not exist.
std::filesystem::path follow_links(std::filesystem::path path) {
  for (int i = 0; i < kLinksMax; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

/// Writes to a new file that replaces the one with the name when it is complete.
class ReplacedFile final : public ResultFile {
 public:
  static Result<std::unique_ptr<ResultFile>> create(const std::string& asked, const ResultPlace& place) {
    const std::string path = (std::filesystem::path(place.folder) / place.name).string();
    const std::string temporary = fmt::format("{}.pawl-{}.tmp", path, ::getpid());
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    if (fd < 0) return fail(os_failure(Code::write_failed, "can't create the output file", asked, errno));
    if (place.mode) static_cast<void>(::fchmod(fd, *place.mode));
    return std::unique_ptr<ResultFile>(new ReplacedFile(asked, path, temporary, place.folder, fd));
  }
  ~ReplacedFile() override {
    if (!finished_) ::unlink(temporary_.c_str());
  }
  Result<void> write(std::string_view bytes) override {
    if (const int error = write_fully(file_.get(), bytes); error != 0)
      return fail(os_failure(Code::write_failed, "can't write the output file", asked_, error));
    return {};
  }
  Result<void> finish() override {
    if (::fsync(file_.get()) != 0)
      return fail(os_failure(Code::write_failed, "can't sync the output file", asked_, errno));
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      return fail(os_failure(Code::rename_failed, "can't rename the output file to its final name", asked_, errno));
    finished_ = true;
    const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0 || ::fsync(folder.get()) != 0)
      return fail(os_failure(Code::write_failed, "can't sync the folder of the output file", asked_, errno));
    return {};
  }

 private:
  ReplacedFile(std::string asked, std::string path, std::string temporary, std::string folder, int fd)
      : asked_(std::move(asked)),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        folder_(std::move(folder)),
        file_(fd),
        removed_on_signal_(temporary_) {}

  const std::string asked_;  // the path as the user named it, for messages
  const std::string path_;
  const std::string temporary_;
  const std::string folder_;
  const Descriptor file_;
  const RemoveOnSignal removed_on_signal_;
  bool finished_ = false;
};

/// Writes to a pipe, a terminal or another device.
class DirectFile final : public ResultFile {
 public:
  DirectFile(std::string path, int fd) : path_(std::move(path)), file_(fd) {}
  Result<void> write(std::string_view bytes) override {
    if (const int error = write_fully(file_.get(), bytes); error != 0)
      return fail(os_failure(Code::write_failed, "can't write the output", path_, error));
    return {};
  }
  Result<void> finish() override { return {}; }

 private:
  const std::string path_;
  const Descriptor file_;
};

}  // namespace

int write_fully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<std::string> read_local_file(const std::string& path, std::uint64_t bytes_max) {
  // Small at first: nearly every file is, and each page of a buffer costs a page fault.
  constexpr std::size_t kBlockMin = 16 * 1024;
  constexpr std::size_t kBlockMax = 256 * 1024;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(os_failure(Code::input_unreadable, "can't open the input file", path, errno));
  std::string bytes;
  while (bytes.size() <= bytes_max) {
    const std::size_t size = bytes.size();
    const std::size_t block = std::clamp(size, kBlockMin, kBlockMax);
    bytes.resize(size + block);
    const ssize_t got = ::read(file.get(), bytes.data() + size, block);
    const int os_error = errno;
    bytes.resize(size + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return bytes;
    if (got < 0 && os_error != EINTR)
      return fail(os_failure(Code::input_unreadable, "can't read the input file", path, os_error));
  }
  return fail(Error{Code::state_too_large, fmt::format("the file has more than {} bytes", bytes_max), path, {}, 0});
}

Result<std::string> read_regular_file(const std::string& path, std::uint64_t bytes_max) {
  struct stat found{};
  const bool is_other = ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
  if (is_other)
    return fail(Error{Code::input_unreadable, "expected a file, found something else", path, "move it away", 0});
  return read_local_file(path, bytes_max);
}

Result<ResultPlace> find_result_place(const std::string& path) {
  ResultPlace place;
  struct stat found{};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) return fail(Error{Code::usage, "it is a folder", path, "pass a file name", 0});
  if (exists && !S_ISREG(found.st_mode)) {
    place.kind = ResultPlace::Kind::written_to;
    return place;
  }
  if (exists) place.mode = found.st_mode & 0777U;
  const std::filesystem::path target = follow_links(path);
  place.name = target.filename().string();
  if (place.name.empty() || place.name == "." || place.name == "..")
    return fail(Error{Code::usage, "not a file name", path, "pass a file name", 0});
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  std::error_code error;
  place.folder = std::filesystem::canonical(folder, error).string();
  if (error) {
    return fail(Error{Code::write_failed, fmt::format("can't open the output folder: {}", error.message()),
                      folder.string(), "create it first, or pass another file", error.value()});
  }
  return place;
}

Result<std::unique_ptr<ResultFile>> create_result_file(const std::string& path) {
  PAWL_TRY_ASSIGN(const ResultPlace place, find_result_place(path));
  if (place.kind == ResultPlace::Kind::replaced) return ReplacedFile::create(path, place);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fail(os_failure(Code::write_failed, "can't open the output", path, errno));
  return std::make_unique<DirectFile>(path, fd);
}

Result<void> write_local_file(const std::string& path, std::string_view bytes) {
  PAWL_TRY_ASSIGN(const auto file, create_result_file(path));
  PAWL_TRY(file->write(bytes));
  return file->finish();
}

}  // namespace pawl
