#include "adapters/filesystem/run_writer.hpp"

#include <algorithm>
#include <span>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/run_log_cipher.hpp"
#include "adapters/filesystem/whole_file.hpp"
#include "codec/base64.hpp"
#include "domain/audited_events.hpp"
#include "domain/event_types.hpp"
#include "domain/save_rules.hpp"
#include "domain/sequence_limit.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kBlobWaitUs = 5'000'000;
constexpr std::int64_t kBlobStepUs = 200;

/// Returns the minimum encoded size.
std::uint64_t size_of(std::span<const Splice> splices) {
  std::uint64_t size = 2;
  for (const Splice& splice : splices) size += splice.inserted.size() + 8;
  return size;
}

/// Two searches for a character are much faster than one for either (docs/benchmarks.md).
bool has_line_break(std::string_view text) {
  return text.find('\n') != std::string_view::npos || text.find('\r') != std::string_view::npos;
}

std::string random_salt(Random& random) {
  std::string salt;
  for (int i = 0; i < 2; ++i) salt += fmt::format("{:016x}", random.next());
  return salt;
}

}  // namespace

FilesystemRunWriter::FilesystemRunWriter(FilesystemStore& store, RunId run, std::unique_ptr<File> lock, RunHead head,
                                         RunCodec codec, Known known)
    : store_(store),
      run_(std::move(run)),
      epoch_(store.committer_->epoch()),
      lock_(std::move(lock)),
      exists_(known != Known::no),
      recorded_(known == Known::yes),
      key_made_(known == Known::yes || !head.run.encrypted),
      head_(std::move(head)),
      codec_(std::move(codec)) {}

/// The key of a run is durable before anything that is encrypted with it.
Result<void> FilesystemRunWriter::ensure_key() {
  if (key_made_) return {};
  PAWL_TRY(store_.keys_.make_run_key(run_.text(), head_.run.uuid, *store_.environment_.random));
  key_made_ = true;
  return {};
}

/// Durable before the first save after the damage.
Result<void> FilesystemRunWriter::set_damage_aside() {
  if (!head_.to_set_aside) return {};
  PAWL_TRY_ASSIGN(head_.aside_sum,
                  add_aside(store_.files_, run_.text(), *head_.to_set_aside, seal_seed(head_.run.uuid)));
  head_.to_set_aside.reset();
  return {};
}

Result<std::string> FilesystemRunWriter::fingerprint_of(const SaveRequest& request, std::uint64_t body) {
  if (request.caller_id.empty()) return std::string();
  PAWL_TRY_ASSIGN(const std::uint64_t fingerprint, codec_.fingerprint(body));
  return fmt::format("{:016x}", fingerprint);
}

namespace {

RunHead first_head(const RunId& run, const RunOptions& options, Durability durability, const Environment& environment) {
  RunHead head;
  RunRecord& record = head.run;
  record.run = run.text();
  record.uuid = make_uuid(*environment.random);
  record.created = environment.clock->now();
  record.durability = options.durability.value_or(durability);
  record.workflow = options.workflow;
  record.workflow_hash = options.workflow_hash;
  record.session = options.session;
  record.salt = random_salt(*environment.random);
  head.audit_hash = first_previous_hash();
  return head;
}

}  // namespace

Result<std::unique_ptr<RunWriter>> FilesystemRunWriter::make(FilesystemStore& store, const RunId& run,
                                                             const RunOptions& options, std::unique_ptr<File> lock,
                                                             std::optional<RunHead> head) {
  if (head && options.durability && *options.durability != head->run.durability) {
    return fail(Error{Code::durability_fixed,
                      fmt::format("run '{}' was created with durability '{}', not '{}'", run.text(),
                                  to_text(head->run.durability), to_text(*options.durability)),
                      {},
                      "leave out --durability, or use another run",
                      0});
  }
  const Known known = head ? Known::yes : Known::no;
  if (!head) {
    head = first_head(run, options, store.options_.durability, store.environment_);
    head->run.encrypted = store.keys_.encrypted();
  }
  PAWL_TRY_ASSIGN(RunCodec codec, store.keys_.codec(run.text(), head->run));
  return std::unique_ptr<RunWriter>(
      new FilesystemRunWriter(store, run, std::move(lock), std::move(*head), std::move(codec), known));
}

