// Time, random numbers and identity as ports. Nothing in Pawl gets them from the operating system directly.
#pragma once

#include <memory>
#include <pawl/types.hpp>
#include <string>

namespace pawl {

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall time; it may jump in both directions.
  [[nodiscard]] virtual Timestamp now() = 0;
  /// Never decreases; for measuring and waiting.
  [[nodiscard]] virtual std::int64_t monotonic_us() = 0;
  /// Never decreases during one boot of the machine, and includes the time in which the machine was suspended.
  [[nodiscard]] virtual std::int64_t since_boot_us() { return monotonic_us(); }
  virtual void sleep_us(std::int64_t duration_us) = 0;
};

/// Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;
};

/// A process that holds a lock, for messages, and the boot of its machine.
struct Owner {
  std::string boot_id;  // changes with every start of the machine
  std::uint64_t pid = 0;
  std::uint64_t started = 0;  // start of the process, in kernel ticks
  std::string host;
  std::string program;    // for people
  std::string user = {};  // of the operating system, for the audit trail
};

[[nodiscard]] inline std::string who(const Owner& owner) { return owner.user + "@" + owner.host; }

struct Environment {
  Clock* clock = nullptr;
  Random* random = nullptr;
  Owner owner;
  std::shared_ptr<void> ports = {};  // owns `clock` and `random`; null if they outlive the environment anyway
};

[[nodiscard]] inline Uuid make_uuid(Random& random) {
  Uuid uuid;
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t bits = random.next();
    for (int i = 0; i < 8; ++i)
      uuid.bytes[static_cast<std::size_t>(half * 8 + i)] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0FU) | 0x40U);
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3FU) | 0x80U);
  return uuid;
}

}  // namespace pawl
