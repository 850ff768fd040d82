#include "app/key_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "adapters/posix/posix_fd.hpp"
#include "app/keys.hpp"
#include "app/local_files.hpp"

namespace pawl {
namespace {

constexpr std::size_t kKeyFileBytesMax = 4096;

std::unexpected<Error> refuse_key_file(const std::string& path, std::string message, std::string hint) {
  return fail(Error{Code::invalid_key, std::move(message), path, std::move(hint), 0});
}

}  // namespace

Result<std::optional<KeyFileText>> read_private_file(const std::string& path, const KeyFileNames& names) {
  const PosixFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 && errno == ENOENT) return std::optional<KeyFileText>();
  if (file.get() < 0)
    return refuse_key_file(path, fmt::format("can't read the {}: {}", names.file, std::strerror(errno)),
                           fmt::format("name another file with {}", names.elsewhere));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return refuse_key_file(path, fmt::format("the {} is not a regular file", names.file), {});
  if ((info.st_mode & 077U) != 0) {
    return refuse_key_file(
        path, fmt::format("the {} is accessible to other users (mode {:o})", names.file, info.st_mode & 0777U),
        fmt::format("chmod 600 {}", path));
  }
  std::string text(kKeyFileBytesMax, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return std::optional(KeyFileText{std::move(text), info.st_uid});
}

namespace {

/// Makes the names in the folder of `path` durable. Returns 0 or an errno.
int sync_key_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const PosixFd parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() < 0) return errno == EACCES ? 0 : errno;  // a folder that can't be listed can't be synced either
  return ::fsync(parent.get()) == 0 ? 0 : errno;
}

}  // namespace

Result<Created> create_private_file(const std::string& path, std::string_view text, mode_t mode,
                                    const KeyFileNames& names) {
  const auto refuse = [&](int error) {
    return refuse_key_file(path, fmt::format("can't write the {}: {}", names.file, std::strerror(error)),
                           fmt::format("name another file with {}", names.elsewhere));
  };
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // opening the file reports it
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  // A link to a complete file: a process that is killed here leaves no partial key.
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  int problem = 0;
  {
    const PosixFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (file.get() < 0) return refuse(errno);
    problem = write_fully(file.get(), text);
    if (problem == 0 && ::fsync(file.get()) != 0) problem = errno;
  }
  if (problem == 0 && ::link(temporary.c_str(), path.c_str()) != 0) problem = errno;
  ::unlink(temporary.c_str());
  if (problem == EEXIST) return Created::no;
  if (problem != 0) return refuse(problem);
  if (const int unsynced = sync_key_folder(path); unsynced != 0) return refuse(unsynced);
  return Created::yes;
}

Result<void> rename_private_file(const std::string& from, const std::string& to) {
  int problem = std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (problem == 0) problem = sync_key_folder(to);
  if (problem == 0) return {};
  return fail(Error{Code::invalid_key, fmt::format("can't replace the key file: {}", std::strerror(problem)), to,
                    fmt::format("the new key is in {} or in {}; keep both", from, to), problem});
}

Result<std::string> key_folder(const KeyFileNames& names) {
  if (const std::string folder = variable("XDG_CONFIG_HOME"); !folder.empty()) return folder + "/pawl";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.config/pawl";
  return fail(Error{Code::key_missing,
                    fmt::format("no folder for the {}: neither XDG_CONFIG_HOME nor HOME is set", names.file),
                    {},
                    fmt::format("name a file with {}", names.elsewhere),
                    0});
}

}  // namespace pawl
