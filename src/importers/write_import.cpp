#include "importers/write_import.hpp"

#include "base/hash.hpp"
#include "codec/json_check.hpp"
#include "domain/event_types.hpp"
#include "importers/adopt.hpp"
#include "importers/context_chain.hpp"
#include "importers/document.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::size_t kLabelBytesMax = 256;
constexpr std::uint64_t kMetadataBytesMax = 1ULL << 20;
constexpr std::uint64_t kEventBytesMax = 8ULL << 20;
constexpr std::uint64_t kEventsBytesMax = 32ULL << 20;
constexpr std::size_t kPage = 1000;
constexpr std::string_view kCallerPrefix = "import:";

bool is_label(std::string_view text) {
  if (text.size() > kLabelBytesMax) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return true;
}

/// A storage error ends the import; any other error refuses one item.
bool is_trouble(const Error& error) { return is_machine_failure(error.code); }

Json text_of(const Workflow& workflow) {
  return {{"name", workflow.name}, {"file", workflow.file}, {"hash", workflow.hash}, {"text", workflow.text}};
}

}  // namespace

ImportWriter::ImportWriter(Store* store, const ImportOptions& options, ImportReport& report)
    : store_(store), options_(options), report_(report) {}

ImportSink ImportWriter::sink() {
  return {.run =
              [this](ImportedRun run) {
                if (held_) {
                  several_ = true;
                  take(std::move(*std::exchange(held_, std::nullopt)), Alone::no);
                }
                held_ = std::move(run);
              },
          .problem = [this](ImportProblem problem) { report_.refused.push_back(std::move(problem)); },
          .note = [this](ImportNote note) { report_.notes.push_back(std::move(note)); }};
}

Result<void> ImportWriter::finish() {
  if (held_) take(std::move(*std::exchange(held_, std::nullopt)), several_ ? Alone::no : Alone::yes);
  if (trouble_) return std::unexpected(*trouble_);
  return {};
}

void ImportWriter::take(ImportedRun run, Alone alone) {
  if (trouble_) return;
  const std::string file = run.checkpoints.empty() ? std::string() : run.checkpoints.front().file;
  const std::string name = options_.run_id.empty() ? run.id
                           : alone == Alone::yes   ? options_.run_id
                                                   : options_.run_id + "-" + run.id;
  const auto id = RunId::parse(name);
  if (!id) return report_.refused.push_back(problem_of(file, id.error(), run.id));
  if (const auto [earlier, fresh] = ids_.emplace(name, run.id); !fresh) {
    return report_.refused.push_back(
        {Code::import_duplicate, file, run.id, "a run with this id was already imported from another place"});
  }
  const auto written = write(*id, run);
  if (written) return;
  if (is_trouble(written.error())) trouble_ = written.error();
  report_.refused.push_back(problem_of(file, written.error(), run.id));
}

std::string ImportWriter::caller_of(std::string_view id) const {
  std::string caller = fmt::format("{}{}:{}", kCallerPrefix, options_.format, id);
  if (is_label(caller)) return caller;
  return fmt::format("{}{}:sha256:{}", kCallerPrefix, options_.format, to_hex(sha256(id)));
}

std::string ImportWriter::metadata_of(const ImportedCheckpoint& checkpoint) const {
  Json imported = {{"source", options_.format},
                   {"id", checkpoint.id},
                   {"time", checkpoint.time},
                   {"checksum", checkpoint.checksum},
                   {"file", checkpoint.file}};
  for (const auto& [key, value] : checkpoint.more.items()) imported[key] = value;
  return compact({{"imported", imported}});
}

