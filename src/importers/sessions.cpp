// Format `sessions`: sessions/{id}/checkpoint.json with history/, and older layouts: session state files,
// {id}/checkpoints/*.checkpoint.json and mapreduce/jobs/{id}/.
#include <algorithm>
#include <map>
#include <set>

#include "importers/document.hpp"
#include "importers/formats.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

/// What a file contains, according to its path.
struct SourcePlace {
  enum class Kind : std::uint8_t { none, current, history, session_state, old_checkpoint, job };
  Kind kind = Kind::none;
  std::string id;  // of the session or job
};

SourcePlace place_of(std::string_view path) {
  const auto parts = path_parts(without_gz(path));
  const std::size_t count = parts.size();
  if (count == 0 || !parts.back().ends_with(".json")) return {};
  const std::string_view name = parts.back();
  const auto before = [&](std::size_t back) {
    return count > back ? std::string(parts[count - 1 - back]) : std::string();
  };
  if (before(3) == "mapreduce" && before(2) == "jobs") return {SourcePlace::Kind::job, before(1)};
  if (count > 4 && std::string(parts[count - 5]) == "mapreduce" && before(3) == "jobs")
    return {SourcePlace::Kind::job, before(2)};
  if (name.ends_with(".checkpoint.json") && before(1) == "checkpoints")
    return {SourcePlace::Kind::old_checkpoint, before(2)};
  if (name == "checkpoint.json") return {SourcePlace::Kind::current, before(1)};
  if (name.starts_with("checkpoint-") && before(1) == "history") return {SourcePlace::Kind::history, before(2)};
  if (before(1) == "sessions") return {SourcePlace::Kind::session_state, std::string(name.substr(0, name.size() - 5))};
  if ((name == "session.json" || name == "state.json") && before(2) == "sessions")
    return {SourcePlace::Kind::session_state, before(1)};
  return {};
}

struct SessionCheckpoint {
  Timestamp at;
  int rank = 0;  // orders checkpoints of the same time: history before the current one
  ImportedCheckpoint checkpoint;
  std::vector<ImportedStep> steps;
  Json vars = Json::object();
  std::string workflow;
  bool completed = false;
  std::string error;
};

/// Parses serde's `"Name"` and `{"Name": {...}}` into snake case.
struct Variant {
  std::string name;
  Json fields = Json::object();
};

std::string snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty()) out += '_';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::optional<Variant> variant_of(const Json& value) {
  if (value.is_string()) return Variant{snake_case(value.get<std::string>()), Json::object()};
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  return Variant{snake_case(value.begin().key()), value.begin().value()};
}

/// The hash covers the document with an empty hash, in any of the forms in which it may have been written.
Result<void> check_hash(const Document& document) {
  const std::string claimed = text_or_empty(document.json, "integrity_hash");
  std::string blanked = document.text;
  const std::string_view raw = raw_member(document.text, "integrity_hash");
  if (!raw.empty()) blanked.replace(static_cast<std::size_t>(raw.data() - document.text.data()), raw.size(), "\"\"");
  Json empty = document.json;
  empty["integrity_hash"] = "";
  std::vector<std::string> covered = hashed_forms(blanked, empty);
  covered.emplace_back(trim_json(blanked));
  empty.erase("integrity_hash");
  for (std::string& form : hashed_forms({}, empty)) covered.push_back(std::move(form));
  if (check_claim(claimed, covered) != Claim::differs) return {};
  return fail(Code::checksum_mismatch, "integrity_hash {} does not match the content", claimed);
}

