// Format `jerry`: checkpoints/{workflow}/checkpoint_NNN.json and manifest.json, events/{workflow}/events_DAY.jsonl
// and audit/{session}/audit_trail.jsonl.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "codec/base64.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "importers/document.hpp"
#include "importers/formats.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kLineBytesMax = 8ULL << 20;

/// Returns the number in `checkpoint_NNN.json`, 0 if it is invalid, and nothing for other files.
std::optional<std::uint64_t> number_in_name(std::string_view path) {
  const auto parts = path_parts(without_gz(path));
  if (parts.empty()) return std::nullopt;
  std::string_view name = parts.back();
  if (!name.starts_with("checkpoint_") || !name.ends_with(".json")) return std::nullopt;
  name = name.substr(11, name.size() - 16);
  if (name.empty() || name.front() < '0' || name.front() > '9') return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && end == name.data() + name.size() ? number : 0;
}

/// Returns the folder of a file; empty at the top.
std::string folder_name(std::string_view path) {
  const auto parts = path_parts(path);
  return parts.size() < 2 ? std::string() : std::string(parts[parts.size() - 2]);
}

std::string file_name(std::string_view path) {
  const auto parts = path_parts(path);
  return parts.empty() ? std::string() : std::string(parts.back());
}

struct JerryCheckpoint {
  std::uint64_t sequence = 0;
  std::string claimed;  // its checksum
  std::string previous_claimed;
  std::uint64_t previous = 0;
  std::string session;
  Json state;
  ImportedCheckpoint checkpoint;
};

/// Returns the text of the state: as written, or decoded from base64 and gzip.
Result<std::string> state_text(const SourceTree& tree, const Document& document, const Json& header) {
  const Json* state = find_member(document.json, "state");
  if (state == nullptr) return fail(Code::import_invalid, "member 'state' is missing");
  if (state->is_object()) return std::string(raw_member(document.text, "state"));
  const auto packed = state->is_string() ? from_base64(state->get<std::string>()) : std::nullopt;
  if (!packed || text_or_empty(header, "compression") != "gzip")
    return fail(Code::import_invalid, "member 'state' is not an object");
  PAWL_TRY_ASSIGN(std::string text, tree.unpacked(*packed));
  PAWL_TRY(check_json(text, tree.limits().file_bytes_max));
  if (json_type(trim_json(text)) != JsonType::object)
    return fail(Code::import_invalid, "member 'state' is not an object");
  return text;
}

Result<void> check_sum(const JerryCheckpoint& found, const Document& document, const std::string& state) {
  std::vector<std::string> covered = hashed_forms(state, found.state);
  // Or it covers the whole document, without the checksum itself.
  Json blanked = document.json;
  Json& id = blanked["header"]["checkpoint_id"];
  id.erase("checksum");
  for (std::string& form : hashed_forms({}, blanked)) covered.push_back(std::move(form));
  id["checksum"] = "";
  for (std::string& form : hashed_forms({}, blanked)) covered.push_back(std::move(form));
  if (check_claim(found.claimed, covered) == Claim::differs) {
    return fail(Code::checksum_mismatch, "checksum {} matches neither the state nor the whole document", found.claimed);
  }
  return {};
}

void fill(JerryCheckpoint& found, const Json& header, const Json& json) {
  ImportedCheckpoint& checkpoint = found.checkpoint;
  const std::string status = text_or_empty(found.state, "status");
  checkpoint.status = status == "COMPLETED" ? Status::completed : status == "FAILED" ? Status::failed : Status::active;
  checkpoint.kind = status == "COMPLETED" ? Kind::workflow_complete : status == "FAILED" ? Kind::error : Kind::manual;
  checkpoint.more["version"] = text_or_empty(header, "version");
  checkpoint.more["claimed_checksum"] = found.claimed;
  if (const Json* by = find_member(header, "created_by")) checkpoint.more["created_by"] = *by;
  if (const Json* footer = find_member(json, "footer")) checkpoint.more["footer"] = *footer;
}