Result<std::unique_ptr<RunWriter>> FilesystemRunWriter::make_fork(FilesystemStore& store, const RunId& run,
                                                                  const RunOptions& options, std::unique_ptr<File> lock,
                                                                  RunHead head) {
  const RunRecord parent = std::move(head.run);
  head.run = first_head(run, options, parent.durability, store.environment_).run;
  RunRecord& record = head.run;
  if (record.workflow.empty()) record.workflow = parent.workflow;
  if (record.workflow_hash.empty()) record.workflow_hash = parent.workflow_hash;
  if (record.session.empty()) record.session = parent.session;
  record.fork_of_run = parent.fork_of_run;
  record.fork_of_name = parent.fork_of_name;
  record.fork_of_sequence = parent.fork_of_sequence;
  record.fork_of_sum = parent.fork_of_sum;
  record.fork_events = parent.fork_events;
  record.encrypted = store.keys_.encrypted();
  PAWL_TRY_ASSIGN(RunCodec codec, store.keys_.codec(run.text(), record));
  return std::unique_ptr<RunWriter>(
      new FilesystemRunWriter(store, run, std::move(lock), std::move(head), std::move(codec), Known::forked));
}

FilesystemRunWriter::~FilesystemRunWriter() {
  if (store_.process_.is_copy()) return;
  bool lazy = false;
  {
    const Lock guard(mutex_);
    lazy = exists_ && head_.run.durability != Durability::sync;
  }
  if (lazy) static_cast<void>(store_.committer_->flush());
  Sequence latest;
  {
    const Lock guard(mutex_);
    if (recorded_) latest = head_.latest.sequence;
    lock_.reset();  // pruning needs it for the newest group
  }
  store_.mark_closed(run_.text(), latest);
}

void FilesystemRunWriter::keep_newest(std::uint64_t count) { store_.keep_newest(run_, count); }

RunInfo FilesystemRunWriter::info() const {
  const Lock guard(mutex_);
  const RunRecord& run = head_.run;
  return RunInfo{.id = run_,
                 .uuid = run.uuid,
                 .created = run.created,
                 .updated = head_.latest.created,
                 .latest = head_.latest.sequence,
                 .status = head_.latest.status,
                 .kind = head_.latest.kind,
                 .durability = run.durability,
                 .workflow = run.workflow,
                 .workflow_hash = run.workflow_hash,
                 .session = run.session,
                 .fork_of_run = run.fork_of_run,
                 .fork_of_sequence = run.fork_of_sequence};
}

Result<std::shared_ptr<LogCipher>> FilesystemRunWriter::log_cipher() {
  const Lock guard(mutex_);
  if (!codec_.encrypted()) return nullptr;
  PAWL_TRY(ensure_key());
  return std::make_shared<RunLogCipher>(codec_, *store_.environment_.random);
}

std::string FilesystemRunWriter::last_state() const {
  const Lock guard(mutex_);
  return exists_ ? head_.state : std::string();
}

bool FilesystemRunWriter::is_wanted() const {
  const Lock guard(mutex_);
  return lock_ && lock_->locked_elsewhere(layout::kClaimByte).value_or(false);
}

std::optional<Appended> FilesystemRunWriter::appended(std::string_view body) const {
  const Lock guard(mutex_);
  return exists_ ? appended_elements(head_.state, body) : std::nullopt;
}

Result<void> FilesystemRunWriter::flush() {
  PAWL_TRY(store_.process_.refuse_copy());
  return store_.committer_->flush();
}

