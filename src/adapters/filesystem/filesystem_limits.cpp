#include "adapters/filesystem/filesystem_limits.hpp"

#include <map>
#include <mutex>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/limit_file.hpp"

namespace pawl {
namespace {

/// One limit of a handle, which its permits share.
struct SharedLimit {
  std::mutex mutex;
  std::unique_ptr<LimitFile> file;  // guarded by mutex
};

class SlotPermit final : public Permit {
 public:
  SlotPermit() = default;
  SlotPermit(const SlotPermit&) = delete;
  SlotPermit& operator=(const SlotPermit&) = delete;
  ~SlotPermit() override {
    for (const auto& [limit, slot] : slots_) {
      const std::scoped_lock lock(limit->mutex);
      limit->file->release(slot);
    }
  }
  void add(std::shared_ptr<SharedLimit> limit, std::uint32_t slot) { slots_.emplace_back(std::move(limit), slot); }

 private:
  std::vector<std::pair<std::shared_ptr<SharedLimit>, std::uint32_t>> slots_;
};

/// A limit that no other thread or process can change.
class HeldLimit {
 public:
  explicit HeldLimit(std::shared_ptr<SharedLimit> limit) : limit_(std::move(limit)), lock_(limit_->mutex) {}
  HeldLimit(const HeldLimit&) = delete;
  HeldLimit& operator=(const HeldLimit&) = delete;
  ~HeldLimit() {
    if (is_locked_) limit_->file->unlock();
  }

  /// Returns false if another process holds the file for too long, for example because it is stopped.
  [[nodiscard]] Result<bool> wait(Clock& clock) {
    for (std::int64_t waited_us = 0; waited_us <= kLockWaitUs; waited_us += kLockStepUs) {
      PAWL_TRY_ASSIGN(is_locked_, limit_->file->try_lock());
      if (is_locked_) return true;
      clock.sleep_us(kLockStepUs);
    }
    return false;
  }
  [[nodiscard]] LimitFile& file() { return *limit_->file; }
  [[nodiscard]] const std::shared_ptr<SharedLimit>& limit() const { return limit_; }

 private:
  const std::shared_ptr<SharedLimit> limit_;
  const std::unique_lock<std::mutex> lock_;
  bool is_locked_ = false;
};

class FilesystemLimits final : public Limits {
 public:
  FilesystemLimits(FileSystem& files, Clock& clock) : files_(files), clock_(clock) {}
  FilesystemLimits(const FilesystemLimits&) = delete;
  FilesystemLimits& operator=(const FilesystemLimits&) = delete;
  ~FilesystemLimits() override {
    for (auto& [name, limit] : limits_) {
      const std::scoped_lock lock(limit->mutex);
      limit->file->leave();
    }
  }

  Result<PermitOrWait> try_take(std::span<const LimitDefinition> limits, Timestamp now) override {
    PAWL_TRY_ASSIGN(const std::vector<LimitDefinition> wanted, checked_limits(limits));
    std::vector<std::unique_ptr<HeldLimit>> held;  // all are taken in the order of their names
    std::optional<LimitWait> wait;
    for (const LimitDefinition& definition : wanted) {
      PAWL_TRY_ASSIGN(auto limit, shared(definition.name));
      held.push_back(std::make_unique<HeldLimit>(std::move(limit)));
      PAWL_TRY_ASSIGN(const bool locked, held.back()->wait(clock_));
      if (!locked) {
        return PermitOrWait(
            LimitWait{LimitWait::Why::parallel, definition.name, Timestamp{now.us + kLimitAskAgain_us}});
      }
      LimitFile& file = held.back()->file();
      PAWL_TRY_ASSIGN(const bool was_damaged, file.read(definition));
      if (was_damaged) note_damage(file.path());
      PAWL_TRY_ASSIGN(std::optional<LimitWait> found, file.obstacle(now));
      if (found && (!wait || found->until > wait->until)) wait = std::move(found);
    }
    if (wait) return PermitOrWait(std::move(*wait));
    auto permit = std::make_unique<SlotPermit>();
    PAWL_TRY(take(held, now, *permit));
    return PermitOrWait(std::move(permit));
  }

  std::vector<Error> damage() override {
    const std::scoped_lock lock(mutex_);
    return std::exchange(damage_, {});
  }

 private:
  static Result<void> take(std::vector<std::unique_ptr<HeldLimit>>& held, Timestamp now, SlotPermit& permit) {
    std::vector<std::pair<HeldLimit*, std::uint32_t>> taken;
    for (const auto& limit : held) {
      const Result<std::uint32_t> slot = limit->file().take(now);
      if (!slot) {
        for (const auto& [earlier, number] : taken) earlier->file().release(number);
        return fail(slot.error());
      }
      taken.emplace_back(limit.get(), *slot);
    }
    for (const auto& [limit, slot] : taken) permit.add(limit->limit(), slot);
    return {};
  }

  Result<std::shared_ptr<SharedLimit>> shared(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    auto& limit = limits_[name];
    if (limit == nullptr) {
      auto file = LimitFile::open(files_, name);
      if (!file) {
        limits_.erase(name);
        return fail(file.error());
      }
      limit = std::make_shared<SharedLimit>();
      limit->file = std::move(*file);
    }
    return limit;
  }

  void note_damage(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    damage_.push_back(Error{Code::store_damaged,
                            "the file of a limit was damaged and has been replaced; its rate begins anew",
                            path,
                            {},
                            0});
  }

  FileSystem& files_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedLimit>> limits_;  // guarded by mutex_
  std::vector<Error> damage_;                                   // guarded by mutex_
};

}  // namespace

std::unique_ptr<Limits> make_filesystem_limits(FileSystem& files, Clock& clock) {
  return std::make_unique<FilesystemLimits>(files, clock);
}

}  // namespace pawl
