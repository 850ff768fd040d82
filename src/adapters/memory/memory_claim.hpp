// A claim of a run in memory.
#pragma once

#include "adapters/memory/memory_disk.hpp"

namespace pawl {

class MemoryClaim final : public RunClaim {
 public:
  MemoryClaim(std::shared_ptr<MemoryDisk> disk, RunId run) : disk_(std::move(disk)), run_(std::move(run)) {
    const std::scoped_lock lock(disk_->mutex);
    disk_->claims.insert(run_);
  }
  ~MemoryClaim() override {
    const std::scoped_lock lock(disk_->mutex);
    disk_->claims.erase(disk_->claims.find(run_));
  }
  [[nodiscard]] bool has_rivals() const override {
    const std::scoped_lock lock(disk_->mutex);
    return disk_->claims.count(run_) > 1;
  }

 private:
  const std::shared_ptr<MemoryDisk> disk_;
  const RunId run_;
};

}  // namespace pawl