Result<void> FilesystemRunWriter::seal_inbox() {
  PAWL_TRY(store_.process_.refuse_copy());
  const Lock guard(mutex_);
  if (!lock_) return fail(Code::handle_failed, "run '{}' can't be sealed after a failed save", run_.text());
  PAWL_TRY_ASSIGN(const bool locked, lock_->try_lock(layout::kSealByte));
  if (locked) return {};
  return fail(
      Error{Code::run_busy, "another process has locked the inbox", layout::run_lock(run_.text()), "try again", 0});
}

Result<void> FilesystemRunWriter::unseal_inbox() {
  PAWL_TRY(store_.process_.refuse_copy());
  const Lock guard(mutex_);
  if (!lock_) return {};
  return lock_->unlock(layout::kSealByte);
}

Result<std::optional<FilesystemRunWriter::Earlier>> FilesystemRunWriter::find_earlier(const std::string& caller_id) {
  if (caller_id.empty() || !recorded_) return std::optional<Earlier>();
  if (const auto found = earlier_.find(caller_id); found != earlier_.end()) return std::optional(found->second);
  PAWL_TRY_ASSIGN(const auto found, store_.find_save(run_.text(), caller_id));
  if (!found) return std::optional<Earlier>();
  if (found->sequence != head_.latest.sequence) {
    const auto& aside = head_.to_set_aside;
    if (aside && aside->from <= found->sequence && found->sequence <= aside->to) return std::optional<Earlier>();
    PAWL_TRY_ASSIGN(const bool undone, store_.is_undone(run_.text(), found->sequence));
    if (undone) return std::optional<Earlier>();
  }
  Earlier earlier;
  earlier.info.sequence = found->sequence;
  earlier.info.id = found->id;
  earlier.info.checksum = found->checksum;
  earlier.info.kind = found->kind;
  earlier.info.caller_id = caller_id;
  earlier.fingerprint = found->fingerprint;
  return std::optional(std::move(earlier));
}

SaveFacts FilesystemRunWriter::facts(const std::optional<Earlier>& earlier, std::string_view fingerprint) const {
  return {.run = run_,
          .head = exists_ ? &head_.latest : nullptr,
          .head_state = head_.state,
          .earlier = earlier ? &earlier->info : nullptr,
          .earlier_has_same_body = earlier && earlier->fingerprint == fingerprint,
          .state_bytes_max = store_.options_.state_bytes_max,
          .head_is_shared = !recorded_};
}

Result<Saved> FilesystemRunWriter::save(const SaveRequest& request) {
  PAWL_TRY(store_.process_.refuse_copy());
  PAWL_TRY(store_.refuse_stuck(run_.text()));
  Lock lock(mutex_);
  PAWL_TRY(ensure_key());
  const std::uint64_t body = request.caller_id.empty() ? 0 : body_fingerprint(request);
  PAWL_TRY_ASSIGN(std::string fingerprint, fingerprint_of(request, body));
  PAWL_TRY_ASSIGN(const auto earlier, find_earlier(request.caller_id));
  const SaveFacts known = facts(earlier, fingerprint);
  PAWL_TRY_ASSIGN(SaveDecision decision, decide_save(request, known));
  if (const auto* saved = std::get_if<Saved>(&decision);
      saved != nullptr && saved->outcome == Saved::Outcome::unchanged && head_.behind_damage()) {
    SaveRequest forced = request;  // the last checkpoint is damaged and must not be returned as the result
    forced.duplicates = Duplicates::write;
    PAWL_TRY_ASSIGN(decision, decide_save(forced, known));
  }
  if (const auto* saved = std::get_if<Saved>(&decision)) {
    lock.unlock();
    return answer(*saved);
  }
  const std::string_view state = state_to_write(request, std::get<WriteState>(decision));
  return write(request, {.text = state, .size = state.size()}, std::move(fingerprint), lock);
}

