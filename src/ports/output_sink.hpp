// The destination of the output of a command, as a port.
#pragma once

#include <string_view>

namespace pawl {

/// Used by one thread at a time. It handles its own failures: resuming does not need the output.
class OutputSink {
 public:
  OutputSink() = default;
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;
  virtual ~OutputSink() = default;

  virtual void write(std::string_view bytes) = 0;
  /// The command has exited. When this returns, the output so far must be at its destination. Processes that the
  /// command left behind may still write.
  virtual void settle() = 0;
  /// No more output will follow.
  virtual void close() = 0;
};

}  // namespace pawl
