// Format `phases`: checkpoint_phase{N}_{timestamp}.json, one file per checkpoint.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "domain/event_types.hpp"
#include "importers/document.hpp"
#include "importers/formats.hpp"

namespace pawl {
namespace {

constexpr std::string_view kPrefix = "checkpoint_phase";

bool is_phase_file(const std::string& path) {
  const auto parts = path_parts(without_gz(path));
  return !parts.empty() && parts.back().starts_with(kPrefix) && parts.back().ends_with(".json");
}

/// Returns the N of `checkpoint_phaseN_...`.
std::optional<std::uint64_t> phase_in_name(const std::string& path) {
  std::string_view name = path_parts(path).back();
  name.remove_prefix(kPrefix.size());
  std::uint64_t phase = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), phase);
  if (problem != std::errc{} || (*end != '_' && *end != '.')) return std::nullopt;
  return phase;
}

struct PhaseCheckpoint {
  std::string workflow;
  std::uint64_t phase = 0;
  Timestamp at;
  Json json;
  ImportedCheckpoint checkpoint;
};

Result<void> check_sum(const Document& document) {
  const std::string claimed = text_or_empty(document.json, "checksum");
  Json bare = document.json;
  bare.erase("checksum");
  std::vector<std::string> covered = hashed_forms({}, bare);
  bare = document.json;
  bare["checksum"] = "";
  for (std::string& form : hashed_forms({}, bare)) covered.push_back(std::move(form));
  if (check_claim(claimed, covered) != Claim::differs) return {};
  return fail(Code::checksum_mismatch, "checksum {} does not match the content", claimed);
}

Result<PhaseCheckpoint> read_phase_checkpoint(const SourceTree& tree, const std::string& file) {
  PAWL_TRY_ASSIGN(Document document, read_document(tree, file));
  const Json& json = document.json;
  PAWL_TRY_ASSIGN(const std::string version, need_text(json, "version"));
  PAWL_TRY(check_version(version, 1));
  PAWL_TRY(check_sum(document));
  PhaseCheckpoint found;
  PAWL_TRY_ASSIGN(found.workflow, need_text(json, "workflow_id"));
  PAWL_TRY(check_run_name(found.workflow));
  PAWL_TRY_ASSIGN(found.checkpoint.id, need_text(json, "checkpoint_id"));
  if (!Uuid::parse(found.checkpoint.id))
    return fail(Code::import_invalid, "checkpoint_id '{}' is not a UUID", found.checkpoint.id);
  PAWL_TRY_ASSIGN(found.phase, need_number(json, "phase"));
  if (phase_in_name(file) != found.phase)
    return fail(Code::import_invalid, "the file name and its phase {} differ", found.phase);
  PAWL_TRY_ASSIGN(found.checkpoint.time, need_text(json, "timestamp"));
  const auto at = parse_foreign_time(found.checkpoint.time);
  if (!at) return fail(Code::import_invalid, "invalid timestamp '{}'", found.checkpoint.time);
  found.at = *at;
  PAWL_TRY_ASSIGN(const std::string status, need_text(json, "status"));
  PAWL_TRY(need_object(json, "agents"));
  ImportedCheckpoint& checkpoint = found.checkpoint;
  checkpoint.file = file;
  checkpoint.checksum = document.sum;
  checkpoint.stage = fmt::format("phase{}", found.phase);
  checkpoint.status = status == "completed" ? Status::completed : status == "failed" ? Status::failed : Status::active;
  checkpoint.kind = checkpoint.status == Status::completed ? Kind::workflow_complete
                    : checkpoint.status == Status::failed  ? Kind::error
                                                           : Kind::stage_complete;
  checkpoint.reason = Reason::stage_completed;
  checkpoint.state = std::move(document.text);
  found.json = std::move(document.json);
  return found;
}

void collect_phases_steps(const PhaseCheckpoint& last, ImportedRun& run) {
  const Json& agents = last.json["agents"];
  for (const auto& [name, agent] : agents.items()) {
    ImportedStep step{.id = name, .output = {}};
    step.ended = last.at;
    const std::string status = text_or_empty(agent, "status");
    if (status == "completed") {
      step.output = Json::object();
      for (const char* key : {"output_ref", "confidence", "state"}) {
        if (const Json* member = find_member(agent, key)) step.output[key] = *member;
      }
    } else if (status == "failed") {
      step.status = StepStatus::failed;
      step.error = text_or_empty(agent, "error").empty() ? "failed" : text_or_empty(agent, "error");
    } else {
      step.status = StepStatus::interrupted;
    }
    run.steps.push_back(std::move(step));
  }
  // The phases before the current one are completed.
  for (std::uint64_t phase = 1; phase < std::min<std::uint64_t>(last.phase, 10'000); ++phase) {
    run.steps.push_back({.stage = fmt::format("phase{}", phase), .output = {}});
  }
  run.completed = last.checkpoint.status == Status::completed;
  if (last.checkpoint.status == Status::failed) run.error = "failed";
}

/// Every later checkpoint repeats the decisions, so each becomes one event.
void add_decisions(PhaseCheckpoint& found, std::set<std::string>& known) {
  const Json* decisions = find_member(found.json, "decisions");
  if (decisions == nullptr || !decisions->is_array()) return;
  for (const Json& decision : *decisions) {
    const std::string text = compact(decision);
    if (known.insert(text).second) found.checkpoint.events.push_back({event_type::kDecision, text});
  }
}

}  // namespace

bool looks_like_phases(const SourceTree& tree) { return std::ranges::any_of(tree.files(), is_phase_file); }

void parse_phases(const SourceTree& tree, const ImportSink& sink) {
  std::map<std::string, std::vector<PhaseCheckpoint>> workflows;
  std::map<std::string, std::string> ids;
  for (const std::string& file : tree.files()) {
    if (!is_phase_file(file)) {
      sink.note({file, "ignored: not part of this format"});
      continue;
    }
    auto found = read_phase_checkpoint(tree, file);
    if (!found) {
      sink.problem(problem_of(file, found.error()));
      continue;
    }
    const auto [earlier, fresh] = ids.emplace(found->checkpoint.id, file);
    if (!fresh) {
      sink.problem(
          {Code::import_duplicate, file, found->checkpoint.id, fmt::format("{} already has this id", earlier->second)});
      continue;
    }
    workflows[found->workflow].push_back(std::move(*found));
  }
  for (auto& [workflow, checkpoints] : workflows) {
    std::ranges::sort(checkpoints, {}, [](const PhaseCheckpoint& found) {
      return std::tuple(found.at, found.phase, found.checkpoint.file);
    });
    ImportedRun run;
    run.id = workflow;
    collect_phases_steps(checkpoints.back(), run);
    std::set<std::string> decisions;
    for (PhaseCheckpoint& found : checkpoints) {
      add_decisions(found, decisions);
      run.checkpoints.push_back(std::move(found.checkpoint));
    }
    sink.run(std::move(run));
  }
}

}  // namespace pawl
