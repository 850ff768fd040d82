// Facts about this machine (Linux).
#pragma once

#include "ports/environment.hpp"
#include "ports/machine.hpp"

namespace pawl {

class PosixMachine final : public Machine {
 public:
  /// The clock must outlive it.
  explicit PosixMachine(Clock& clock) : clock_(clock) {}

  Result<DiskFacts> disk(const std::string& folder) override;
  Result<FileFacts> file(const std::string& path) override;
  Result<std::vector<std::int64_t>> sync_times_us(const std::string& folder, std::size_t count) override;
  std::vector<std::string> left_over(const std::string& folder, std::int64_t age_s, std::size_t limit) override;

 private:
  Clock& clock_;
};

}  // namespace pawl
