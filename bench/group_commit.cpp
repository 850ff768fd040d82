// The lower bound for many threads: a bare log with group commit that writes the same number of bytes and nothing else.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/stores.hpp"

namespace pawl::bench {
namespace {

constexpr std::size_t kLogBytes = std::size_t{64} << 20U;

class GroupCommitLog final : public SharedWriter {
 public:
  explicit GroupCommitLog(const Folder& folder)
      : file_(::open((folder / "group.log").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    const std::string zeros(kLogBytes, '\0');
    if (file_ < 0 || ::pwrite(file_, zeros.data(), zeros.size(), 0) != static_cast<ssize_t>(zeros.size()) ||
        ::fsync(file_) != 0) {
      give_up("can't prepare the log for group commit");
    }
    thread_ = std::thread([this] { write_batches(); });
  }
  ~GroupCommitLog() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      work_.notify_one();
    }
    thread_.join();
    ::close(file_);
  }

  void save(std::size_t, std::string_view state) override {
    std::unique_lock lock(mutex_);
    pending_ += state;
    const std::uint32_t mine = batch_;
    if (resting_) work_.notify_one();
    lock.unlock();
    std::atomic<std::uint32_t>& word = done_[mine % 2];
    for (std::uint32_t seen = word.load(std::memory_order_acquire); seen < mine;
         seen = word.load(std::memory_order_acquire)) {
      ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
  }
  std::string name() const override { return "bare group commit"; }
  std::string flush_level() const override { return "fdatasync, shared; pre-zeroed file"; }

 private:
  void write_batches() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (pending_.empty()) {
        resting_ = true;
        work_.wait(lock);
        resting_ = false;
        continue;
      }
      const std::string bytes = std::exchange(pending_, {});
      const std::uint32_t number = batch_++;
      lock.unlock();
      if (end_ + bytes.size() > kLogBytes) end_ = 0;
      if (::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(end_)) != static_cast<ssize_t>(bytes.size()) ||
          ::fdatasync(file_) != 0) {
        give_up("can't append to the log for group commit");
      }
      end_ += bytes.size();
      done_[number % 2].store(number, std::memory_order_release);
      ::syscall(SYS_futex, &done_[number % 2], FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
      lock.lock();
    }
  }

  int file_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::string pending_;
  std::uint32_t batch_ = 1;
  bool resting_ = false;
  bool stopping_ = false;
  std::size_t end_ = 0;
  std::array<std::atomic<std::uint32_t>, 2> done_{};
  std::thread thread_;
};

}  // namespace

std::unique_ptr<SharedWriter> make_group_commit(const Folder& folder) {
  return std::make_unique<GroupCommitLog>(folder);
}

}  // namespace pawl::bench
