#include "service/handoff_told.hpp"

#include <algorithm>
#include <unordered_map>

#include "domain/event_types.hpp"
#include "text/display.hpp"

namespace pawl {
namespace {

constexpr std::size_t kEventsPerPage = 10'000;
constexpr std::size_t kEntriesPerPage = 100'000;
constexpr std::size_t kLastLines = 3;

std::string shown_in(const Json& data, const char* key) {
  const auto found = data.find(key);
  if (found == data.end() || found->is_null()) return {};
  return value_text(*found);
}

std::string first_in(const Json& data, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (std::string text = shown_in(data, key); text.find_first_not_of(" \t\r\n") != std::string::npos) return text;
  }
  return {};
}

/// Returns the text that somebody wrote, from whichever member contains it, or everything if none does.
std::string words_in(const Json& data) {
  const std::string text = first_in(data, {"description", "text", "blocker", "note", "reason", "message"});
  return text.empty() ? compact(data) : text;
}

std::string step_prefix(const Json& data) {
  const std::string step = shown_in(data, "step");
  return step.empty() ? "" : markdown_text(step) + ": ";
}

std::string listed(const Json& data, const char* key) {
  std::string text;
  const auto found = data.find(key);
  if (found == data.end() || !found->is_array()) return text;
  for (const Json& item : *found) text += (text.empty() ? "" : ", ") + value_text(item);
  return text;
}

void add(BriefingPart& part, Json entry, std::string line) {
  part.entries.push_back(std::move(entry));
  part.lines.push_back(std::move(line));
}

void add_decision(const Event& event, const Json& data, Told& told) {
  const std::string what = first_in(data, {"description", "decision", "what", "choice", "title"});
  const std::string why = first_in(data, {"reason", "reasoning", "rationale", "why", "because"});
  Json entry = {{"at", event.created.text()},
                {"step", shown_in(data, "step")},
                {"decision", what.empty() ? compact(data) : what},
                {"reason", why}};
  for (const char* key : {"agent", "confidence", "alternatives"}) {
    if (data.contains(key)) entry[key] = data[key];
  }
  std::string line = step_prefix(data) + markdown_text(brief_text(value_text(entry["decision"]), kBriefLong));
  line +=
      why.empty() ? " (no reason recorded)" : fmt::format(" — because {}", markdown_text(brief_text(why, kBriefLong)));
  if (entry.contains("agent"))
    line += fmt::format(" (by {})", markdown_text(brief_text(value_text(entry["agent"]), kBriefShort)));
  add(told.decisions, std::move(entry), std::move(line));
}

/// Adds a person's decision at a gate.
void add_answer(const Event& event, const Json& data, Told& told) {
  const std::string by = first_in(data, {"by", "from"});
  const std::string comment = shown_in(data, "comment");
  const std::string prompt = shown_in(data, "prompt");
  Json entry = {{"at", event.created.text()},
                {"step", shown_in(data, "step")},
                {"decision", event.type},
                {"reason", comment},
                {"by", by},
                {"prompt", prompt}};
  if (data.contains("from")) entry["from"] = data["from"];
  std::string line = fmt::format("{}{} by {}", step_prefix(data), event.type,
                                 markdown_text(brief_text(by.empty() ? "somebody" : by, kBriefShort)));
  if (!prompt.empty()) line += fmt::format(", asked: {}", markdown_text(brief_text(prompt, kBriefShort)));
  if (!comment.empty()) line += fmt::format(" — {}", markdown_text(brief_text(comment, kBriefLong)));
  add(told.decisions, std::move(entry), std::move(line));
}

void add_confidence(const Event& event, const Json& data, Told& told) {
  const Json value = data.contains("value") ? data["value"] : data.value("confidence", Json());
  if (!value.is_number()) return;
  add(told.confidence, {{"at", event.created.text()}, {"step", shown_in(data, "step")}, {"confidence", value}},
      fmt::format("{:.2f} after {} ({})", value.get<double>(), markdown_text(shown_in(data, "step")),
                  event.created.text()));
}

void add_rollback(const Event& event, const Json& data, Told& told) {
  const std::string by = shown_in(data, "by");
  const std::string again = listed(data, "rerun");
  Json entry = {{"at", event.created.text()},
                {"what", event.type},
                {"to", data.value("to", Json())},
                {"by", by},
                {"run_again", data.value("rerun", Json::array())}};
  std::string line =
      fmt::format("rolled back to checkpoint {}{} ({})", shown_in(data, "to"),
                  by.empty() ? "" : " by " + markdown_text(brief_text(by, kBriefShort)), event.created.text());
  if (!again.empty()) line += fmt::format(", to run again: {}", markdown_text(brief_text(again, kBriefShort)));
  add(told.recoveries, std::move(entry), std::move(line));
}

void add_fallback(const Event& event, const Json& data, Told& told) {
  const std::string why = listed(data, "why");
  const std::string again = listed(data, "run_again");
  Json entry = {{"at", event.created.text()},
                {"what", event.type},
                {"from", data.value("from", Json())},
                {"to", data.value("to", Json())},
                {"why", data.value("why", Json::array())},
                {"run_again", data.value("run_again", Json::array())}};
  std::string line = fmt::format("fell back from checkpoint {}, which could not be read, to {} ({})",
                                 shown_in(data, "from"), shown_in(data, "to"), event.created.text());
  if (!why.empty()) line += fmt::format(": {}", markdown_text(brief_text(why, kBriefLong)));
  if (!again.empty()) line += fmt::format(", run again: {}", markdown_text(brief_text(again, kBriefShort)));
  add(told.recoveries, std::move(entry), std::move(line));
}

void add_blocker(const Event& event, const Json& data, const std::string& by, const RunState& state, Told& told) {
  const std::string step = shown_in(data, "step");
  const StepRecord* record = step.empty() ? nullptr : state.find(step);
  const bool done = record != nullptr && record->status == StepStatus::completed;
  const std::string what = words_in(data);
  Json entry = {{"at", event.created.text()}, {"step", step}, {"blocker", what}, {"step_completed_since", done}};
  if (!by.empty()) entry["by"] = by;
  std::string line = step_prefix(data) + markdown_text(brief_text(what, kBriefLong));
  if (!by.empty()) line += fmt::format(" (by {})", markdown_text(brief_text(by, kBriefShort)));
  add(told.blockers, std::move(entry), line + (done ? " (the step has completed since)" : ""));
}

void add_note(const Event& event, const Json& data, const std::string& by, Told& told) {
  const std::string what = words_in(data);
  Json entry = {{"at", event.created.text()}, {"by", by}, {"note", what}};
  if (data.contains("step")) entry["step"] = data["step"];
  add(told.notes, std::move(entry),
      fmt::format("{}{} ({}{})", step_prefix(data), markdown_text(brief_text(what, kBriefLong)),
                  by.empty() ? "" : markdown_text(brief_text(by, kBriefShort)) + ", ", event.created.text()));
}

/// Returns who added the run's audit entries, by the number of their event. Reports of steps have no entry.
Result<std::unordered_map<std::uint64_t, std::string>> writers_of(Store& store, const RunId& run) {
  std::unordered_map<std::uint64_t, std::string> writers;
  for (std::uint64_t after = 0;;) {
    PAWL_TRY_ASSIGN(const std::vector<AuditEntry> entries, store.audit(run, after, kEntriesPerPage));
    for (const AuditEntry& entry : entries) {
      if (entry.event == 0 || (entry.type != event_type::kNote && entry.type != event_type::kBlocker)) continue;
      writers[entry.event] = !entry.agent.empty() ? entry.agent
                             : entry.user.empty() ? ""
                                                  : fmt::format("{}@{}", entry.user, entry.host);
    }
    if (entries.size() < kEntriesPerPage) return writers;
    after = entries.back().index;
  }
}

void add_branch(const Event& event, const KeptBranch& branch, Told& told) {
  add(told.branches, {{"at", event.created.text()}, {"step", branch.step}, {"branch", branch.name}},
      fmt::format("{} ({})", markdown_code(branch.name), markdown_text(branch.step)));
}

bool is_about_confidence(std::string_view type) {
  return type == event_type::kConfidence || type == event_type::kConfidenceAdjusted;
}

void take(const Event& event, const Json& data, Told& told) {
  if (event.type == event_type::kDecision) return add_decision(event, data, told);
  if (event.type == event_type::kApproved || event.type == event_type::kRejected) return add_answer(event, data, told);
  if (is_about_confidence(event.type)) return add_confidence(event, data, told);
  if (event.type == event_type::kRolledBack) return add_rollback(event, data, told);
  if (event.type == event_type::kRecoveryFallback) return add_fallback(event, data, told);
  if (event.type == event_type::kAttemptFailed) {
    told.last_words[shown_in(data, "step")] = shown_in(data, "log");
  } else if (event.type == event_type::kContextUsage && data.contains("share") && data["share"].is_number()) {
    told.context_usage = data["share"].get<double>();
    told.context_by_step[shown_in(data, "step")] = data["share"];
  }
}

bool is_wanted(std::string_view type) {
  constexpr std::string_view kWanted[] = {
      event_type::kDecision,         event_type::kApproved,      event_type::kRejected,    event_type::kRolledBack,
      event_type::kRecoveryFallback, event_type::kAttemptFailed, event_type::kContextUsage};
  return is_about_confidence(type) || std::ranges::find(kWanted, type) != std::end(kWanted);
}

}  // namespace

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : compact(value); }

