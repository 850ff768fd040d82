// Durations as people write and read them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

using Milliseconds = std::chrono::milliseconds;

/// Reads `200ms`, `5s`, `2m`, `24h`, `1d` or `1h30m`: each unit at most once, the largest first. Returns nothing if
/// `text` is not a duration; a number without a unit is not one.
[[nodiscard]] std::optional<Milliseconds> parse_duration(std::string_view text);
/// Returns a text for people, for example `1 h 30 min` or `200 ms`.
[[nodiscard]] std::string duration_text(Milliseconds duration);

}  // namespace pawl