Result<Saved> FilesystemRunWriter::save_change(const SaveRequest& request, std::span<const Splice> change) {
  PAWL_TRY(store_.process_.refuse_copy());
  PAWL_TRY(store_.refuse_stuck(run_.text()));
  Lock lock(mutex_);
  PAWL_TRY(ensure_key());
  const std::uint64_t body = request.caller_id.empty() ? 0 : change_fingerprint(request, change);
  PAWL_TRY_ASSIGN(std::string fingerprint, fingerprint_of(request, body));
  PAWL_TRY_ASSIGN(const auto earlier, find_earlier(request.caller_id));
  PAWL_TRY_ASSIGN(const ChangeDecision decision, decide_change(request, change, facts(earlier, fingerprint)));
  const bool damaged =
      decision.answer && decision.answer->outcome == Saved::Outcome::unchanged && head_.behind_damage();
  if (decision.answer && !damaged) {
    lock.unlock();
    return answer(*decision.answer);
  }
  return write(request, {.change = change, .size = decision.state_bytes}, std::move(fingerprint), lock);
}

Result<Saved> FilesystemRunWriter::write(const SaveRequest& request, NextState next, std::string fingerprint,
                                         Lock& lock) {
  PAWL_TRY(set_damage_aside());
  if (head_.latest.sequence.value >= kSequenceMax) {
    return fail(Error{Code::store_damaged,
                      fmt::format("the newest checkpoint of run '{}' has the highest possible number", run_.text()),
                      layout::checkpoints(run_.text()), "restore the run's folder from a backup", 0});
  }
  PAWL_TRY_ASSIGN(const Draft draft, draft_checkpoint(request, next, fingerprint));
  std::uint32_t count = 0;
  auto body = encode_records(request, draft, count);
  if (!body) {
    if (draft.has_blob) release_blobs();
    return std::unexpected(body.error());
  }
  Saved saved{draft.info.sequence, draft.info.id, draft.info.checksum, Saved::Outcome::written};
  advance(request, next, draft, std::move(fingerprint));
  return hand_over(std::move(saved), draft, std::move(*body), count, lock);
}

/// The result says that the earlier save is durable, but it may still be queued.
Result<Saved> FilesystemRunWriter::answer(const Saved& saved) {
  PAWL_TRY(store_.committer_->flush());
  return saved;
}

Result<Saved> FilesystemRunWriter::hand_over(Saved saved, const Draft& draft, std::string body, std::uint32_t count,
                                             Lock& lock) {
  if (head_.run.durability == Durability::sync) {
    Commit commit;
    commit.body = std::move(body);
    commit.record_count = count;
    commit.epoch = epoch_;
    // Submitted under the run's mutex, so that saves reach the journal in the order of their numbers.
    store_.committer_->submit(commit);
    lock.unlock();
    const auto committed = store_.committer_->wait(commit);
    if (!committed || draft.has_blob) lock.lock();
    if (draft.has_blob) release_blobs();
    if (!committed) {
      if (committed.error().code == Code::outcome_unknown && lock_) store_.keep_lock(std::move(lock_));
      return std::unexpected(committed.error());
    }
    return saved;
  }
  // Nobody waits for this commit, so blobs are held until the writer closes.
  auto commit = std::make_unique<Commit>();
  commit->body = std::move(body);
  commit->record_count = count;
  commit->epoch = epoch_;
  const std::int64_t window_us = head_.run.durability == Durability::async ? store_.options_.async_window_us : 0;
  PAWL_TRY(store_.committer_->enqueue(std::move(commit), window_us));
  return saved;
}

/// Returns the difference to the last state if it is smaller than the state.
FilesystemRunWriter::Form FilesystemRunWriter::form_of(const NextState& next) const {
  const std::vector<Splice> found = next.change ? std::vector<Splice>() : diff_text(head_.state, next.text);
  const std::span<const Splice> splices = next.change.value_or(found);
  // A difference of nearly the same size is not worth a chain, nor the work of encoding it.
  const std::uint64_t saving = next.size / 8;
  if (size_of(splices) >= next.size - saving) return {};
  Form form{Payload::diff, encode_splices(splices), {}};
  if (form.payload.size() >= next.size) return {};
  return form;
}