std::string brief_text(std::string_view text, std::size_t columns) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return cut_to_columns(printable(line), columns);
}

void newest_first(BriefingPart& part) {
  std::ranges::reverse(part.entries);
  std::ranges::reverse(part.lines);
}

std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kLastLines) {
    const std::size_t begin = text.rfind('\n') + 1;  // 0 if there is no newline
    const std::string_view line = text.substr(begin);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.emplace_back(line);
    text = text.substr(0, begin == 0 ? 0 : begin - 1);
  }
  std::ranges::reverse(lines);
  return lines;
}

Result<Told> what_was_told(Store& store, const RunId& run, const RunState& state) {
  Told told;
  std::vector<Event> written;  // notes and blockers; the audit trail says who wrote them
  KeptBranches branches;
  std::uint64_t after = 0;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<Event> events, store.events(run, after, kEventsPerPage));
    if (events.empty()) break;
    after = events.back().number;
    for (const Event& event : events) {
      const std::size_t known = branches.all().size();
      branches.take(event);
      for (std::size_t i = known; i < branches.all().size(); ++i) add_branch(event, branches.all()[i], told);
      if (event.type == event_type::kNote || event.type == event_type::kBlocker) written.push_back(event);
      if (!is_wanted(event.type)) continue;
      const Json data = Json::parse(event.data, nullptr, false);
      if (data.is_object()) take(event, data, told);
    }
  }
  if (!written.empty()) {
    PAWL_TRY_ASSIGN(auto writers, writers_of(store, run));
    for (const Event& event : written) {
      const Json data = Json::parse(event.data, nullptr, false);
      if (!data.is_object()) continue;
      if (event.type == event_type::kNote)
        add_note(event, data, writers[event.number], told);
      else
        add_blocker(event, data, writers[event.number], state, told);
    }
  }
  for (BriefingPart* part : {&told.decisions, &told.blockers, &told.recoveries, &told.confidence}) newest_first(*part);
  for (BriefingPart* part :
       {&told.decisions, &told.blockers, &told.notes, &told.branches, &told.recoveries, &told.confidence})
    part->more = {Advice::show_events, {.run = run.text()}};
  return told;
}

}  // namespace pawl
