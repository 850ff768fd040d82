// Merges the logs of several steps into one output, line by line.
#pragma once

#include <pawl/types.hpp>

#include <map>
#include <string>

#include "cli/output.hpp"

namespace pawl::cli {

/// A log file of a run: the output of one attempt.
struct LogFile {
  std::string path;
  std::string step;
  std::uint32_t attempt = 0;
  std::string stream;  // log, or out: captured standard output
  Timestamp modified = {};
};

enum class LogForm : std::uint8_t {
  bytes,     // unchanged
  terminal,  // control characters made visible
  json,      // one object per line
};
enum class PrefixLines : std::uint8_t { never, always, where_several };

/// Accepts the bytes of the files in pieces, in any order of files.
class LogPrinter {
 public:
  LogPrinter(Output& out, LogForm form) : out_(out), form_(form) {}
  /// `where_several` is treated as never.
  void set_prefixes(PrefixLines prefixes) { prefixes_ = prefixes; }
  void print(const LogFile& file, std::string_view piece);
  /// Completes unfinished last lines.
  void end_line();

 private:
  void print_text(const LogFile& file, std::string_view piece);
  void print_json(const LogFile& file, std::string_view piece);
  void write_json(const LogFile& file, std::string_view line);

  Output& out_;
  const LogForm form_;
  PrefixLines prefixes_ = PrefixLines::never;
  std::string open_;                                                   // the file whose last line is incomplete
  std::string held_;                                                   // the first bytes of an incomplete character
  std::map<std::string, std::pair<LogFile, std::string>> unfinished_;  // incomplete lines for JSON, by file
};

}  // namespace pawl::cli
