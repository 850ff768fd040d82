// The files that steps' output ends up in: the one place where its bytes become what stands on the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "ports/local_files.hpp"

namespace pawl {

/// One file that grows. Used by one thread at a time. Made with the first bytes.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  virtual ~OutputFile() = default;

  /// Readers of the file see them when this returns. Not made durable.
  virtual Result<void> append(std::string_view bytes) = 0;
  /// Nothing comes any more.
  virtual Result<void> close() { return {}; }
};

/// `path` is absolute, its folder is there. A file that is there already is continued.
using OpenOutputFile = std::function<std::unique_ptr<OutputFile>(const std::string& path)>;

/// As they are. `files` outlives what it makes.
[[nodiscard]] OpenOutputFile plain_output_files(LocalFiles& files);

}  // namespace pawl
