// A briefing for whoever goes on with a run: made of what is recorded, and of nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "service/run_report.hpp"

namespace pawl {

/// What of a part is left out first where it does not fit.
enum class PartOrder : std::uint8_t { most_important_first, newest_last };

/// One part of a briefing: what it lists. What does not fit is left out and counted.
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
  std::vector<std::string> head_lines;  // the same as Markdown
  std::vector<NextAction> next;         // the most urgent first
  std::vector<BriefingPart> parts;
};

/// Fails where the run can't be read. `store_uri`, for people.
[[nodiscard]] Result<Briefing> brief_run(Store& store, const RunId& run, const std::string& store_uri, Timestamp now);

/// The runs of a session, the one saved last first; `run`, if it is one of them, is not told again.
[[nodiscard]] Result<Briefing> brief_session(Store& store, const std::string& session, Timestamp now);

/// How an action is written for the reader of a briefing: as a command, a request, ...
using CommandText = std::function<std::string(const NextAction& action)>;

/// At most `bytes_max` bytes (from 1024 on); leaves out from the longest part first.
[[nodiscard]] std::string markdown_of(Briefing briefing, std::size_t bytes_max, const CommandText& command);
[[nodiscard]] std::string json_of(Briefing briefing, std::size_t bytes_max, const CommandText& command);

/// Text that stays text wherever it stands in a Markdown line.
[[nodiscard]] std::string markdown_text(std::string_view text);
/// On one line as code, whatever backticks are in it.
[[nodiscard]] std::string markdown_code(std::string_view text);

}  // namespace pawl