Result<JerryCheckpoint> read_jerry_checkpoint(const SourceTree& tree, const std::string& file, std::uint64_t number) {
  PAWL_TRY_ASSIGN(const Document document, read_document(tree, file));
  PAWL_TRY_ASSIGN(const Json* header, need_object(document.json, "header"));
  PAWL_TRY_ASSIGN(const std::string version, need_text(*header, "version"));
  PAWL_TRY(check_version(version, 1));
  PAWL_TRY_ASSIGN(const Json* id, need_object(*header, "checkpoint_id"));
  PAWL_TRY_ASSIGN(const std::string workflow, need_text(*id, "workflow_id"));
  PAWL_TRY(check_run_name(workflow));
  if (const std::string folder = folder_name(file); !folder.empty() && folder != workflow) {
    return fail(Code::import_invalid, "found in the folder of '{}', but belongs to '{}'", folder, workflow);
  }
  JerryCheckpoint found;
  PAWL_TRY_ASSIGN(found.sequence, need_number(*id, "sequence"));
  if (found.sequence != number)
    return fail(Code::import_invalid, "the file name and its sequence {} differ", found.sequence);
  found.claimed = text_or_empty(*id, "checksum");
  PAWL_TRY_ASSIGN(std::string state, state_text(tree, document, *header));
  found.state = Json::parse(state, nullptr, false);
  PAWL_TRY(check_sum(found, document, state));
  if (const Json* by = find_member(*header, "created_by")) found.session = text_or_empty(*by, "session_id");
  if (found.session.empty()) found.session = text_or_empty(found.state, "session_id");
  if (const Json* footer = find_member(document.json, "footer")) {
    if (const Json* previous = find_member(*footer, "prev_checkpoint")) {
      found.previous = number_or(*previous, "sequence", 0);
      found.previous_claimed = text_or_empty(*previous, "checksum");
    }
  }
  found.checkpoint.id = fmt::format("{}/{}", workflow, found.sequence);
  found.checkpoint.time = text_or_empty(*id, "timestamp");
  found.checkpoint.file = file;
  found.checkpoint.checksum = document.sum;
  found.checkpoint.state = std::move(state);
  fill(found, *header, document.json);
  return found;
}

/// Returns checksums by file name. The manifest has them as a list of entries, or as an object by name.
std::map<std::string, std::string> manifest_sums(const Json& json) {
  std::map<std::string, std::string> sums;
  const Json* list = find_member(json, "checkpoints");
  if (list == nullptr) return sums;
  for (const auto& [key, entry] : list->items()) {
    std::string file = text_or_empty(entry, "file");
    if (file.empty() && number_or(entry, "sequence", 0) > 0)
      file = fmt::format("checkpoint_{:03}.json", number_or(entry, "sequence", 0));
    if (file.empty()) file = key;
    sums[file_name(file)] = entry.is_string() ? entry.get<std::string>() : text_or_empty(entry, "checksum");
  }
  return sums;
}

/// Calls `use` for each line that is a JSON object, and reports the others as problems.
template <class Use>
void each_line(const SourceTree& tree, const std::string& file, const ImportSink& sink, Use use) {
  auto raw = tree.read(file);
  auto text = raw ? tree.unpacked(std::move(*raw)) : std::move(raw);
  if (!text) return sink.problem(problem_of(file, text.error()));
  std::string_view rest = *text;
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string item = fmt::format("line {}", number);
    if (const auto checked = check_json(line, kLineBytesMax); !checked) {
      sink.problem(problem_of(file, checked.error(), item));
      continue;
    }
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) {
      sink.problem({Code::import_invalid, file, item, "the line is not a JSON object"});
      continue;
    }
    use(line, json, item);
  }
}

struct FoundEvent {
  std::string type;
  std::string data;
  std::uint64_t checkpoint = 0;  // of the checkpoint that this event reports; 0: another event
};
using Events = std::map<std::uint64_t, FoundEvent>;