Result<void> ImportWriter::check(const ImportedCheckpoint& checkpoint, std::string_view state) const {
  for (const std::string* label : {&checkpoint.stage, &checkpoint.step}) {
    if (!is_label(*label))
      return fail(Code::invalid_label, "the name of a stage or step is too long or contains control characters");
  }
  PAWL_TRY(check_json(state, options_.state_bytes_max));
  if (metadata_of(checkpoint).size() > kMetadataBytesMax)
    return fail(Code::value_too_large, "its metadata has more than {} bytes", kMetadataBytesMax);
  std::uint64_t bytes = 0;
  for (const NewEvent& event : checkpoint.events) {
    if (event.type.empty() || !is_label(event.type)) return fail(Code::invalid_label, "an event has an invalid type");
    PAWL_TRY(check_json(event.data, kEventBytesMax));
    bytes += event.data.size();
  }
  if (bytes > kEventsBytesMax)
    return fail(Code::value_too_large, "its events have more than {} bytes", kEventsBytesMax);
  return {};
}

/// Returns what the store has of the run. Fails with run_exists if the run was not imported.
Result<ImportWriter::Known> ImportWriter::look(const RunId& id) const {
  Known known;
  if (store_ == nullptr) return known;
  const auto info = store_->run(id);
  if (!info && info.error().code == Code::run_not_found) return known;
  if (!info) return std::unexpected(info.error());
  known.exists = true;
  for (Sequence after{};;) {
    PAWL_TRY_ASSIGN(const auto page, store_->checkpoints(id, after, kPage));
    if (page.empty()) break;
    for (const CheckpointInfo& checkpoint : page) {
      if (checkpoint.caller_id.starts_with(kCallerPrefix)) known.imported[checkpoint.caller_id] = checkpoint;
      known.latest = checkpoint;
    }
    after = page.back().sequence;
  }
  for (;;) {
    PAWL_TRY_ASSIGN(const auto page, store_->events(id, known.events, kPage));
    if (page.empty()) break;
    known.events = page.back().number;
  }
  if (!known.imported.empty()) return known;
  return fail(Error{Code::run_exists,
                    fmt::format("run '{}' exists and was not imported", id.text()),
                    {},
                    "choose another id with --run-id",
                    0});
}

Result<void> ImportWriter::write(const RunId& id, ImportedRun& run) {
  PAWL_TRY_ASSIGN(Known known, look(id));
  TakenRun taken{.run = id.text(), .original = run.id};
  taken.latest = known.latest.sequence;
  const auto written = write_checkpoints(id, run, known, taken);
  // Checkpoints written before a failure stay.
  if (taken.written + taken.repeated > 0) report_.runs.push_back(std::move(taken));
  return written;
}