/// Replaces a change by the whole text of the state.
void FilesystemRunWriter::apply(NextState& next) const {
  if (!next.change) return;
  next.changed = head_.state;
  apply_change(next.changed, *next.change);
  next.text = next.changed;
  next.change.reset();
}

Result<FilesystemRunWriter::Draft> FilesystemRunWriter::draft_checkpoint(const SaveRequest& request, NextState& next,
                                                                         std::string_view fingerprint) {
  Draft draft;
  CheckpointInfo& info = draft.info;
  info = pawl::draft_checkpoint(request, next.size,
                                {.latest = head_.latest.sequence,
                                 .previous = exists_ ? head_.latest.created : head_.run.created,
                                 .now = store_.environment_.clock->now(),
                                 .id = make_uuid(*store_.environment_.random)});

  Form form;
  const FilesystemOptions& options = store_.options_;
  const std::uint64_t room = std::max<std::uint64_t>(next.size, options.differences_floor_bytes);
  const bool alone =
      !exists_ || head_.differences >= options.differences_max || head_.base_is_kept || head_.behind_damage();
  if (!alone) form = form_of(next);
  const std::uint64_t line_bytes = form.kind == Payload::diff ? form.payload.size() : next.size;
  draft.own_file = alone || head_.differences_bytes + line_bytes > room;
  if (draft.own_file) form = {};
  if (form.kind != Payload::diff) apply(next);
  const std::string_view state = next.text;
  PAWL_TRY_ASSIGN(
      const std::string metadata,
      codec_.stored_metadata(info.metadata, {RecordPlace::Kind::metadata, info.sequence.value, info.parent.value, {}},
                             make_nonce(*store_.environment_.random)));
  PAWL_TRY(pack_payload(info, state, form));
  draft.has_blob = form.kind == Payload::state_blob || form.kind == Payload::diff_blob;
  const bool as_given = form.kind == Payload::state && form.how.empty();
  const bool breaks = as_given && !draft.own_file && has_line_break(state);
  if (breaks) form = {Payload::text, escape_json(state), {}};
  const std::string_view payload = as_given && !breaks ? state : std::string_view(form.payload);
  std::string sum;
  draft.text =
      encode_checkpoint({&info, fingerprint, form.kind, payload, form.how, metadata},
                        draft.own_file ? Shape::file : Shape::line, {head_.run.salt, seal_seed(head_.run.uuid)}, sum);
  info.checksum = "sha256:" + sum;
  info.stored_bytes = draft.text.size();
  info.whole = form.kind != Payload::diff && form.kind != Payload::diff_blob;
  return draft;
}

/// Compresses and encrypts according to the store's settings. A large payload gets its own file.
Result<void> FilesystemRunWriter::pack_payload(const CheckpointInfo& info, std::string_view state, Form& form) {
  const bool is_diff = form.kind == Payload::diff;
  const std::string_view bytes = is_diff ? std::string_view(form.payload) : state;
  Packed packed = codec_.packed(bytes, is_diff ? Content::other : Content::state);
  const std::uint64_t size = packed.how.empty() ? bytes.size() : packed.bytes.size();
  if (size > store_.options_.inline_bytes_max) {
    PAWL_TRY(codec_.protect_blob(packed, bytes));
    std::string name;
    const std::string_view stored_bytes = packed.how.empty() ? bytes : std::string_view(packed.bytes);
    const auto kept = store_.with_room([&]() PAWL_REQUIRES(mutex_) -> Result<void> {
      PAWL_TRY(hold_blobs());
      auto stored = store_blob(stored_bytes, name);
      if (!stored) release_blobs();
      return stored;
    });
    PAWL_TRY(kept);
    form = {is_diff ? Payload::diff_blob : Payload::state_blob, escape_json(name), std::move(packed.how)};
    return {};
  }
  if (packed.how.empty() && !codec_.encrypted()) return {};
  PAWL_TRY(codec_.protect(packed, bytes, {RecordPlace::Kind::checkpoint, info.sequence.value, info.parent.value, {}},
                          make_nonce(*store_.environment_.random)));
  form.payload = fmt::format("\"{}\"", to_base64(packed.bytes));
  form.how = std::move(packed.how);
  return {};
}

