#include "adapters/filesystem/run_writer.hpp"

#include <algorithm>

#include "adapters/filesystem/layout.hpp"
#include "domain/json_text.hpp"
#include "domain/save_rules.hpp"

namespace pawl {
namespace {

std::string fingerprint_of(const SaveRequest& request) {
  return request.caller_id.empty() ? std::string() : fmt::format("{:016x}", body_fingerprint(request));
}

/// At least this much, encoded.
std::uint64_t size_of(const std::vector<Splice>& splices) {
  std::uint64_t size = 2;
  for (const Splice& splice : splices) size += splice.inserted.size() + 8;
  return size;
}

std::string random_salt(Random& random) {
  std::string salt;
  for (int i = 0; i < 2; ++i) salt += fmt::format("{:016x}", random.next());
  return salt;
}

}  // namespace

FilesystemRunWriter::FilesystemRunWriter(FilesystemStore& store, RunId run, std::unique_ptr<File> lock, RunHead head,
                                         Known known)
    : store_(store),
      run_(std::move(run)),
      epoch_(store.committer_->epoch()),
      lock_(std::move(lock)),
      exists_(known == Known::yes),
      head_(std::move(head)) {}

namespace {

RunHead first_head(const RunId& run, const RunOptions& options, const Environment& environment) {
  RunHead head;
  RunRecord& record = head.run;
  record.run = run.text();
  record.uuid = make_uuid(*environment.random);
  record.created = environment.clock->now();
  record.durability = options.durability.value_or(Durability::sync);
  record.workflow = options.workflow;
  record.workflow_hash = options.workflow_hash;
  record.session = options.session;
  record.salt = random_salt(*environment.random);
  head.audit_hash = first_previous_hash();
  return head;
}

}  // namespace

Result<std::unique_ptr<RunWriter>> FilesystemRunWriter::make(FilesystemStore& store, const RunId& run, const RunOptions& options,
                                                             std::unique_ptr<File> lock, std::optional<RunHead> head) {
  if (head && options.durability && *options.durability != head->run.durability) {
    return fail(Error{Code::durability_fixed,
                      fmt::format("run '{}' was created with durability '{}', not '{}'", run.text(),
                                  to_text(head->run.durability), to_text(*options.durability)), {},
                      "leave out --durability, or use another run", 0});
  }
  const Known known = head ? Known::yes : Known::no;
  if (!head) head = first_head(run, options, store.environment_);
  return std::unique_ptr<RunWriter>(new FilesystemRunWriter(store, run, std::move(lock), std::move(*head), known));
}

FilesystemRunWriter::~FilesystemRunWriter() {
  bool lazy = false;
  {
    const Lock guard(mutex_);
    lazy = exists_ && head_.run.durability != Durability::sync;
  }
  if (lazy) static_cast<void>(store_.committer_->flush());
}

RunInfo FilesystemRunWriter::info() const {
  const Lock guard(mutex_);
  const RunRecord& run = head_.run;
  return RunInfo{.id = run_, .uuid = run.uuid, .created = run.created, .updated = head_.latest.created,
                 .latest = head_.latest.sequence, .status = head_.latest.status, .kind = head_.latest.kind,
                 .durability = run.durability, .workflow = run.workflow, .workflow_hash = run.workflow_hash,
                 .session = run.session, .fork_of_run = run.fork_of_run, .fork_of_sequence = run.fork_of_sequence};
}

std::optional<Appended> FilesystemRunWriter::appended(std::string_view body) const {
  const Lock guard(mutex_);
  return exists_ ? appended_elements(head_.state, body) : std::nullopt;
}

Result<void> FilesystemRunWriter::flush() { return store_.committer_->flush(); }

Result<std::optional<FilesystemRunWriter::Earlier>> FilesystemRunWriter::find_earlier(const std::string& caller_id) {
  if (caller_id.empty() || !exists_) return std::optional<Earlier>();
  if (const auto found = earlier_.find(caller_id); found != earlier_.end()) return std::optional(found->second);
  PAWL_TRY_ASSIGN(const auto found, store_.find_save(run_.text(), caller_id));
  if (!found) return std::optional<Earlier>();
  Earlier earlier;
  earlier.info.sequence = found->sequence;
  earlier.info.id = found->id;
  earlier.info.checksum = found->checksum;
  earlier.info.kind = found->kind;
  earlier.info.caller_id = caller_id;
  earlier.fingerprint = found->fingerprint;
  return std::optional(std::move(earlier));
}

Result<Saved> FilesystemRunWriter::save(const SaveRequest& request) {
  Lock lock(mutex_);
  PAWL_TRY_ASSIGN(const auto earlier, find_earlier(request.caller_id));
  const SaveFacts facts{.run = run_, .head = exists_ ? &head_.latest : nullptr, .head_state = head_.state,
                        .earlier = earlier ? &earlier->info : nullptr,
                        .earlier_has_same_body = earlier && earlier->fingerprint == fingerprint_of(request)};
  PAWL_TRY_ASSIGN(const SaveDecision decision, decide_save(request, facts));
  if (const auto* saved = std::get_if<Saved>(&decision)) {
    lock.unlock();
    return answer(*saved);
  }
  const std::string_view state = state_to_write(request, std::get<WriteState>(decision));
  PAWL_TRY_ASSIGN(const Draft draft, draft_checkpoint(request, state));
  std::uint32_t count = 0;
  std::string body = encode_records(request, draft, count);
  Saved saved{draft.info.sequence, draft.info.id, draft.info.checksum, Saved::Outcome::written};
  advance(request, state, draft);
  return hand_over(std::move(saved), std::move(body), count, lock);
}

/// An answer says that the earlier save is durable: it may still be on its way.
Result<Saved> FilesystemRunWriter::answer(const Saved& saved) {
  PAWL_TRY(store_.committer_->flush());
  return saved;
}

Result<Saved> FilesystemRunWriter::hand_over(Saved saved, std::string body, std::uint32_t count, Lock& lock) {
  if (head_.run.durability == Durability::sync) {
    Commit commit;
    commit.body = std::move(body);
    commit.record_count = count;
    commit.epoch = epoch_;
    // Under the run's mutex, so that saves reach the journal in the order of their numbers.
    store_.committer_->submit(commit);
    lock.unlock();
    if (auto committed = store_.committer_->wait(commit); !committed) {
      lock.lock();
      if (committed.error().code == Code::outcome_unknown && lock_) store_.keep_lock(std::move(lock_));
      return std::unexpected(committed.error());
    }
    return saved;
  }
  auto commit = std::make_unique<Commit>();
  commit->body = std::move(body);
  commit->record_count = count;
  commit->epoch = epoch_;
  const std::int64_t window_us = head_.run.durability == Durability::async ? store_.options_.async_window_us : 0;
  PAWL_TRY(store_.committer_->enqueue(std::move(commit), window_us));
  return saved;
}

Result<FilesystemRunWriter::Draft> FilesystemRunWriter::draft_checkpoint(const SaveRequest& request, std::string_view state) {
  Draft draft;
  CheckpointInfo& info = draft.info;
  info.sequence = head_.latest.sequence.next();
  info.parent = head_.latest.sequence;
  info.id = make_uuid(*store_.environment_.random);
  info.created = next_timestamp(exists_ ? head_.latest.created : head_.run.created, store_.environment_.clock->now());
  info.kind = request.kind;
  info.status = request.status;
  info.reason = request.reason;
  info.name = request.name;
  info.caller_id = request.caller_id;
  info.stage = request.stage;
  info.step = request.step;
  info.metadata = one_line(request.metadata);
  info.state_bytes = state.size();

  std::string payload;
  Payload kind = Payload::state;
  const FilesystemOptions& options = store_.options_;
  const std::uint64_t room = std::max<std::uint64_t>(state.size(), options.differences_floor_bytes);
  if (exists_ && head_.differences < options.differences_max) {
    const std::vector<Splice> splices = diff_text(head_.state, state);
    const bool pays = size_of(splices) < state.size();
    if (pays) payload = encode_splices(splices);
    kind = Payload::diff;
    if (!pays || payload.size() >= state.size()) {
      const bool one_line = state.find('\n') == std::string_view::npos && state.find('\r') == std::string_view::npos;
      kind = one_line ? Payload::state : Payload::text;
      payload = one_line ? std::string(state) : escape_json(state);
    }
  }
  draft.own_file = !exists_ || head_.differences >= options.differences_max || head_.differences_bytes + payload.size() > room;
  if (draft.own_file) {
    kind = Payload::state;
    payload = state;
  }
  if (payload.size() > options.inline_bytes_max) {
    std::string name;
    PAWL_TRY(store_blob(kind == Payload::diff ? std::string_view(payload) : state, name));
    kind = kind == Payload::diff ? Payload::diff_blob : Payload::state_blob;
    payload = escape_json(name);
  }
  std::string sum;
  draft.text = encode_checkpoint({&info, fingerprint_of(request), kind, payload}, draft.own_file ? Shape::file : Shape::line,
                                 {head_.run.salt, seal_seed(head_.run.uuid)}, sum);
  info.checksum = "sha256:" + sum;
  info.stored_bytes = draft.text.size();
  info.whole = kind != Payload::diff && kind != Payload::diff_blob;
  return draft;
}

/// Large payloads are files named by their content, so equal ones are stored once. The file and its name
/// are durable before the record that refers to it is written.
Result<void> FilesystemRunWriter::store_blob(std::string_view payload, std::string& name) {
  FileSystem& files = store_.files_;
  name = to_hex(sha256(head_.run.salt, payload));
  const std::string path = layout::blob(run_.text(), name);
  PAWL_TRY(files.make_folder(layout::blobs(run_.text())));
  PAWL_TRY_ASSIGN(const bool exists, files.exists(path));
  if (!exists) {
    const std::string temporary = path + ".tmp";
    PAWL_TRY_ASSIGN(const auto file, files.open(temporary, OpenMode::create_empty));
    PAWL_TRY(file->write_at(0, payload));
    PAWL_TRY(file->sync(SyncPoint::blob));
    PAWL_TRY(files.rename(temporary, path));
  }
  PAWL_TRY(files.sync_folder(layout::blobs(run_.text()), SyncPoint::blob_name));
  if (blob_folder_synced_) return {};
  PAWL_TRY(files.sync_folder(layout::run(run_.text()), SyncPoint::blob_folder_name));
  PAWL_TRY(files.sync_folder(layout::kRuns, SyncPoint::blob_folder_name));
  PAWL_TRY(files.sync_folder("", SyncPoint::blob_folder_name));
  blob_folder_synced_ = true;
  return {};
}

std::string FilesystemRunWriter::encode_records(const SaveRequest& request, const Draft& draft, std::uint32_t& count) {
  std::string body;
  body.reserve(draft.text.size() + 1024);
  JournalRecord record;
  record.run = run_.text();
  record.run_uuid = head_.run.uuid;
  record.sequence = draft.info.sequence;
  record.parent = draft.info.parent;
  if (!exists_) {
    const std::string run_text = encode_run(head_.run);
    record.type = RecordType::run;
    record.text = run_text;
    append_record(body, record);
    ++count;
  }
  record.type = RecordType::checkpoint;
  record.flags = draft.own_file ? RecordFlags::own_file : RecordFlags::none;
  record.number = draft.own_file ? draft.info.sequence.value : head_.base.value;
  record.text = draft.text;
  append_record(body, record);
  ++count;
  record.flags = RecordFlags::none;
  record.type = RecordType::event;
  for (const NewEvent& event : request.events) {
    record.number = head_.event_number + (count - (exists_ ? 0U : 1U));
    const std::string line = encode_event({record.number, draft.info.sequence, draft.info.created, event.type, event.data},
                                          seal_seed(head_.run.uuid));
    record.text = line;
    append_record(body, record);
    ++count;
  }
  AuditEntry entry{head_.audit_index + 1, draft.info.created, "checkpoint_saved", draft.info.sequence, draft.info.checksum,
                   head_.audit_hash, {}};
  const std::string line = encode_audit(entry);
  record.type = RecordType::audit;
  record.number = entry.index;
  record.text = line;
  append_record(body, record);
  ++count;
  head_.audit_index = entry.index;
  head_.audit_hash = entry.hash;
  return body;
}

/// From here on the run's head is this save, though it is not durable yet: later saves build on it, and if
/// it fails, the committer's epoch makes all of them fail.
void FilesystemRunWriter::advance(const SaveRequest& request, std::string_view state, const Draft& draft) {
  head_.event_number += request.events.size();
  if (draft.own_file) {
    head_.base = draft.info.sequence;
    head_.differences = 0;
    head_.differences_bytes = 0;
  } else {
    ++head_.differences;
    head_.differences_bytes += draft.text.size();
  }
  head_.latest = draft.info;
  head_.state.assign(state);
  exists_ = true;
  if (!request.caller_id.empty()) earlier_[request.caller_id] = {draft.info, fingerprint_of(request)};
  store_.mark_dirty(run_.text());
}

}  // namespace pawl
