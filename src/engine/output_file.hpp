// The files that contain the output of steps. The only place that decides how it is stored.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ports/local_files.hpp"

namespace pawl {

/// A growing file. Used by one thread at a time. Created with the first bytes.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  virtual ~OutputFile() = default;

  /// Readers of the file see the bytes when this returns. They are not durable.
  virtual Result<void> append(std::string_view bytes) = 0;
  /// Must be called after the last bytes.
  virtual Result<void> close() { return {}; }
};

/// `path` is absolute, and its folder exists. Appends to an existing file.
using OpenOutputFile = std::function<std::unique_ptr<OutputFile>(const std::string& path)>;

/// Writes plain files. `files` must outlive them.
[[nodiscard]] OpenOutputFile plain_output_files(LocalFiles& files);

}  // namespace pawl