Result<void> FilesystemRunWriter::hold_blobs() {
  for (std::int64_t waited_us = 0; blobs_on_their_way_ == 0; waited_us += kBlobStepUs) {
    if (!lock_) break;  // kept until the store is closed, because a save's outcome is unknown
    PAWL_TRY_ASSIGN(const bool locked, lock_->try_lock(layout::kBlobByte));
    if (locked) break;
    if (waited_us >= kBlobWaitUs)
      return fail(Code::store_busy, "timed out waiting for another process that is pruning run '{}'", run_.text());
    store_.environment_.clock->sleep_us(kBlobStepUs);
  }
  ++blobs_on_their_way_;
  return {};
}

void FilesystemRunWriter::release_blobs() {
  // If unlocking fails, the lock is held until the file is closed, and no blob is removed before that.
  if (--blobs_on_their_way_ == 0 && lock_) static_cast<void>(lock_->unlock(layout::kBlobByte));
}

/// Large payloads are files named by their content, so equal ones are stored once. The file and its name
/// are durable before the record that refers to it is written.
Result<void> FilesystemRunWriter::store_blob(std::string_view payload, std::string& name) {
  FileSystem& files = store_.files_;
  name = to_hex(sha256(head_.run.salt, payload));
  const std::string path = layout::blob(run_.text(), name);
  PAWL_TRY(files.make_folder(layout::blobs(run_.text())));
  // A blob with the right name may be damaged.
  const auto existing = files.content(path);
  if (!existing && existing.error().code != Code::input_unreadable && existing.error().code != Code::read_failed)
    return std::unexpected(existing.error());
  if (!existing || existing->bytes != payload) PAWL_TRY(write_whole_file(files, path, payload, SyncPoint::blob));
  PAWL_TRY(files.sync_folder(layout::blobs(run_.text()), SyncPoint::blob_name));
  if (blob_folder_synced_) return {};
  PAWL_TRY(files.sync_folder(layout::run(run_.text()), SyncPoint::blob_folder_name));
  PAWL_TRY(files.sync_folder(layout::kRuns, SyncPoint::blob_folder_name));
  PAWL_TRY(files.sync_folder("", SyncPoint::blob_folder_name));
  blob_folder_synced_ = true;
  return {};
}

