// Format `orchestration`: checkpoints/{workflow}/[{stage}/[{agent}/]]seq-NNNNN.json, index.json, metadata.json and
// recovery/.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "domain/event_types.hpp"
#include "importers/document.hpp"
#include "importers/formats.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

/// Returns whether the path is `seq-00012.json` or `seq-00012.json.gz`.
bool is_sequence_file(std::string_view path) {
  const auto parts = path_parts(without_gz(path));
  return !parts.empty() && parts.back().starts_with("seq-") && parts.back().ends_with(".json");
}

struct CheckpointName {
  std::string workflow;
  std::string stage;
  std::string agent;
  std::uint64_t sequence = 0;

  [[nodiscard]] std::string path() const {
    std::string text = workflow;
    for (const std::string* part : {&stage, &agent}) {
      if (!part->empty()) text += "/" + *part;
    }
    return text + fmt::format("/seq-{:05}", sequence);
  }
};

Result<CheckpointName> name_of(const Json& id) {
  CheckpointName name;
  PAWL_TRY_ASSIGN(name.workflow, need_text(id, "workflow_id"));
  PAWL_TRY(check_run_name(name.workflow));
  name.stage = text_or_empty(id, "stage_id");
  name.agent = text_or_empty(id, "agent_id");
  if (!name.stage.empty()) PAWL_TRY(check_part_name("stage", name.stage));
  if (!name.agent.empty()) PAWL_TRY(check_part_name("agent", name.agent));
  PAWL_TRY_ASSIGN(name.sequence, need_number(id, "sequence"));
  return name;
}

/// Compares the path with the id. The import may start anywhere above the file, so one is a suffix of the other.
bool is_at_its_place(std::string_view file, const CheckpointName& name) {
  const std::string said = name.path() + ".json";
  const auto actual = path_parts(without_gz(file));
  const auto expected = path_parts(said);
  const std::size_t common = std::min(actual.size(), expected.size());
  if (!std::equal(actual.end() - static_cast<std::ptrdiff_t>(common), actual.end(),
                  expected.end() - static_cast<std::ptrdiff_t>(common)))
    return false;
  // No folder may be between `checkpoints` and the workflow's folder.
  return actual.size() <= expected.size() || actual[actual.size() - common - 1] == "checkpoints" ||
         actual.size() == common || std::ranges::find(actual, "checkpoints") == actual.end();
}

struct OrchestrationCheckpoint {
  CheckpointName name;
  ImportedCheckpoint checkpoint;
  Json levels;  // workflow_state, stage_state, agent_state
  std::string kind;
};

std::string level(std::string_view text, std::string_view key) {
  const std::string_view raw = raw_member(text, key);
  return json_type(raw) == JsonType::object ? std::string(raw) : std::string("{}");
}

void add_error(const Json& json, ImportedCheckpoint& checkpoint) {
  const std::string message = text_or_empty(json, "error_message");
  if (message.empty()) return;
  checkpoint.more["error"] = message;
  checkpoint.events.push_back({event_type::kImportedError,
                               compact({{"error", message}, {"stacktrace", text_or_empty(json, "error_stacktrace")}})});
}

Result<OrchestrationCheckpoint> read_orchestration_checkpoint(const SourceTree& tree, const std::string& file) {
  PAWL_TRY_ASSIGN(const Document document, read_document(tree, file));
  const Json& json = document.json;
  PAWL_TRY_ASSIGN(const std::string version, need_text(json, "schema_version"));
  PAWL_TRY(check_version(version, 1));
  PAWL_TRY_ASSIGN(const Json* id, need_object(json, "id"));
  OrchestrationCheckpoint found;
  PAWL_TRY_ASSIGN(found.name, name_of(*id));
  if (!is_at_its_place(file, found.name)) {
    return fail(Code::import_invalid, "its id does not match its location: expected {}", found.name.path());
  }
  PAWL_TRY_ASSIGN(found.kind, need_text(json, "checkpoint_type"));
  PAWL_TRY_ASSIGN(const std::string status, need_text(json, "status"));
  const auto kind = parse_kind(found.kind);
  const auto parsed_status = parse_status(status);
  if (!kind) return fail(Code::import_invalid, "unknown checkpoint_type '{}'", found.kind);
  if (!parsed_status) return fail(Code::import_invalid, "unknown status '{}'", status);
  for (const char* key : {"workflow_state", "stage_state", "agent_state"}) PAWL_TRY(need_object(json, key));
  ImportedCheckpoint& checkpoint = found.checkpoint;
  checkpoint.id = found.name.path();
  checkpoint.time = text_or_empty(json, "created_at");
  checkpoint.file = file;
  checkpoint.checksum = document.sum;
  checkpoint.state = fmt::format(R"({{"workflow":{},"stage":{},"agent":{}}})", level(document.text, "workflow_state"),
                                 level(document.text, "stage_state"), level(document.text, "agent_state"));
  checkpoint.kind = *kind;
  checkpoint.status = *parsed_status;
  checkpoint.stage = found.name.stage;
  checkpoint.step = found.name.agent;
  for (const char* key : {"updated_at", "resume_handler", "retry_count", "max_retries"}) {
    if (const Json* member = find_member(json, key)) checkpoint.more[key] = *member;
  }
  if (const Json* parent = find_member(json, "parent_checkpoint_id")) {
    const auto parent_name = name_of(*parent);
    if (!parent_name)
      return fail(Code::import_invalid, "invalid parent_checkpoint_id: {}", parent_name.error().message);
    checkpoint.more["parent"] = parent_name->path();
  }
  add_error(json, checkpoint);
  found.levels = {{"workflow", json["workflow_state"]}, {"stage", json["stage_state"]}, {"agent", json["agent_state"]}};
  return found;
}