void read_events(const SourceTree& tree, const std::string& file, const std::string& workflow, Events& events,
                 const ImportSink& sink) {
  each_line(tree, file, sink, [&](std::string_view line, const Json& json, const std::string& item) {
    const auto number = need_number(json, "seq");
    const auto type = need_text(json, "type");
    if (!number || !type) return sink.problem(problem_of(file, number ? type.error() : number.error(), item));
    if (const std::string of = text_or_empty(json, "wf"); !of.empty() && of != workflow) {
      return sink.problem(
          {Code::import_invalid, file, item, fmt::format("belongs to '{}', but found with '{}'", of, workflow)});
    }
    if (events.contains(*number))
      return sink.problem({Code::import_duplicate, file, item, fmt::format("event {} occurs twice", *number)});
    events[*number] = {*type, std::string(trim_json(line)),
                       *type == "CHECKPOINT_CREATED" ? number_or(json, "cp_seq", 0) : 0};
  });
}

struct Trail {
  std::vector<NewEvent> entries;
  std::string file;
};

/// Reads the chain: each entry contains the hash of the previous one. A hash that can be recomputed must match.
Trail read_trail(const SourceTree& tree, const std::string& file, const std::string& session, const ImportSink& sink) {
  Trail trail{.entries = {}, .file = file};
  std::string last = "GENESIS";
  std::set<std::string> ids;
  each_line(tree, file, sink, [&](std::string_view line, const Json& json, const std::string& item) {
    const std::string previous = text_or_empty(json, "prev_hash");
    const std::string hash = text_or_empty(json, "hash");
    const std::string expected = std::exchange(last, hash);
    if (hash.empty() || previous.empty())
      return sink.problem({Code::import_invalid, file, item, "its hash or the hash of the previous entry is missing"});
    if (previous != expected)
      return sink.problem({Code::chain_broken, file, item,
                           "it does not follow the previous entry: an entry was changed, removed or moved"});
    if (const std::string of = text_or_empty(json, "session"); of != session) {
      return sink.problem(
          {Code::import_invalid, file, item, fmt::format("belongs to session '{}', but found with '{}'", of, session)});
    }
    if (!ids.insert(text_or_empty(json, "id")).second)
      return sink.problem({Code::import_duplicate, file, item, "its id occurs twice"});
    Json bare = json;
    bare.erase("hash");
    std::vector<std::string> covered = hashed_forms(line.substr(0, line.find(",\"hash\"")), bare);
    const std::size_t plain = covered.size();
    for (std::size_t i = 0; i < plain; ++i) covered.push_back(previous + covered[i]);
    bare.erase("prev_hash");
    for (const std::string& form : hashed_forms({}, bare)) covered.push_back(previous + form);
    if (check_claim(hash, covered) == Claim::differs)
      return sink.problem({Code::checksum_mismatch, file, item, "its hash does not match its content"});
    trail.entries.push_back({event_type::kImportedAudit, std::string(trim_json(line))});
  });
  return trail;
}

struct WorkflowFiles {
  std::vector<std::string> checkpoints;
  std::vector<std::string> events;
  std::string manifest;
};

void check_manifest(const SourceTree& tree, const std::string& file, const std::string& folder,
                    const std::vector<std::string>& files, std::map<std::string, std::string>& sums,
                    const ImportSink& sink) {
  const auto document = read_document(tree, file);
  if (!document) return sink.problem(problem_of(file, document.error()));
  sums = manifest_sums(document->json);
  for (const auto& [name, sum] : sums) {
    const bool there =
        std::ranges::any_of(files, [&](const std::string& path) { return without_gz(file_name(path)) == name; });
    if (!there)
      sink.problem({Code::checkpoint_not_found, file, name,
                    fmt::format("the manifest of '{}' lists a checkpoint whose file is missing", folder)});
  }
}

