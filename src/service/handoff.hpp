// A briefing for whoever continues a run, made only from recorded facts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "service/run_report.hpp"

namespace pawl {

/// Which entries of a part are omitted first if it does not fit.
enum class PartOrder : std::uint8_t { most_important_first, newest_last };

/// One part of a briefing. Entries that do not fit are omitted and counted.
struct BriefingPart {
  std::string key;    // in JSON
  std::string title;  // in Markdown
  std::vector<Json> entries = {};
  std::vector<std::string> lines = {};  // Markdown of each entry
  std::size_t left_out = 0;
  NextAction more = {};  // to see the rest
  PartOrder order = PartOrder::most_important_first;
};

struct Briefing {
  std::string title;
  Json head = Json::object();           // goal, status, usage, files
  std::vector<std::string> head_lines;  // the same in Markdown
  std::vector<NextAction> next;         // most urgent first
  std::vector<BriefingPart> parts;
};

/// Fails if the run can't be read. `store_uri` is only shown.
[[nodiscard]] Result<Briefing> brief_run(Store& store, const RunId& run, const std::string& store_uri, Timestamp now);

/// Returns the other runs of a session, newest first, without `run`.
[[nodiscard]] Result<Briefing> brief_session(Store& store, const std::string& session, Timestamp now);

/// How an action is phrased for the reader of a briefing: as a command, a request, ...
using CommandText = std::function<std::string(const NextAction& action)>;

/// Returns at most `bytes_max` bytes (at least 1024). Shortens the longest part first.
[[nodiscard]] std::string markdown_of(Briefing briefing, std::size_t bytes_max, const CommandText& command);
[[nodiscard]] std::string json_of(Briefing briefing, std::size_t bytes_max, const CommandText& command);

/// Escapes text for use anywhere in a Markdown line.
[[nodiscard]] std::string markdown_text(std::string_view text);
/// Formats text as inline code, even if it contains backticks.
[[nodiscard]] std::string markdown_code(std::string_view text);

}  // namespace pawl
