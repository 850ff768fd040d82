// Facts from a run's events for whoever continues it.
#pragma once

#include <map>
#include <optional>

#include "service/handoff.hpp"

namespace pawl {

constexpr std::size_t kBriefShort = 240;  // columns of a recorded value
constexpr std::size_t kBriefLong = 1'000;

struct Told {
  BriefingPart decisions{.key = "decisions", .title = "Decisions"};
  BriefingPart blockers{.key = "blockers", .title = "Blockers"};
  BriefingPart notes{.key = "notes", .title = "Notes", .order = PartOrder::newest_last};
  BriefingPart recoveries{.key = "recoveries", .title = "Recoveries"};
  BriefingPart branches{.key = "branches", .title = "Branches to review", .order = PartOrder::newest_last};
  BriefingPart confidence{.key = "confidence_history", .title = "Confidence"};
  std::optional<double> context_usage;
  Json context_by_step = Json::object();
  std::map<std::string, std::string> last_words;  // the last output of failed attempts, by step
};

/// Newest first, except notes and branches. `state` is empty for a run without a workflow.
[[nodiscard]] Result<Told> what_was_told(Store& store, const RunId& run, const RunState& state);

/// The last non-empty lines of `text`, oldest first.
[[nodiscard]] std::vector<std::string> last_lines(std::string_view text);

/// One printable line of at most `columns` columns.
[[nodiscard]] std::string brief_text(std::string_view text, std::size_t columns);
/// A string unchanged, any other value as JSON.
[[nodiscard]] std::string value_text(const Json& value);

void newest_first(BriefingPart& part);

}  // namespace pawl