std::map<std::uint64_t, JerryCheckpoint> read_checkpoints(const SourceTree& tree, const std::string& workflow,
                                                          const WorkflowFiles& files, const ImportSink& sink) {
  std::map<std::string, std::string> sums;
  if (!files.manifest.empty()) check_manifest(tree, files.manifest, workflow, files.checkpoints, sums, sink);
  std::map<std::uint64_t, JerryCheckpoint> found;
  for (const std::string& file : files.checkpoints) {
    auto one = read_jerry_checkpoint(tree, file, number_in_name(file).value_or(0));
    if (!one) {
      sink.problem(problem_of(file, one.error()));
      continue;
    }
    const std::string& listed = sums[std::string(without_gz(file_name(file)))];
    const auto raw = tree.read(file);
    const std::vector<std::string> covered{raw ? *raw : std::string(), one->checkpoint.state};
    if (check_claim(listed, covered) == Claim::differs && listed != one->claimed) {
      sink.problem({Code::checksum_mismatch, file, {}, fmt::format("the manifest has another checksum: {}", listed)});
    } else if (found.contains(one->sequence)) {
      sink.problem({Code::import_duplicate, file, std::to_string(one->sequence), "the sequence number occurs twice"});
    } else {
      found.emplace(one->sequence, std::move(*one));
    }
  }
  return found;
}

/// If the previous checkpoint is present, its checksum must be the one that this checkpoint names.
void drop_broken_links(std::map<std::uint64_t, JerryCheckpoint>& found, const ImportSink& sink) {
  for (auto entry = found.begin(); entry != found.end();) {
    const auto previous = found.find(entry->second.previous);
    const bool fits = previous == found.end() || entry->second.previous_claimed.empty() ||
                      previous->second.claimed.empty() || previous->second.claimed == entry->second.previous_claimed;
    if (fits && (entry->second.previous == 0 || entry->second.previous < entry->first)) {
      ++entry;
      continue;
    }
    sink.problem({Code::chain_broken,
                  entry->second.checkpoint.file,
                  {},
                  fmt::format("its previous checkpoint {} is not the one found here", entry->second.previous)});
    entry = found.erase(entry);
  }
}

/// Assigns each event to the next checkpoint. Events after the last one get a checkpoint of their own.
void place_events(const Events& events, std::map<std::uint64_t, JerryCheckpoint>& found, ImportedRun& run) {
  std::vector<NewEvent> waiting;
  auto next = found.begin();
  for (const auto& [number, event] : events) {
    waiting.push_back({event.type, event.data});
    if (event.checkpoint == 0 || next == found.end() || event.checkpoint < next->first) continue;
    while (next != found.end() && next->first < event.checkpoint) ++next;
    if (next == found.end() || next->first != event.checkpoint) continue;
    next->second.checkpoint.events = std::exchange(waiting, {});
    ++next;
  }
  for (auto& [sequence, one] : found) run.checkpoints.push_back(std::move(one.checkpoint));
  if (waiting.empty()) return;
  ImportedCheckpoint last;
  if (!run.checkpoints.empty()) {
    last = run.checkpoints.back();
    last.events.clear();
  } else {
    last.state = "{}";
  }
  last.id = fmt::format("{}/events-{}", run.id, events.rbegin()->first);
  last.more["events_after_last_checkpoint"] = waiting.size();
  last.events = std::move(waiting);
  run.checkpoints.push_back(std::move(last));
}

