// Text for people: times, sizes, colours.
#pragma once

#include <pawl/types.hpp>
#include <string>
#include <string_view>

#include "text/display.hpp"

namespace pawl::cli {

/// "12 s ago", "3 min ago", "5 h ago", "2 d ago"; a time in the future is "now".
[[nodiscard]] std::string age(Timestamp then, Timestamp now);
/// The local time: "2026-01-11 14:30:05+01:00".
[[nodiscard]] std::string local_time(Timestamp time);

/// "1 checkpoint", "2 checkpoints"; `many` is for words that do not just take an s.
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view one, std::string_view many = {});

enum class Colour : std::uint8_t { none, bold, red, green, yellow, dim };

/// The colour of a run's or checkpoint's status: green done, red failed or damaged, yellow waiting or interrupted.
[[nodiscard]] Colour status_colour(std::string_view status);

/// Adds colours if they are turned on.
class Style {
 public:
  explicit Style(bool colours) : colours_(colours) {}
  [[nodiscard]] std::string operator()(Colour colour, std::string_view text) const;
  [[nodiscard]] bool colours() const { return colours_; }

 private:
  bool colours_;
};

}  // namespace pawl::cli