void add_completed(const Json& json, SessionCheckpoint& found) {
  const Json* steps = find_member(json, "completed_steps");
  if (steps == nullptr || !steps->is_array()) return;
  std::uint64_t position = 0;
  for (const Json& entry : *steps) {
    ImportedStep step{
        .index = entry.is_number_unsigned() ? entry.get<std::uint64_t>() : number_or(entry, "step_index", position),
        .output = {}};
    ++position;
    if (entry.is_object()) {
      if (const Json* output = find_member(entry, "output")) step.output = *output;
      step.ended = parse_foreign_time(text_or_empty(entry, "completed_at")).value_or(Timestamp{});
      if (entry.contains("success") && entry["success"] == Json(false)) step.status = StepStatus::failed;
      if (const Json* captured = find_member(entry, "captured_variables");
          captured != nullptr && captured->is_object()) {
        for (const auto& [name, value] : captured->items()) found.vars[name] = value;
      }
    }
    found.steps.push_back(std::move(step));
  }
}

void apply_state(const Variant& state, SessionCheckpoint& found) {
  const std::uint64_t index = number_or(state.fields, "step_index", 0);
  ImportedCheckpoint& checkpoint = found.checkpoint;
  ImportedStep step{.index = index, .output = {}};
  step.ended = found.at;
  if (state.name == "completed") {
    checkpoint.kind = Kind::step_complete;
    checkpoint.reason = Reason::after_step;
    if (const Json* output = find_member(state.fields, "output")) step.output = *output;
    found.steps.push_back(std::move(step));
  } else if (state.name == "failed") {
    checkpoint.kind = Kind::error;
    checkpoint.status = Status::failed;
    checkpoint.reason = Reason::step_failed;
    step.status = StepStatus::failed;
    step.error = text_or_empty(state.fields, "error").empty() ? "failed" : text_or_empty(state.fields, "error");
    const Json* retryable = find_member(state.fields, "retryable");
    step.retryable = retryable == nullptr || *retryable != Json(false);
    found.error = step.error;
    found.steps.push_back(std::move(step));
  } else if (state.name == "interrupted") {
    checkpoint.kind = Kind::interrupted;
    checkpoint.reason = Reason::signal;
    const Json* running = find_member(state.fields, "in_progress");
    step.status = running != nullptr && *running == Json(false) ? StepStatus::completed : StepStatus::interrupted;
    found.steps.push_back(std::move(step));
  } else {
    checkpoint.kind = Kind::step_start;
    checkpoint.reason = Reason::before_step;
  }
  checkpoint.step = fmt::format("step{}", index);
}

Result<void> take_time(const Json& json, std::initializer_list<const char*> keys, SessionCheckpoint& found) {
  for (const char* key : keys) {
    found.checkpoint.time = text_or_empty(json, key);
    if (found.checkpoint.time.empty()) continue;
    const auto at = parse_foreign_time(found.checkpoint.time);
    if (!at) return fail(Code::import_invalid, "invalid {} '{}'", key, found.checkpoint.time);
    found.at = *at;
    return {};
  }
  return {};
}

Result<void> check_session(const Json& json, const char* key, const SourcePlace& place) {
  PAWL_TRY_ASSIGN(const std::string id, need_text(json, key));
  PAWL_TRY(check_run_name(id));
  if (!place.id.empty() && id != place.id)
    return fail(Code::import_invalid, "found in the folder of '{}', but belongs to '{}'", place.id, id);
  return {};
}

