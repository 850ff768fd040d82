#include "app/keys.hpp"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>

#include "adapters/posix/posix_fd.hpp"
#include "app/key_files.hpp"
#include "app/local_files.hpp"

namespace pawl {
namespace {

constexpr KeyFileNames kStoreKey{.file = "key file", .elsewhere = "PAWL_KEY_FILE"};
constexpr KeyFileNames kNewStoreKey{.file = "key file", .elsewhere = "--key-file"};
constexpr std::size_t kPassphraseBytesMax = 4096;

/// Replaces a leading `~/` by the home directory.
std::string expanded(const std::string& path) {
  if (!path.starts_with("~/") || variable("HOME").empty()) return path;
  return variable("HOME") + path.substr(1);
}

/// Looks in `path` and in `path`.new, where an interrupted rotation leaves the new key.
std::optional<SecretKey> key_with_id(const std::string& path, const std::string& id) {
  for (const std::string& candidate : {path, path + ".new"}) {
    if (auto key = read_key_file(candidate); key && key_id(*key) == id) return *key;
  }
  return std::nullopt;
}

/// Like key_with_id. If neither file contains the right key, returns the key or the error of `path`.
Result<SecretKey> key_in_file(const std::string& path, const std::string& id) {
  if (auto key = key_with_id(path, id)) return *key;
  return read_key_file(path);
}

/// Reads from the terminal without echo. Not from standard input, which may be a state.
Result<std::string> ask_terminal(const std::string& prompt, const char* name) {
  const PosixFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal.get() < 0)
    return fail(Error{Code::key_missing,
                      "a passphrase is required and there is no terminal to read it from",
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
  PAWL_TRY_ASSIGN(const std::optional<KeyFileText> file, read_private_file(path, kStoreKey));
  if (!file)
    return fail(Error{Code::key_missing, "the key file is missing", path, "set PAWL_KEY_FILE to the right file", 0});
  if (file->owner != ::geteuid() && file->owner != 0)
    return fail(Error{Code::invalid_key, "the key file belongs to another user", path, "use a file that you own", 0});
  auto key = parse_key(file->text);
  if (!key) return fail(at(key.error(), path));
  return *key;
}

Result<void> make_key_file(const std::string& path, const SecretKey& key) {
  PAWL_TRY_ASSIGN(const Created created, create_private_file(path, key_text(key), 0600, kNewStoreKey));
  if (created == Created::yes) return {};
  return fail(Error{Code::invalid_key, "the key file already exists", path, "name another file with --key-file", 0});
}

Result<std::string> default_key_file(const Uuid& store) {
  PAWL_TRY_ASSIGN(const std::string folder, key_folder(kStoreKey));
  return fmt::format("{}/keys/{}.key", folder, store.text());
}

Result<std::string> ask_passphrase(const char* name, const std::string& prompt, Asked asked) {
  if (std::string given = variable(name); !given.empty()) return given;
  PAWL_TRY_ASSIGN(std::string first, ask_terminal(prompt, name));
  if (asked == Asked::once) return first;
  PAWL_TRY_ASSIGN(const std::string second, ask_terminal("repeat the passphrase: ", name));
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
  return fail(Error{Code::key_missing, "the store is encrypted and its key was not found", path,
                    "pass it as PAWL_KEY_FILE (a file), PAWL_KEY (the key itself) or PAWL_PASSPHRASE", 0});
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace pawl