Result<void> ImportWriter::write_checkpoints(const RunId& id, ImportedRun& run, Known& known, TakenRun& taken) {
  const bool writes = options_.mode == ImportMode::write;
  std::unique_ptr<RunWriter> writer;
  // Opening a run creates it, so it is opened only when there is something to save.
  const auto open = [&]() -> Result<void> {
    if (!writes || writer) return {};
    RunOptions options{.durability = {},
                       .workflow = run.workflow,
                       .workflow_hash = {},
                       .session = is_label(run.session) ? run.session : std::string()};
    if (options_.workflow != nullptr) {
      options.workflow = options_.workflow->file;
      options.workflow_hash = options_.workflow->hash;
    }
    if (options.workflow.size() > 4096 || options.workflow.find_first_of("\n\r\t") != std::string::npos)
      options.workflow.clear();
    PAWL_TRY_ASSIGN(writer, store_->open_run(id, options));
    return {};
  };
  bool first = !known.exists;
  ContextChain contexts(run.checkpoints);
  for (std::size_t index = 0; index < run.checkpoints.size(); ++index) {
    ImportedCheckpoint& checkpoint = run.checkpoints[index];
    const std::string state = contexts.state_at(index);
    if (const auto checked = check(checkpoint, state); !checked) {
      report_.refused.push_back(problem_of(checkpoint.file, checked.error(), checkpoint.id));
      continue;
    }
    const std::string caller = caller_of(checkpoint.id);
    const std::string metadata = metadata_of(checkpoint);
    if (const auto there = known.imported.find(caller); there != known.imported.end()) {
      const Json was = Json::parse(there->second.metadata, nullptr, false);
      const Json* imported = find_member(was, "imported");
      const bool same = imported == nullptr || text_or_empty(*imported, "checksum") == checkpoint.checksum;
      if (same) ++taken.repeated;
      if (!same)
        report_.refused.push_back({Code::caller_id_reused, checkpoint.file, checkpoint.id,
                                   "it was imported before, and its content has changed since"});
      continue;
    }
    if (known.exists && !known.latest.caller_id.starts_with(kCallerPrefix)) {
      report_.refused.push_back({Code::run_diverged, checkpoint.file, checkpoint.id,
                                 fmt::format("run '{}' has continued since it was imported", id.text())});
      continue;
    }
    if (std::exchange(first, false) && options_.workflow != nullptr) {
      checkpoint.events.insert(checkpoint.events.begin(),
                               {event_type::kRunStarted,
                                compact({{"workflow", text_of(*options_.workflow)}, {"imported", options_.format}})});
    }
    PAWL_TRY(open());
    if (writes) {
      SaveRequest request{.body = state,
                          .kind = checkpoint.kind,
                          .status = checkpoint.status,
                          .reason = checkpoint.reason,
                          .caller_id = caller,
                          .stage = checkpoint.stage,
                          .step = checkpoint.step,
                          .metadata = metadata,
                          .duplicates = Duplicates::write,
                          .events = checkpoint.events};
      const auto saved = writer->save(request);
      if (!saved && is_trouble(saved.error())) return std::unexpected(saved.error());
      if (!saved) {
        report_.refused.push_back(problem_of(checkpoint.file, saved.error(), checkpoint.id));
        continue;
      }
      taken.latest = saved->sequence;
    }
    ++taken.written;
    taken.events += checkpoint.events.size();
    known.events += checkpoint.events.size();
  }
  if (options_.workflow == nullptr || taken.written + taken.repeated == 0) return {};
  const std::string caller = caller_of("workflow:" + options_.workflow->hash.substr(0, 23));
  if (known.imported.contains(caller)) {
    ++taken.repeated;
    taken.resumable = known.latest.status != Status::completed;  // it may have been resumed since
    return {};
  }
  if (known.exists && !known.latest.caller_id.starts_with(kCallerPrefix))
    return fail(Code::run_diverged, "run '{}' has continued since it was imported", id.text());
  PAWL_TRY(open());
  return adopt(writer.get(), run, known, taken);
}

Result<void> ImportWriter::adopt(RunWriter* writer, const ImportedRun& run, Known& known, TakenRun& taken) {
  PAWL_TRY_ASSIGN(const Adopted adopted, adopt_run(run, *options_.workflow, options_.working_dir, known.events));
  for (const std::string& note : adopted.notes) report_.notes.push_back({taken.run, note});
  const RunStatus status = adopted.state.status;
  Json state = adopted.state.to_json();
  state["events"] = known.events + adopted.events.size();
  const std::string body = compact(state);
  ++taken.written;
  taken.events += adopted.events.size();
  taken.resumable = status != RunStatus::completed;
  if (writer == nullptr) return {};
  SaveRequest request{.body = body,
                      .kind = Kind::interrupted,
                      .reason = Reason::manual,
                      .duplicates = Duplicates::write,
                      .events = adopted.events};
  request.caller_id = caller_of("workflow:" + options_.workflow->hash.substr(0, 23));
  request.metadata =
      compact({{"imported", {{"source", options_.format}, {"id", run.id}, {"workflow", options_.workflow->file}}}});
  if (status == RunStatus::completed) {
    request.kind = Kind::workflow_complete;
    request.status = Status::completed;
  } else if (status == RunStatus::failed) {
    request.kind = Kind::error;
    request.status = Status::failed;
  }
  PAWL_TRY_ASSIGN(const Saved saved, writer->save(request));
  taken.latest = saved.sequence;
  return {};
}

}  // namespace pawl