Result<std::string> FilesystemRunWriter::encode_records(const SaveRequest& request, const Draft& draft,
                                                        std::uint32_t& count) {
  std::string body;
  body.reserve(draft.text.size() + 1024);
  JournalRecord record;
  record.run = run_.text();
  record.run_uuid = head_.run.uuid;
  record.sequence = draft.info.sequence;
  record.parent = draft.info.parent;
  if (!recorded_) {
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
  std::vector<AuditEntry> entries;
  if (!recorded_) entries.push_back(created_entry(encode_run(head_.run)));
  if (!recorded_ && head_.run.fork_of_run)
    entries.push_back(AuditEntry{.type = event_type::kForked, .payload = fork_seal(head_.run)});
  if (!head_.aside_sum.empty())
    entries.push_back(AuditEntry{.type = event_type::kCheckpointsSetAside, .payload = head_.aside_sum});
  PAWL_TRY_ASSIGN(const std::string events_sum, encode_events(request, draft, record, body, entries));
  count += static_cast<std::uint32_t>(request.events.size());
  entries.push_back(
      AuditEntry{.type = event_type::kCheckpointSaved, .payload = draft.info.checksum, .events = events_sum});
  record.type = RecordType::audit;
  for (AuditEntry& entry : entries) {
    entry.index = head_.audit_index + 1;
    entry.at = draft.info.created;
    entry.sequence = draft.info.sequence;
    entry.previous = head_.audit_hash;
    const std::string line = encode_audit(entry);
    record.number = entry.index;
    record.text = line;
    append_record(body, record);
    ++count;
    head_.audit_index = entry.index;
    head_.audit_hash = entry.hash;
  }
  return body;
}

/// The first entry contains the hash of run.json.
AuditEntry FilesystemRunWriter::created_entry(std::string_view run_text) const {
  const Owner& owner = store_.environment_.owner;
  return AuditEntry{.type = event_type::kRunCreated,
                    .payload = "sha256:" + to_hex(sha256(head_.run.salt, run_text)),
                    .user = owner.user,
                    .host = owner.host};
}

/// Appends the records of the events, and an audit entry for each audited event. Returns the hash of the events for the
/// audit entry of the checkpoint.
Result<std::string> FilesystemRunWriter::encode_events(const SaveRequest& request, const Draft& draft,
                                                       JournalRecord record, std::string& body,
                                                       std::vector<AuditEntry>& entries) {
  std::string hashes;
  record.type = RecordType::event;
  record.number = head_.event_number;
  for (const NewEvent& event : request.events) {
    ++record.number;
    StoredEvent stored{{record.number, draft.info.sequence, draft.info.created, event.type, {}}, {}};
    const std::string nonce = codec_.encrypted() ? make_nonce(*store_.environment_.random) : std::string();
    PAWL_TRY_ASSIGN(stored.event.data, codec_.stored_value(event.data, {RecordPlace::Kind::event, record.number, 0, {}},
                                                           nonce, stored.how));
    const std::string line = encode_event(stored, seal_seed(head_.run.uuid));
    record.text = line;
    append_record(body, record);
    const Sha256 hash = sha256(head_.run.salt, std::string_view(line).substr(0, line.size() - 1));
    hashes.append(reinterpret_cast<const char*>(hash.data()), hash.size());
    if (!is_audited(event)) continue;
    const Owner& owner = store_.environment_.owner;
    entries.push_back(AuditEntry{.type = event.type,
                                 .payload = "sha256:" + to_hex(hash),
                                 .event = record.number,
                                 .user = owner.user,
                                 .host = owner.host,
                                 .agent = event.agent});
  }
  return hashes.empty() ? std::string() : "sha256:" + to_hex(sha256(head_.run.salt, hashes));
}

/// Makes this save the head of the run, though it is not durable yet. Later saves build on it; if it fails, the
/// committer's epoch makes all of them fail.
void FilesystemRunWriter::advance(const SaveRequest& request, NextState& next, const Draft& draft,
                                  std::string fingerprint) {
  head_.event_number += request.events.size();
  head_.aside_sum.clear();
  if (draft.own_file) {
    if (exists_) store_.mark_grown(run_.text());
    head_.base = draft.info.sequence;
    head_.base_is_kept = false;
    head_.differences = 0;
    head_.differences_bytes = 0;
  } else {
    ++head_.differences;
    head_.differences_bytes += draft.text.size();
    store_.mark_saved(run_.text(), draft.info.sequence);
  }
  head_.latest = draft.info;
  if (next.change) {
    apply_change(head_.state, *next.change);
  } else if (!next.changed.empty()) {
    head_.state = std::move(next.changed);
  } else {
    head_.state.assign(next.text);
  }
  exists_ = true;
  recorded_ = true;
  // A rollback frees the ids of later saves.
  if (std::ranges::any_of(request.events, [](const NewEvent& event) { return event.type == event_type::kRolledBack; }))
    earlier_.clear();
  if (!request.caller_id.empty()) earlier_[request.caller_id] = {draft.info, std::move(fingerprint)};
  store_.mark_dirty(run_.text());
}

}  // namespace pawl
