// The files of a folder in memory, for tests of importers.
#pragma once

#include <cerrno>
#include <map>
#include <set>
#include <string>

#include "ports/file_system.hpp"

namespace pawl::testing {

class TextFiles final : public FileSystem {
 public:
  explicit TextFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  std::map<std::string, std::string>& files() { return files_; }
  /// Makes the file a link.
  void make_link(const std::string& path) { links_.insert(path); }
  [[nodiscard]] bool written() const { return written_; }

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override {
    if (mode != OpenMode::read) return refuse();
    const std::string name(path);
    if (links_.contains(name)) return fail(Error{Code::read_failed, "it is a link", name, {}, ELOOP});
    const auto found = files_.find(name);
    if (found == files_.end()) return fail(Code::input_unreadable, "there is no {}", path);
    return std::make_unique<TextFile>(*this, found->second);
  }
  Result<bool> exists(std::string_view path) override { return files_.contains(std::string(path)); }
  Result<std::vector<FolderEntry>> list(std::string_view folder) override {
    const std::string prefix = folder.empty() ? std::string() : std::string(folder) + "/";
    std::vector<FolderEntry> entries;
    for (auto found = files_.lower_bound(prefix); found != files_.end() && found->first.starts_with(prefix); ++found) {
      const std::string_view rest = std::string_view(found->first).substr(prefix.size());
      const auto slash = rest.find('/');
      const std::string name(rest.substr(0, slash));
      if (entries.empty() || entries.back().name != name) entries.push_back({name, slash != std::string_view::npos});
    }
    return entries;
  }
  Result<bool> make_folder(std::string_view) override { return refuse(); }
  Result<void> rename(std::string_view, std::string_view) override { return refuse(); }
  Result<void> remove(std::string_view) override { return refuse(); }
  Result<void> remove_folder(std::string_view) override { return refuse(); }
  Result<void> sync_folder(std::string_view, SyncPoint) override { return refuse(); }
  Result<void> sync_all(SyncPoint) override { return refuse(); }

 private:
  class TextFile final : public File {
   public:
    TextFile(TextFiles& owner, const std::string& bytes) : owner_(owner), bytes_(bytes) {}
    Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
      return offset > bytes_.size() ? std::string() : bytes_.substr(offset, size);
    }
    Result<std::uint64_t> size() override { return bytes_.size(); }
    Result<void> write_at(std::uint64_t, std::string_view) override { return owner_.refuse(); }
    Result<void> sync(SyncPoint) override { return owner_.refuse(); }
    Result<void> resize(std::uint64_t) override { return owner_.refuse(); }
    Result<bool> try_lock(std::uint64_t) override { return owner_.refuse(); }
    Result<bool> try_lock_shared(std::uint64_t) override { return owner_.refuse(); }
    Result<void> unlock(std::uint64_t) override { return owner_.refuse(); }
    Result<bool> locked_elsewhere(std::uint64_t) override { return false; }

   private:
    TextFiles& owner_;
    const std::string& bytes_;
  };
  std::unexpected<Error> refuse() {
    written_ = true;
    return fail(Code::permission_denied, "these files are only looked at");
  }

  std::map<std::string, std::string> files_;
  std::set<std::string> links_;
  bool written_ = false;
};

}  // namespace pawl::testing
