#include "app/audit_world.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "adapters/filesystem/filesystem_evidence.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_fd.hpp"
#include "adapters/posix/posix_file_system.hpp"
#include "app/keys.hpp"
#include "app/local_files.hpp"

namespace pawl {
namespace {

constexpr std::size_t kKeyBytesMax = 4096;

/// Evidence together with the folder that it reads.
class FolderEvidence final : public Evidence {
 public:
  explicit FolderEvidence(std::unique_ptr<PosixFileSystem> files)
      : files_(std::move(files)), evidence_(*files_, current_owner().boot_id) {}
  Result<Uuid> store_id() override { return evidence_.store_id(); }
  Result<std::vector<std::string>> runs() override { return evidence_.runs(); }
  Result<std::unique_ptr<RunEvidence>> run(const RunId& run, Journals journals) override {
    return evidence_.run(run, journals);
  }

 private:
  std::unique_ptr<PosixFileSystem> files_;
  FilesystemEvidence evidence_;
};

Result<std::unique_ptr<Evidence>> open_folder_evidence(std::string_view uri) {
  for (const std::string_view prefix : {"file://", "file:"}) {
    if (!uri.starts_with(prefix)) continue;
    uri.remove_prefix(prefix.size());
    break;
  }
  if (uri.empty() || uri == "memory:" || uri.find("://") != std::string_view::npos) {
    return fail(Error{Code::usage, fmt::format("'{}' names no folder", uri), {}, "name one: --store ./.pawl", 0});
  }
  PAWL_TRY_ASSIGN(auto files, PosixFileSystem::open(std::string(uri)));
  PAWL_TRY_ASSIGN(const bool exists, files->exists(layout::kStoreFile));
  if (!exists) return fail(Error{Code::store_not_found, "this folder holds no store", std::string(uri), {}, 0});
  return std::make_unique<FolderEvidence>(std::move(files));
}

struct KeyPlace {
  std::string path;
  bool given = false;  // by the environment: never made
};

Result<KeyPlace> key_place() {
  if (std::string given = variable("PAWL_SIGNING_KEY_FILE"); !given.empty()) return KeyPlace{std::move(given), true};
  std::string folder = variable("XDG_CONFIG_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.config";
  if (folder.empty()) {
    return fail(Error{Code::key_missing,
                      "there is no place for the signing key: neither XDG_CONFIG_HOME nor HOME is set",
                      {},
                      "name a file with PAWL_SIGNING_KEY_FILE",
                      0});
  }
  return KeyPlace{folder + "/pawl/signing.key", false};
}

/// Nothing where there is none.
Result<std::optional<SigningKey>> read_key(const std::string& path) {
  const auto unusable = [&](std::string what, std::string hint) {
    return fail(Error{Code::invalid_key, std::move(what), path, std::move(hint), 0});
  };
  const PosixFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 && errno == ENOENT) return std::optional<SigningKey>();
  if (file.get() < 0)
    return unusable(fmt::format("the signing key can't be read: {}", std::strerror(errno)),
                    "name another one with PAWL_SIGNING_KEY_FILE");
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return unusable("the signing key is no regular file", {});
  if ((info.st_mode & 077U) != 0) {
    return unusable(fmt::format("others than its owner may use the signing key (mode {:o})", info.st_mode & 0777U),
                    fmt::format("chmod 600 {}", path));
  }
  std::string text(kKeyBytesMax, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  auto key = SigningKey::parse(text);
  if (!key) return fail(at(key.error(), path));
  return std::optional(std::move(*key));
}

/// Durable when it returns. Of two who make it at once, one finds the other's.
Result<void> write_key(const std::string& path, std::string_view text, mode_t mode) {
  const auto unusable = [&] {
    return fail(Error{Code::invalid_key, fmt::format("the signing key can't be written: {}", std::strerror(errno)),
                      path, "name another place with PAWL_SIGNING_KEY_FILE", 0});
  };
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  {
    const PosixFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (file.get() < 0 || write_fully(file.get(), text) != 0 || ::fsync(file.get()) != 0) return unusable();
  }
  const int linked = ::link(temporary.c_str(), path.c_str());
  const int problem = linked == 0 ? 0 : errno;
  ::unlink(temporary.c_str());
  errno = problem;
  if (linked != 0 && problem != EEXIST) return unusable();
  const PosixFd parent(::open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) ::fsync(parent.get());
  return {};
}

Result<SigningKey> signing_key() {
  PAWL_TRY_ASSIGN(const KeyPlace place, key_place());
  PAWL_TRY_ASSIGN(auto key, read_key(place.path));
  if (key) return *key;
  if (place.given)
    return fail(Error{Code::key_missing, "the signing key is not there", place.path,
                      "make one: `openssl genpkey -algorithm ed25519`, mode 600", 0});
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(place.path).parent_path(), ignored);
  PAWL_TRY_ASSIGN(const SigningKey made, SigningKey::make());
  PAWL_TRY_ASSIGN(const std::string pem, made.pem());
  PAWL_TRY(write_key(place.path, pem, 0600));
  PAWL_TRY_ASSIGN(key, read_key(place.path));
  if (!key) return fail(Error{Code::key_missing, "the signing key is gone", place.path, {}, 0});
  PAWL_TRY_ASSIGN(const std::string digits, key->public_key());
  const std::string shown = std::filesystem::path(place.path).replace_extension(".pub").string();
  PAWL_TRY(write_key(shown, digits + "\n", 0644));
  return *key;
}

Result<std::optional<std::string>> own_public_key() {
  PAWL_TRY_ASSIGN(const KeyPlace place, key_place());
  PAWL_TRY_ASSIGN(const auto key, read_key(place.path));
  if (!key) return std::optional<std::string>();
  PAWL_TRY_ASSIGN(std::string digits, key->public_key());
  return std::optional(std::move(digits));
}

}  // namespace

cli::AuditWorld audit_world() { return {open_folder_evidence, signing_key, own_public_key}; }

}  // namespace pawl