/// Reads the current layout.
Result<void> read_unified(const Document& document, const SourcePlace& place, SessionCheckpoint& found) {
  const Json& json = document.json;
  PAWL_TRY_ASSIGN(const std::uint64_t version, need_number(json, "version"));
  PAWL_TRY(check_version(std::to_string(version), 1));
  PAWL_TRY(check_session(json, "session_id", place));
  PAWL_TRY(check_hash(document));
  PAWL_TRY(take_time(json, {"created_at"}, found));
  if (found.checkpoint.time.empty()) return fail(Code::import_invalid, "member 'created_at' is missing");
  const Json* member = find_member(json, "state");
  const auto state = member == nullptr ? std::nullopt : variant_of(*member);
  const std::set<std::string> known{"before_step", "completed", "failed", "interrupted"};
  if (!state || !known.contains(state->name)) return fail(Code::import_invalid, "member 'state' is missing or unknown");
  if (state->fields.is_object() && state->fields.contains("step_index"))
    PAWL_TRY(need_number(state->fields, "step_index"));
  PAWL_TRY_ASSIGN(found.workflow, need_text(json, "workflow_path"));
  add_completed(json, found);
  apply_state(*state, found);
  found.checkpoint.id = fmt::format("{}/{}", found.checkpoint.time, found.checkpoint.step + "-" + state->name);
  if (const Json* variables = find_member(json, "variables"); variables != nullptr && variables->is_object()) {
    for (const auto& [name, value] : variables->items()) found.vars[name] = value;
  }
  if (const Json* reason = find_member(json, "reason"); reason != nullptr && reason->is_string()) {
    if (const auto parsed = parse_reason(snake_case(reason->get<std::string>()))) found.checkpoint.reason = *parsed;
  }
  if (const std::string worktree = text_or_empty(json, "worktree_path"); !worktree.empty())
    found.checkpoint.more["worktree_path"] = worktree;
  return {};
}

/// Reads the older layouts: WorkflowState { current_step, completed_steps, ... } in the session's file, or
/// WorkflowCheckpoint { execution_state, completed_steps, ... } in a folder of checkpoints.
Result<void> read_old(const Document& document, const SourcePlace& place, SessionCheckpoint& found) {
  const Json& json = document.json;
  if (json.contains("session_id")) PAWL_TRY(check_session(json, "session_id", place));
  PAWL_TRY(check_run_name(place.id));
  const Json* inner = find_member(json, "workflow_state");
  if (inner == nullptr) inner = find_member(json, "execution_state");
  const Json& state = inner != nullptr && inner->is_object() ? *inner : json;
  const Json* current = find_member(state, "current_step");
  if (current == nullptr) current = find_member(state, "current_step_index");
  if (current == nullptr && !json.contains("completed_steps") && !state.contains("completed_steps")) {
    return fail(Code::import_invalid, "both 'current_step' and 'completed_steps' are missing");
  }
  if (current != nullptr && !current->is_number_unsigned())
    return fail(Code::import_invalid, "'current_step' is not a non-negative integer");
  PAWL_TRY(take_time(json, {"updated_at", "timestamp", "created_at", "started_at"}, found));
  add_completed(json, found);
  if (&state != &json) add_completed(state, found);
  const std::uint64_t step = current != nullptr ? current->get<std::uint64_t>() : found.steps.size();
  found.workflow = text_or_empty(json, "workflow_path");
  if (found.workflow.empty()) found.workflow = text_or_empty(state, "workflow_path");
  for (const char* key : {"variables", "variable_state"}) {
    if (const Json* variables = find_member(json, key); variables != nullptr && variables->is_object())
      found.vars = *variables;
  }
  const std::string status = snake_case(text_or_empty(state, "status"));
  found.completed = status == "completed";
  found.checkpoint.kind = found.completed      ? Kind::workflow_complete
                          : status == "failed" ? Kind::error
                                               : Kind::step_start;
  found.checkpoint.status = found.completed ? Status::completed : status == "failed" ? Status::failed : Status::active;
  found.checkpoint.step = fmt::format("step{}", step);
  found.checkpoint.more["old_format"] = true;
  found.checkpoint.id =
      fmt::format("old/{}/{}", found.checkpoint.time.empty() ? found.checkpoint.file : found.checkpoint.time,
                  found.checkpoint.step);
  return {};
}

/// Reads a MapReduce job. Its items are kept in the state.
Result<void> read_job(const Document& document, const SourcePlace& place, SessionCheckpoint& found) {
  const Json& json = document.json;
  PAWL_TRY(check_run_name(place.id));
  const Json* metadata = find_member(json, "metadata");
  const Json& about = metadata != nullptr && metadata->is_object() ? *metadata : json;
  if (about.contains("job_id")) PAWL_TRY(check_session(about, "job_id", place));
  PAWL_TRY(check_hash(document));
  PAWL_TRY(take_time(about, {"created_at", "updated_at", "timestamp"}, found));
  found.checkpoint.kind = Kind::manual;
  found.checkpoint.stage = snake_case(text_or_empty(about, "phase"));
  found.checkpoint.more["mapreduce"] = true;
  found.checkpoint.id = fmt::format("job/{}/{}", found.checkpoint.time,
                                    found.checkpoint.file.substr(found.checkpoint.file.rfind('/') + 1));
  return {};
}