/// Steps are counted from 1; the current one is not completed.
void collect_jerry_steps(const Json& state, ImportedRun& run) {
  const std::uint64_t total = number_or(state, "total_steps", 0);
  const std::uint64_t current = number_or(state, "current_step", 0);
  run.completed = text_or_empty(state, "status") == "COMPLETED";
  const std::uint64_t done = run.completed ? total : current == 0 ? 0 : current - 1;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(done, 100'000); ++i)
    run.steps.push_back({.index = i, .output = {}});
  if (const Json* metadata = find_member(state, "metadata"); metadata != nullptr && metadata->is_object())
    run.vars = *metadata;
  if (text_or_empty(state, "status") == "FAILED") run.error = "failed";
}

struct Parsed {
  std::map<std::string, WorkflowFiles> workflows;
  std::map<std::string, std::string> trails;  // by session
  std::map<std::string, std::string> roots;
};

Parsed sort_files(const SourceTree& tree, const ImportSink& sink) {
  Parsed parsed;
  for (const std::string& file : tree.files()) {
    const std::string name(without_gz(file_name(file)));
    const std::string folder = folder_name(file);
    if (number_in_name(file)) {
      parsed.workflows[folder].checkpoints.push_back(file);
    } else if (name == "manifest.json") {
      parsed.workflows[folder].manifest = file;
    } else if (name.starts_with("events_") && name.ends_with(".jsonl")) {
      parsed.workflows[folder].events.push_back(file);
    } else if (name == "audit_trail.jsonl") {
      parsed.trails[folder] = file;
    } else if (name == "merkle_roots.json") {
      parsed.roots[folder] = file;
    } else {
      sink.note({file, "ignored: not part of this format"});
    }
  }
  return parsed;
}

/// Adds the audit trail of a session to the first run of that session.
void add_trail(Trail trail, const SourceTree& tree, const std::string& roots, ImportedRun& run,
               const ImportSink& sink) {
  if (!roots.empty()) {
    const auto document = read_document(tree, roots);
    if (document) trail.entries.push_back({event_type::kImportedMerkleRoots, compact(document->json)});
    if (!document) sink.problem(problem_of(roots, document.error()));
  }
  if (trail.entries.empty()) return;
  ImportedCheckpoint last;
  last.state = run.checkpoints.empty() ? compact({{"session", run.session}}) : run.checkpoints.back().state;
  if (!run.checkpoints.empty()) {
    last.kind = run.checkpoints.back().kind;
    last.status = run.checkpoints.back().status;
  }
  last.id = fmt::format("{}/audit-{}", run.id, trail.entries.size());
  last.file = trail.file;
  last.more["audit_entries"] = trail.entries.size();
  last.events = std::move(trail.entries);
  run.checkpoints.push_back(std::move(last));
}

}  // namespace

bool looks_like_jerry(const SourceTree& tree) {
  return std::ranges::any_of(tree.files(), [](const std::string& file) {
    return number_in_name(file).has_value() || file_name(file) == "audit_trail.jsonl";
  });
}

void parse_jerry(const SourceTree& tree, const ImportSink& sink) {
  Parsed parsed = sort_files(tree, sink);
  std::map<std::string, Trail> trails;
  for (const auto& [session, file] : parsed.trails) trails[session] = read_trail(tree, file, session, sink);
  for (const auto& [workflow, files] : parsed.workflows) {
    auto found = read_checkpoints(tree, workflow, files, sink);
    drop_broken_links(found, sink);
    Events events;
    for (const std::string& file : files.events) read_events(tree, file, workflow, events, sink);
    if (found.empty() && events.empty()) continue;
    ImportedRun run;
    run.id = workflow.empty() && !found.empty()
                 ? found.begin()->second.checkpoint.id.substr(0, found.begin()->second.checkpoint.id.rfind('/'))
                 : workflow;
    if (!found.empty()) {
      run.session = found.rbegin()->second.session;
      collect_jerry_steps(found.rbegin()->second.state, run);
    }
    place_events(events, found, run);
    if (const auto trail = trails.find(run.session); trail != trails.end()) {
      add_trail(std::move(trail->second), tree, parsed.roots[run.session], run, sink);
      trails.erase(trail);
    }
    sink.run(std::move(run));
  }
  for (auto& [session, trail] : trails) {
    ImportedRun run;
    run.id = session;
    run.session = session;
    add_trail(std::move(trail), tree, parsed.roots[session], run, sink);
    if (!run.checkpoints.empty()) sink.run(std::move(run));
  }
}

}  // namespace pawl
