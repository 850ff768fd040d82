#include "cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "text/utf8.hpp"

namespace pawl::cli {
std::string age(Timestamp then, Timestamp now) {
  const std::int64_t seconds = (now.us - then.us) / 1'000'000;
  if (seconds < 1) return "now";
  if (seconds < 60) return fmt::format("{} s ago", seconds);
  if (seconds < 60 * 60) return fmt::format("{} min ago", seconds / 60);
  if (seconds < 48 * 60 * 60) return fmt::format("{} h ago", seconds / (60 * 60));
  return fmt::format("{} d ago", seconds / (24 * 60 * 60));
}

std::string local_time(Timestamp time) {
  const std::time_t seconds = static_cast<std::time_t>(time.us / 1'000'000);
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return time.text();
  const long minutes = local.tm_gmtoff / 60;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}{}{:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, minutes < 0 ? '-' : '+',
                     std::abs(minutes) / 60, std::abs(minutes) % 60);
}

Colour status_colour(std::string_view status) {
  if (status == "completed") return Colour::green;
  if (status == "failed" || status == "damaged") return Colour::red;
  const bool pauses = status == "waiting" || status == "interrupted" || status == "cancelled" || status == "recovering";
  return pauses ? Colour::yellow : Colour::none;
}

std::string Style::operator()(Colour colour, std::string_view text) const {
  constexpr const char* kStart[] = {"", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m"};
  if (!colours_ || colour == Colour::none) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kStart[static_cast<std::size_t>(colour)], text);
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  if (number == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", number, one) : fmt::format("{} {}", number, many);
}

}  // namespace pawl::cli
