// Plain files: the lower bound, and the obvious approach.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/stores.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kRawFileBytes = std::size_t{4} << 20U;  // the size of a journal segment

void require(bool ok, std::string_view what) {
  if (!ok) give_up(fmt::format("{}: {}", what, std::strerror(errno)));
}

class Descriptor {
 public:
  Descriptor(const Folder& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    require(fd_ >= 0, path.string());
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  void write_at(std::size_t offset, std::string_view bytes) const {
    require(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes.size()),
            "pwrite");
  }
  void sync_data() const { require(::fdatasync(fd_) == 0, "fdatasync"); }
  void sync() const { require(::fsync(fd_) == 0, "fsync"); }

 private:
  int fd_;
};

class Raw final : public SingleWriter {
 public:
  Raw(const Folder& folder, std::size_t record_bytes)
      : file_(folder / "raw.bin", O_RDWR | O_CREAT | O_TRUNC), record_(record_bytes, 'x') {
    file_.write_at(0, std::string(kRawFileBytes, '\0'));
    file_.sync();
  }
  /// Writes at most one record of a larger state: the lower bound for the changed part.
  void save(std::string_view state) override {
    std::memcpy(record_.data(), state.data(), std::min(state.size(), record_.size()));
    if (end_ + record_.size() > kRawFileBytes) end_ = 0;
    file_.write_at(end_, record_);
    file_.sync_data();
    end_ += record_.size();
  }
  std::string name() const override { return fmt::format("raw {} B append", record_.size()); }
  std::string flush_level() const override { return "fdatasync, pre-zeroed file"; }

 private:
  Descriptor file_;
  std::string record_;
  std::size_t end_ = 0;
};

class FilePerCheckpoint final : public SingleWriter {
 public:
  explicit FilePerCheckpoint(const Folder& folder) : folder_(folder), names_(folder, O_RDONLY | O_DIRECTORY) {}
  void save(std::string_view state) override {
    const Folder path = folder_ / fmt::format("{:08}.json", ++number_);
    const Folder temporary = path.string() + ".tmp";
    {
      const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
      file.write_at(0, state);
      file.sync();
    }
    require(std::rename(temporary.c_str(), path.c_str()) == 0, "rename");
    names_.sync();
  }
  std::string name() const override { return "file per checkpoint"; }
  std::string flush_level() const override { return "fsync file, rename, fsync folder"; }

 private:
  Folder folder_;
  Descriptor names_;
  std::size_t number_ = 0;
};

}  // namespace

void give_up(const std::string& message) {
  fmt::print(stderr, "pawl_bench: {}\n", message);
  std::exit(1);
}

std::unique_ptr<SingleWriter> make_raw(const Folder& folder, std::size_t record_bytes) {
  return std::make_unique<Raw>(folder, record_bytes);
}

std::unique_ptr<SingleWriter> make_file_per_checkpoint(const Folder& folder) {
  return std::make_unique<FilePerCheckpoint>(folder);
}

}  // namespace pawl::bench
