// Rate limits and concurrency groups that all runs of a store share, as a port. The clauses (L1..L7) are its contract,
// tested on every adapter by tests/contract/limits_test.cpp.
//
//  L1 At most `parallel` permits of a limit exist at a time, over all handles and processes of the store.
//  L2 At most `per_minute` permits are given in any 60 s, by the clock of the calls. A clock that is set back delays
//     later permits by at most 60 s; one that jumps ahead counts as time that has passed.
//  L3 If handles that are open give a limit different definitions, the stricter of each number holds. A definition is
//     in use from the first call with it until its handle is destroyed or its process dies, also if another replaces
//     it: of two definitions by one handle, the last one counts.
//  L4 A permit ends when it is destroyed or its process dies, however that happens. The minute of L2 is not affected.
//  L5 A call with several limits takes all of them or none, whatever order they have; calls never wait for each other
//     in a circle.
//  L6 Damaged data is replaced by new data and reported by `damage`. L2 then begins anew; L1 is not affected.
//  L7 A refused call says when to ask again: at the time at which a rate has room, or soon for a permit in use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pawl/types.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace pawl {

inline constexpr std::uint32_t kLimitPerMinuteMax = 10'000;
inline constexpr std::uint32_t kLimitParallelMax = 1'000;

struct LimitDefinition {
  std::string name;                              // [A-Za-z0-9][A-Za-z0-9._-]{0,127}, like the id of a run
  std::optional<std::uint32_t> per_minute = {};  // 1 to kLimitPerMinuteMax
  std::optional<std::uint32_t> parallel = {};    // 1 to kLimitParallelMax
};

/// Destroying it gives its share of every limit back. It may outlive its Limits.
class Permit {
 public:
  Permit() = default;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  virtual ~Permit() = default;
};

/// Why there is no permit, and when to ask again.
struct LimitWait {
  enum class Why : std::uint8_t { rate, parallel };
  Why why = Why::rate;
  std::string name = {};  // of the limit
  Timestamp until = {};
};

using PermitOrWait = std::variant<std::unique_ptr<Permit>, LimitWait>;

/// Thread-safe. One handle per execution.
class Limits {
 public:
  Limits() = default;
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;
  virtual ~Limits() = default;

  /// Takes a share of each limit. Fails with invalid_label for an invalid name, with number_out_of_range for a number
  /// outside of its range, and with errors of files.
  virtual Result<PermitOrWait> try_take(std::span<const LimitDefinition> limits, Timestamp now) = 0;
  /// Returns what was damaged and replaced since the last call.
  virtual std::vector<Error> damage() = 0;
};

/// Returns the limits sorted by name; of several with one name, each number is the smallest. Fails as `try_take`.
[[nodiscard]] Result<std::vector<LimitDefinition>> checked_limits(std::span<const LimitDefinition> limits);
/// Reduces each number of `limit` to that of `other`, where that is smaller.
void tighten(LimitDefinition& limit, const LimitDefinition& other);

inline constexpr std::int64_t kLimitMinute_us = 60'000'000;
inline constexpr std::int64_t kLimitAskAgain_us = 100'000;  // for a permit that is in use

}  // namespace pawl
