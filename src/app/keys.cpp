#include "app/keys.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "adapters/posix/posix_fd.hpp"
#include "app/local_files.hpp"

namespace pawl {
namespace {

constexpr std::size_t kKeyFileBytesMax = 4096;
constexpr std::size_t kPassphraseBytesMax = 4096;

/// `~/` is the user's home.
std::string expanded(const std::string& path) {
  if (!path.starts_with("~/") || variable("HOME").empty()) return path;
  return variable("HOME") + path.substr(1);
}

std::unexpected<Error> unusable(const std::string& path, std::string message, std::string hint) {
  return fail(Error{Code::invalid_key, std::move(message), path, std::move(hint), 0});
}

/// A rotation that was killed leaves the new key beside the old one.
std::optional<SecretKey> key_with_id(const std::string& path, const std::string& id) {
  for (const std::string& candidate : {path, path + ".new"}) {
    if (auto key = read_key_file(candidate); key && key_id(*key) == id) return *key;
  }
  return std::nullopt;
}

/// The key in `path`, or beside it; where neither is the right one, what is wrong with it.
Result<SecretKey> key_in_file(const std::string& path, const std::string& id) {
  if (auto key = key_with_id(path, id)) return *key;
  return read_key_file(path);
}

/// Without echo, from the terminal itself: standard input may be a state.
Result<std::string> ask_terminal(const std::string& prompt, const char* name) {
  const PosixFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal.get() < 0)
    return fail(Error{Code::key_missing,
                      "a passphrase is needed, and there is no terminal to ask for it",
                      {},
                      fmt::format("set {}", name),
                      0});
  termios before{};
  const bool has_settings = ::tcgetattr(terminal.get(), &before) == 0;
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  if (has_settings) ::tcsetattr(terminal.get(), TCSAFLUSH, &silent);
  static_cast<void>(write_fully(terminal.get(), prompt));
  std::string text;
  char c = 0;
  while (text.size() < kPassphraseBytesMax && ::read(terminal.get(), &c, 1) == 1 && c != '\n') text += c;
  if (has_settings) ::tcsetattr(terminal.get(), TCSAFLUSH, &before);
  static_cast<void>(write_fully(terminal.get(), "\n"));
  return text;
}

}  // namespace

Result<SecretKey> read_key_file(const std::string& path) {
  const PosixFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) {
    const Code code = errno == ENOENT ? Code::key_missing : Code::invalid_key;
    return fail(Error{code, fmt::format("the key file can't be read: {}", std::strerror(errno)), path,
                      "name the right one with PAWL_KEY_FILE", 0});
  }
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return unusable(path, "the key file is no regular file", {});
  if ((info.st_mode & 077U) != 0) {
    return unusable(path, fmt::format("others than its owner may use the key file (mode {:o})", info.st_mode & 0777U),
                    fmt::format("chmod 600 {}", path));
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return unusable(path, "the key file belongs to another user", "use a file of your own");
  std::string text(kKeyFileBytesMax, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  auto key = parse_key(text);
  if (!key) return fail(at(key.error(), path));
  return *key;
}

Result<void> make_key_file(const std::string& path, const SecretKey& key) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder, ignored);
  }
  const PosixFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0)
    return unusable(path, fmt::format("the key file can't be made: {}", std::strerror(errno)),
                    "name another place with --key-file");
  if (write_fully(file.get(), key_text(key)) != 0 || ::fsync(file.get()) != 0) {
    ::unlink(path.c_str());
    return unusable(path, "the key file can't be written", "name another place with --key-file");
  }
  const PosixFd parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) ::fsync(parent.get());
  return {};
}

Result<std::string> default_key_file(const Uuid& store) {
  std::string folder = variable("XDG_CONFIG_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.config";
  if (folder.empty()) {
    return fail(Error{Code::key_missing,
                      "there is no place for the key: neither XDG_CONFIG_HOME nor HOME is set",
                      {},
                      "name one with PAWL_KEY_FILE",
                      0});
  }
  return fmt::format("{}/pawl/keys/{}.key", folder, store.text());
}

Result<std::string> ask_passphrase(const char* name, const std::string& prompt, Asked asked) {
  if (std::string given = variable(name); !given.empty()) return given;
  PAWL_TRY_ASSIGN(std::string first, ask_terminal(prompt, name));
  if (asked == Asked::once) return first;
  PAWL_TRY_ASSIGN(const std::string second, ask_terminal("the same again: ", name));
  if (first != second) return fail(Error{Code::invalid_key, "the two passphrases differ", {}, "try again", 0});
  return first;
}

Result<SecretKey> find_outer_key(const Uuid& store, const StoreKeyInfo& info, const std::string& configured_file) {
  if (info.scrypt) {
    PAWL_TRY_ASSIGN(const std::string passphrase,
                    ask_passphrase("PAWL_PASSPHRASE", "passphrase of the store: ", Asked::once));
    return key_of_passphrase(passphrase, *info.scrypt);
  }
  if (const std::string text = variable("PAWL_KEY"); !text.empty()) {
    auto key = parse_key(text);
    if (!key) return fail(at(key.error(), "PAWL_KEY"));
    return *key;
  }
  for (const std::string& path : {variable("PAWL_KEY_FILE"), configured_file}) {
    if (!path.empty()) return key_in_file(expanded(path), info.id);
  }
  PAWL_TRY_ASSIGN(const std::string path, default_key_file(store));
  auto key = key_in_file(path, info.id);
  if (key || key.error().code != Code::key_missing) return key;
  return fail(Error{Code::key_missing, "the store is encrypted, and its key was not found", path,
                    "give it as PAWL_KEY_FILE (a file), PAWL_KEY (the key itself) or PAWL_PASSPHRASE", 0});
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace pawl