Result<SessionCheckpoint> read_session_checkpoint(const SourceTree& tree, const std::string& file,
                                                  const SourcePlace& place) {
  PAWL_TRY_ASSIGN(Document document, read_document(tree, file));
  SessionCheckpoint found;
  found.checkpoint.file = file;
  found.checkpoint.checksum = document.sum;
  found.rank = place.kind == SourcePlace::Kind::current ? 1 : 0;
  if (place.kind == SourcePlace::Kind::job) {
    PAWL_TRY(read_job(document, place, found));
  } else if (document.json.contains("version") && document.json.contains("state")) {
    PAWL_TRY(read_unified(document, place, found));
  } else {
    // Older layouts are recognised by their members, not by their place.
    PAWL_TRY(read_old(document, place, found));
  }
  found.checkpoint.state = std::move(document.text);
  return found;
}

void hand_over(const std::string& id, std::vector<SessionCheckpoint>& checkpoints, const ImportSink& sink) {
  std::ranges::sort(checkpoints, {}, [](const SessionCheckpoint& found) {
    return std::tuple(found.at, found.rank, found.checkpoint.file);
  });
  ImportedRun run;
  run.id = id;
  run.session = id;
  std::map<std::string, std::pair<std::string, std::string>> ids;  // id -> file and checksum
  for (SessionCheckpoint& found : checkpoints) {
    const auto [earlier, fresh] =
        ids.emplace(found.checkpoint.id, std::pair(found.checkpoint.file, found.checkpoint.checksum));
    if (!fresh) {
      // The current checkpoint is copied to the history before it is replaced, so it can occur twice.
      if (earlier->second.second == found.checkpoint.checksum) {
        sink.note({found.checkpoint.file, fmt::format("same as {}", earlier->second.first)});
      } else {
        sink.problem({Code::import_duplicate, found.checkpoint.file, found.checkpoint.id,
                      fmt::format("{} already has this id", earlier->second.first)});
      }
      continue;
    }
    run.steps = std::move(found.steps);
    run.vars = std::move(found.vars);
    if (!found.workflow.empty()) run.workflow = found.workflow;
    run.completed = found.completed;
    run.error = found.error;
    run.checkpoints.push_back(std::move(found.checkpoint));
  }
  if (!run.checkpoints.empty()) sink.run(std::move(run));
}

}  // namespace

bool looks_like_sessions(const SourceTree& tree) {
  return std::ranges::any_of(tree.files(),
                             [](const std::string& file) { return place_of(file).kind != SourcePlace::Kind::none; });
}

void parse_sessions(const SourceTree& tree, const ImportSink& sink) {
  std::map<std::string, std::vector<std::pair<std::string, SourcePlace>>> sessions;
  for (const std::string& file : tree.files()) {
    const SourcePlace place = place_of(file);
    if (place.kind == SourcePlace::Kind::none) {
      sink.note({file, "ignored: not part of this format"});
    } else {
      sessions[place.id].emplace_back(file, place);
    }
  }
  for (const auto& [id, files] : sessions) {
    std::vector<SessionCheckpoint> checkpoints;
    std::string name = id;
    for (const auto& [file, place] : files) {
      auto found = read_session_checkpoint(tree, file, place);
      if (!found) {
        sink.problem(problem_of(file, found.error()));
        continue;
      }
      if (name.empty()) name = text_or_empty(Json::parse(found->checkpoint.state, nullptr, false), "session_id");
      checkpoints.push_back(std::move(*found));
    }
    hand_over(name, checkpoints, sink);
  }
}

}  // namespace pawl
