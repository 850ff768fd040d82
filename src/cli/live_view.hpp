// The live display of a run on a terminal: running steps at the bottom, finished ones above.
//
// Sends only cursor-up, erase and line ends, so that scrolled-out lines stay readable.
#pragma once

#include "cli/live_picture.hpp"
#include "cli/run_view.hpp"

namespace pawl::cli {

struct LiveTerminal {
  Output& out;
  Clock& clock;
  std::function<TerminalSize()> size;  // called for each picture
  Style style;
  Marks marks = Marks::unicode;
};

/// Draws at most about ten times a second, on events and ticks.
[[nodiscard]] std::unique_ptr<RunView> make_live_view(LiveTerminal terminal);

}  // namespace pawl::cli
