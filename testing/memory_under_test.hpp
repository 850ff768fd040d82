// The memory store for the contract suite.
#pragma once

#include "adapters/memory/memory_store.hpp"
#include "testing/manual_environment.hpp"
#include "testing/store_contract.hpp"

namespace pawl::testing {

class MemoryUnderTest : public StoreUnderTest {
 public:
  std::unique_ptr<Store> open() override {
    return std::make_unique<MemoryStore>(Environment{&clock_, &random_, sim_owner("boot", kPid)}, disk_);
  }
  ManualClock& clock() override { return clock_; }
  [[nodiscard]] std::uint64_t writer_pid() const override { return kPid; }

 private:
  static constexpr std::uint64_t kPid = 4711;
  ManualClock clock_;
  SeededRandom random_{1};
  std::shared_ptr<MemoryDisk> disk_ = make_memory_disk();
};

}  // namespace pawl::testing
