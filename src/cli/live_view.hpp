// The live picture of a run on a terminal: running steps at the bottom, what is done above it, for good.
//
// Nothing but cursor-up, erase and line ends is sent, so that what has scrolled away stays readable.
#pragma once

#include "cli/live_picture.hpp"
#include "cli/run_view.hpp"

namespace pawl::cli {

struct LiveTerminal {
  Output& out;
  Clock& clock;
  std::function<TerminalSize()> size;  // asked for each picture
  Style style;
  Marks marks = Marks::unicode;
};

/// Draws at most about ten times a second, when events and ticks come.
[[nodiscard]] std::unique_ptr<RunView> make_live_view(LiveTerminal terminal);

}  // namespace pawl::cli