void add_texts(std::vector<std::string>& out, const Json& object, const char* key) {
  const Json* list = find_member(object, key);
  if (list == nullptr || !list->is_array()) return;
  for (const Json& entry : *list) {
    if (entry.is_string()) out.push_back(entry.get<std::string>());
  }
}

/// The variables of the workflow: members of its state that the format itself does not use, and its global_context.
void add_variables(const Json& workflow_state, Json& vars) {
  static const std::set<std::string_view> kOfTheFormat = {"workflow_id",         "workflow_name",     "active_stage_id",
                                                          "completed_stage_ids", "pending_stage_ids", "global_context"};
  for (const auto& [name, value] : workflow_state.items()) {
    if (!kOfTheFormat.contains(name)) vars[name] = value;
  }
  const Json* context = find_member(workflow_state, "global_context");
  if (context == nullptr || !context->is_object()) return;
  for (const auto& [name, value] : context->items()) vars[name] = value;
}

/// Adds what a checkpoint says about stages and agents. Called oldest first.
void collect_orchestration_steps(const OrchestrationCheckpoint& found, ImportedRun& run) {
  const Timestamp ended = parse_foreign_time(found.checkpoint.time).value_or(Timestamp{});
  const auto say = [&](ImportedStep step) {
    step.ended = ended;
    run.steps.push_back(std::move(step));
  };
  if (found.checkpoint.kind == Kind::step_complete && !found.name.agent.empty()) {
    const Json* output = find_member(found.levels["agent"], "output_payload");
    say({.id = found.name.agent, .output = output != nullptr ? *output : Json()});
  } else if (found.checkpoint.status == Status::failed && !found.name.agent.empty()) {
    say({.id = found.name.agent,
         .status = StepStatus::failed,
         .output = {},
         .error = found.checkpoint.more.value("error", std::string("failed"))});
  } else if (found.checkpoint.kind == Kind::step_start && !found.name.agent.empty()) {
    say({.id = found.name.agent, .status = StepStatus::interrupted, .output = {}});
  }
  std::vector<std::string> agents;
  add_texts(agents, found.levels["stage"], "completed_agent_ids");
  for (const std::string& agent : agents) say({.id = agent, .output = {}});
  std::vector<std::string> stages;
  add_texts(stages, found.levels["workflow"], "completed_stage_ids");
  if (found.checkpoint.kind == Kind::stage_complete && !found.name.stage.empty()) stages.push_back(found.name.stage);
  for (const std::string& stage : stages) say({.stage = stage, .output = {}});
  if (const std::string name = text_or_empty(found.levels["workflow"], "workflow_name"); !name.empty())
    run.workflow = name;
  run.completed = found.checkpoint.kind == Kind::workflow_complete;
  run.error = found.checkpoint.status == Status::failed ? found.checkpoint.more.value("error", std::string("failed"))
                                                        : std::string();
}

/// Reports checkpoints that index.json lists and that are missing.
void check_index(const SourceTree& tree, const std::string& file, const std::set<std::string>& known,
                 const ImportSink& sink) {
  const auto document = read_document(tree, file);
  if (!document) return sink.problem(problem_of(file, document.error()));
  const Json* list = find_member(document->json, "checkpoints");
  if (list == nullptr || !list->is_array())
    return sink.problem({Code::import_invalid, file, {}, "member 'checkpoints' is missing or not a list"});
  for (const Json& entry : *list) {
    const std::string id = text_or_empty(entry, "checkpoint_id");
    if (!id.empty() && known.contains(id)) continue;
    sink.problem({Code::checkpoint_not_found, file, id, "the index lists a checkpoint whose file is missing"});
  }
}

