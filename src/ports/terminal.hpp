// A person at a terminal, as a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

struct TypedLine {
  enum class How : std::uint8_t {
    line,         // `text`, without its line break
    interrupted,  // by interrupt()
    closed,       // the end of the input, or the terminal is gone
  };
  How how = How::closed;
  std::string text = {};
};

/// Thread-safe, except that only one thread at a time may read.
class Terminal {
 public:
  Terminal() = default;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  virtual ~Terminal() = default;

  /// Waits for a line, for interrupt(), or for the end of the input. A program in the background of its shell waits
  /// until it is in the foreground. What is typed beyond the line is kept for the next call.
  [[nodiscard]] virtual TypedLine read_line() = 0;
  /// Ends the current read_line(), or the next one, and discards what was typed until now.
  virtual void interrupt() = 0;
  /// Discards what was typed until now: it was not an answer to what is asked next.
  virtual void discard_typed() = 0;
  /// Shows the text at once. Errors are ignored: a terminal that was closed does not stop the run.
  virtual void write(std::string_view text) = 0;
};

}  // namespace pawl
