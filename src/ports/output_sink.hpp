// Where the output of a command goes, as a port.
#pragma once

#include <string_view>

namespace pawl {

/// Used by one thread at a time. Failures are its own affair: output is not needed to resume.
class OutputSink {
 public:
  OutputSink() = default;
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;
  virtual ~OutputSink() = default;

  virtual void write(std::string_view bytes) = 0;
  /// The command has ended: what came until now is to be where it belongs when this returns. What the command
  /// left behind may still write.
  virtual void settle() = 0;
  /// Nothing comes any more.
  virtual void close() = 0;
};

}  // namespace pawl
