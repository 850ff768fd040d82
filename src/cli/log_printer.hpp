// Logs of several steps on one output, whole lines at a time where they are whole.
#pragma once

#include <pawl/types.hpp>

#include <map>
#include <string>

#include "cli/output.hpp"

namespace pawl::cli {

/// One file of a run's folder: what one attempt has printed.
struct LogFile {
  std::string path;
  std::string step;
  std::uint32_t attempt = 0;
  std::string stream;  // log, or out: captured standard output
  Timestamp modified = {};
};

enum class LogForm : std::uint8_t {
  bytes,     // as they are
  terminal,  // control characters made visible
  json,      // an object per line
};
enum class PrefixLines : std::uint8_t { never, always, where_several };

/// Takes the files' bytes in pieces, in any order of files.
class LogPrinter {
 public:
  LogPrinter(Output& out, LogForm form) : out_(out), form_(form) {}
  /// `where_several` counts as never.
  void set_prefixes(PrefixLines prefixes) { prefixes_ = prefixes; }
  void print(const LogFile& file, std::string_view piece);
  /// Ends lines that their files have not ended.
  void end_line();

 private:
  void print_text(const LogFile& file, std::string_view piece);
  void print_json(const LogFile& file, std::string_view piece);
  void write_json(const LogFile& file, std::string_view line);

  Output& out_;
  const LogForm form_;
  PrefixLines prefixes_ = PrefixLines::never;
  std::string open_;  // the file whose line is not ended
  std::string held_;  // the beginning of a character whose rest is missing
  std::map<std::string, std::pair<LogFile, std::string>> unfinished_;  // lines for JSON, by file
};

}  // namespace pawl::cli
