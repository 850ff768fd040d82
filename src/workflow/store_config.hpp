// The settings of a store: its file config.yaml.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/workflow.hpp"

namespace pawl {

/// Whether runs that crashed are resumed when another one is started, and how often.
struct RecoverySettings {
  bool automatic = false;
  std::uint32_t attempts_max = 3;       // in a row, without anyone's help
  Milliseconds within{24 * 3'600'000};  // since the run's last checkpoint
};

struct StoreConfig {
  RecoverySettings recovery;
};

/// Fails with invalid_workflow, with the place in `file`.
[[nodiscard]] Result<StoreConfig> parse_store_config(std::string_view text, const std::string& file);

}  // namespace pawl