/// Adds the workflow's metadata to its first checkpoint.
void add_metadata(const SourceTree& tree, const std::string& file,
                  std::map<std::uint64_t, OrchestrationCheckpoint>& checkpoints, const ImportSink& sink) {
  const auto document = read_document(tree, file);
  if (!document) return sink.problem(problem_of(file, document.error()));
  auto& events = checkpoints.begin()->second.checkpoint.events;
  events.insert(events.begin(), {event_type::kImportedMetadata, compact(document->json)});
}

void hand_over(const std::string& workflow, std::map<std::uint64_t, OrchestrationCheckpoint>& checkpoints,
               const ImportSink& sink) {
  ImportedRun run;
  run.id = workflow;
  std::map<std::string, std::size_t> places;
  std::vector<const Json*> states;  // of the workflow, at each checkpoint
  for (auto& [sequence, found] : checkpoints) {
    if (const std::string parent = found.checkpoint.more.value("parent", std::string()); !parent.empty()) {
      const auto place = places.find(parent);
      if (place == places.end()) {
        sink.note(
            {found.checkpoint.file,
             fmt::format("its parent {} is missing or comes later: its state contains only its own part", parent)});
      } else {
        found.checkpoint.parent = place->second;
      }
    }
    states.push_back(&found.levels["workflow"]);
    collect_orchestration_steps(found, run);
    places.emplace(found.checkpoint.id, run.checkpoints.size());
    run.checkpoints.push_back(std::move(found.checkpoint));
  }
  std::vector<std::size_t> chain;  // of the last checkpoint, newest first
  for (std::optional<std::size_t> at = run.checkpoints.size() - 1; at; at = run.checkpoints[*at].parent)
    chain.push_back(*at);
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) add_variables(*states[*at], run.vars);
  sink.run(std::move(run));
}

/// Returns the workflow's folder below `checkpoints`; empty if the import starts below that.
std::string workflow_folder(const std::string& file) {
  const auto parts = path_parts(file);
  const auto mark = std::ranges::find(parts, "checkpoints");
  return mark == parts.end() || mark + 1 == parts.end() ? std::string() : std::string(*(mark + 1));
}

/// Returns whether a metadata.json is in the folder of the workflow.
bool is_metadata_of(const std::string& file, const std::string& workflow) {
  const auto parts = path_parts(file);
  return parts.size() < 2 || parts[parts.size() - 2] == workflow;
}

/// The checkpoints of one folder, by workflow and sequence.
using Workflows = std::map<std::string, std::map<std::uint64_t, OrchestrationCheckpoint>>;

Workflows read_folder(const SourceTree& tree, const std::vector<std::string>& files, const ImportSink& sink) {
  Workflows workflows;
  for (const std::string& file : files) {
    if (!is_sequence_file(file)) continue;
    auto found = read_orchestration_checkpoint(tree, file);
    if (!found) {
      sink.problem(problem_of(file, found.error()));
      continue;
    }
    auto& checkpoints = workflows[found->name.workflow];
    const std::uint64_t sequence = found->name.sequence;
    if (const auto earlier = checkpoints.find(sequence); earlier != checkpoints.end()) {
      sink.problem({Code::import_duplicate, file, std::to_string(sequence),
                    fmt::format("{} already has this sequence number", earlier->second.checkpoint.file)});
      continue;
    }
    checkpoints.emplace(sequence, std::move(*found));
  }
  return workflows;
}

}  // namespace

bool looks_like_orchestration(const SourceTree& tree) { return std::ranges::any_of(tree.files(), is_sequence_file); }

void parse_orchestration(const SourceTree& tree, const ImportSink& sink) {
  // Grouped by folder, so that only one workflow is in memory.
  std::map<std::string, std::vector<std::string>> folders;
  std::vector<std::string> indexes;
  for (const std::string& file : tree.files()) {
    const std::string name(path_parts(file).back());
    if (is_sequence_file(file) || name == "metadata.json") {
      folders[workflow_folder(file)].push_back(file);
    } else if (name == "index.json") {
      indexes.push_back(file);
    } else if (name != "latest.json" && name != "failures.json") {
      sink.note({file, "ignored: not part of this format"});
    } else if (const auto document = read_document(tree, file); !document) {
      sink.problem(problem_of(file, document.error()));
    }
  }
  std::set<std::string> known;
  for (const auto& [folder, files] : folders) {
    Workflows workflows = read_folder(tree, files, sink);
    for (auto& [workflow, checkpoints] : workflows) {
      for (const auto& [sequence, found] : checkpoints) known.insert(found.checkpoint.id);
      for (const std::string& file : files) {
        if (!is_sequence_file(file) && is_metadata_of(file, workflow)) add_metadata(tree, file, checkpoints, sink);
      }
      hand_over(workflow, checkpoints, sink);
    }
  }
  for (const std::string& index : indexes) check_index(tree, index, known, sink);
}

}  // namespace pawl
