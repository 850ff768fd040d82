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
  const PosixFd parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) ::fsync(parent.get());
  return Created::yes;
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
