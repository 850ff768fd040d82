#include "adapters/memory/memory_store.hpp"

#include <algorithm>
#include <tuple>

#include "adapters/memory/memory_claim.hpp"
#include "base/hash.hpp"
#include "domain/audited_events.hpp"
#include "domain/erasure.hpp"
#include "domain/event_types.hpp"
#include "domain/labels.hpp"
#include "domain/save_rules.hpp"

namespace pawl {

std::shared_ptr<MemoryDisk> make_memory_disk() { return std::make_shared<MemoryDisk>(); }

namespace {

bool is_removed(const MemoryRun& run) { return run.erased && run.erased->remains == Remains::tombstone; }

Result<MemoryRun*> find_run(MemoryDisk& disk, const RunId& run) {
  const auto found = disk.runs.find(run);
  if (found == disk.runs.end()) return fail(Code::run_not_found, "there is no run '{}'", run.text());
  if (found->second.erased) return fail(erased_error(run.text(), *found->second.erased));
  return &found->second;
}

/// Returns the newest checkpoint that matches.
Result<const MemoryCheckpoint*> find_checkpoint(const MemoryRun& run, const Which& which) {
  for (auto checkpoint = run.checkpoints.rbegin(); checkpoint != run.checkpoints.rend(); ++checkpoint) {
    if (!fits(checkpoint->info, which)) continue;
    if (!checkpoint->pruned) return &*checkpoint;
    if (which.by == Which::By::sequence) {
      return fail(Error{Code::checkpoint_pruned,
                        fmt::format("checkpoint {} of run '{}' was pruned", which.sequence.value, run.info.id.text()),
                        {},
                        {},
                        0,
                        Advice::list_checkpoints,
                        {.run = run.info.id.text()}});
    }
  }
  const std::string& id = run.info.id.text();
  return fail(Error{Code::checkpoint_not_found,
                    fmt::format("run '{}' has no such checkpoint; its latest is {}", id, run.info.latest.value),
                    {},
                    {},
                    0,
                    Advice::list_checkpoints,
                    {.run = id}});
}

class MemoryWriter final : public RunWriter {
 public:
  MemoryWriter(Environment environment, std::shared_ptr<MemoryDisk> disk, MemoryRun new_run)
      : environment_(std::move(environment)), disk_(std::move(disk)), new_run_(std::move(new_run)) {}
  ~MemoryWriter() override {
    const std::scoped_lock lock(disk_->mutex);
    disk_->writers.erase(new_run_.info.id);
    disk_->sealed.erase(new_run_.info.id);
  }

  Result<Saved> save(const SaveRequest& request) override;
  Result<Saved> save_change(const SaveRequest& request, std::span<const Splice> change) override;
  Result<void> flush() override { return {}; }
  Result<void> seal_inbox() override {
    const std::scoped_lock lock(disk_->mutex);
    disk_->sealed.insert(new_run_.info.id);
    return {};
  }
  Result<void> unseal_inbox() override {
    const std::scoped_lock lock(disk_->mutex);
    disk_->sealed.erase(new_run_.info.id);
    return {};
  }
  [[nodiscard]] RunInfo info() const override {
    const std::scoped_lock lock(disk_->mutex);
    return current().info;
  }
  [[nodiscard]] bool is_wanted() const override {
    const std::scoped_lock lock(disk_->mutex);
    return disk_->claims.contains(new_run_.info.id);
  }
  [[nodiscard]] std::string last_state() const override {
    const std::scoped_lock lock(disk_->mutex);
    return current().checkpoints.empty() ? std::string() : current().checkpoints.back().state;
  }

 private:
  /// Returns the run, or the new run if nothing was saved yet.
  [[nodiscard]] const MemoryRun& current() const {
    const auto found = disk_->runs.find(new_run_.info.id);
    return found == disk_->runs.end() ? new_run_ : found->second;
  }
  [[nodiscard]] SaveFacts facts(const SaveRequest& request, std::uint64_t fingerprint) const;
  [[nodiscard]] Saved write(const SaveRequest& request, std::string state, std::uint64_t fingerprint);

  const Environment environment_;
  const std::shared_ptr<MemoryDisk> disk_;
  const MemoryRun new_run_;
};

void add_entry(MemoryRun& run, AuditEntry entry) {
  entry.index = run.audit.size() + 1;
  entry.at = run.info.updated;
  entry.sequence = run.info.latest;
  entry.previous = run.audit.empty() ? std::string(64, '0') : run.audit.back().hash;
  entry.hash =
      to_hex(sha256(entry.previous, fmt::format("{} {} {}", entry.type, entry.payload, entry.agent), entry.data));
  run.audit.push_back(std::move(entry));
}

Saved MemoryWriter::write(const SaveRequest& request, std::string state, std::uint64_t fingerprint) {
  MemoryRun& run = disk_->runs.try_emplace(new_run_.info.id, new_run_).first->second;
  CheckpointInfo info = draft_checkpoint(request, state.size(),
                                         {.latest = run.info.latest,
                                          .previous = run.info.updated,
                                          .now = environment_.clock->now(),
                                          .id = make_uuid(*environment_.random)});
  info.stored_bytes = state.size();
  info.checksum = "sha256:" + to_hex(sha256(state));
  if (run.checkpoints.empty()) run.info.created = info.created;
  run.info.updated = info.created;
  run.info.latest = info.sequence;
  run.info.kind = info.kind;
  run.info.status = info.status;
  const Owner& owner = environment_.owner;
  if (run.audit.empty())
    add_entry(run, AuditEntry{.type = event_type::kRunCreated, .user = owner.user, .host = owner.host});
  for (const NewEvent& event : request.events) {
    run.events.push_back(Event{run.events.size() + 1, info.sequence, info.created, event.type, event.data});
    if (!is_audited(event)) continue;
    add_entry(run, AuditEntry{.type = event.type,
                              .payload = "sha256:" + to_hex(sha256(event.data)),
                              .event = run.events.size(),
                              .user = owner.user,
                              .host = owner.host,
                              .agent = event.agent,
                              .data = event.data});
  }
  add_entry(run, AuditEntry{.type = event_type::kCheckpointSaved, .payload = info.checksum});
  run.checkpoints.push_back(MemoryCheckpoint{info, std::move(state), fingerprint, false});
  return Saved{info.sequence, info.id, info.checksum, Saved::Outcome::written};
}

SaveFacts MemoryWriter::facts(const SaveRequest& request, std::uint64_t fingerprint) const {
  const MemoryRun& run = current();
  SaveFacts facts{
      .run = run.info.id, .head = nullptr, .head_state = {}, .earlier = nullptr, .earlier_has_same_body = false};
  if (!run.checkpoints.empty()) {
    facts.head = &run.checkpoints.back().info;
    facts.head_state = run.checkpoints.back().state;
    facts.head_is_shared = run.shared() == run.info.latest;
  }
  for (const MemoryCheckpoint& checkpoint : run.checkpoints) {
    if (checkpoint.info.sequence <= run.shared()) continue;
    if (request.caller_id.empty() || checkpoint.info.caller_id != request.caller_id) continue;
    if (is_undone(checkpoint.info.sequence, run.events)) continue;
    facts.earlier = &checkpoint.info;
    facts.earlier_has_same_body = checkpoint.body_fingerprint == fingerprint;
  }
  return facts;
}

Result<Saved> MemoryWriter::save(const SaveRequest& request) {
  const std::scoped_lock lock(disk_->mutex);
  const std::uint64_t fingerprint = body_fingerprint(request);
  PAWL_TRY_ASSIGN(const SaveDecision decision, decide_save(request, facts(request, fingerprint)));
  if (const Saved* answered = std::get_if<Saved>(&decision)) return *answered;
  return write(request, std::string(state_to_write(request, std::get<WriteState>(decision))), fingerprint);
}

Result<Saved> MemoryWriter::save_change(const SaveRequest& request, std::span<const Splice> change) {
  const std::scoped_lock lock(disk_->mutex);
  const std::uint64_t fingerprint = change_fingerprint(request, change);
  const SaveFacts known = facts(request, fingerprint);
  PAWL_TRY_ASSIGN(const ChangeDecision decision, decide_change(request, change, known));
  if (decision.answer) return *decision.answer;
  std::string state(known.head_state);
  apply_change(state, change);
  return write(request, std::move(state), fingerprint);
}

std::string describe_owner(const Owner& owner) {
  return fmt::format("process {} ({}) on {}", owner.pid, owner.program, owner.host);
}

std::unexpected<Error> busy(const RunId& run, const Owner& owner) {
  return fail(Error{Code::run_busy,
                    fmt::format("run '{}' is busy: held by {}", run.text(), describe_owner(owner)),
                    run.text(),
                    {},
                    0,
                    Advice::wait_for_run,
                    {.run = run.text()}});
}

RunInfo new_info(const RunId& run, const RunOptions& options, const Environment& environment) {
  const Timestamp now = environment.clock->now();
  return RunInfo{
      .id = run,
      .uuid = make_uuid(*environment.random),
      .created = now,
      .updated = now,
      .latest = {},
      .status = Status::active,
      .kind = Kind::manual,
      .durability = options.durability.value_or(Durability::sync),
      .workflow = options.workflow,
      .workflow_hash = options.workflow_hash,
      .session = options.session,
      .fork_of_run = {},
      .fork_of_sequence = {},
  };
}

/// Counts the run's own checkpoints that were not pruned.
std::uint64_t count_there(const MemoryRun& run) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      run.checkpoints, [&](const auto& one) { return !one.pruned && one.info.sequence > run.shared(); }));
}

/// Removes the checkpoint from a run and from all forks that share it.
void prune_shared(MemoryDisk& disk, MemoryRun& run, Sequence sequence) {
  MemoryCheckpoint& checkpoint = run.checkpoints[sequence.value - 1];
  checkpoint.pruned = true;
  checkpoint.state = std::string();
  for (auto& [id, other] : disk.runs) {
    if (other.erased || other.info.fork_of_run != run.info.uuid) continue;
    if (sequence <= other.shared()) prune_shared(disk, other, sequence);
  }
}

/// Reduces an erased run to its tombstone.
void remove_erased(MemoryRun& run, const EraseRequest& request, const Environment& environment) {
  Erasure& mark = *run.erased;
  mark.erased_at = mark.at;
  mark.erased_by = mark.by;
  mark.erased_reason = mark.reason;
  mark.at = next_timestamp(mark.at, environment.clock->now());
  mark.by = request.by.empty() ? described_user(environment.owner.user, environment.owner.host) : request.by;
  mark.reason = request.reason;
  mark.remains = Remains::tombstone;
  mark.entries = run.audit.size();
  mark.head = run.audit.empty() ? std::string(64, '0') : run.audit.back().hash;
  run.audit.clear();
}

/// Returns at most `limit` elements of `all`, starting at `begin`.
template <class T>
std::vector<T> page(const std::vector<T>& all, std::uint64_t begin, std::size_t limit) {
  const std::size_t first = std::min<std::uint64_t>(begin, all.size());
  const std::size_t count = std::min(limit, all.size() - first);
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

}  // namespace

MemoryStore::MemoryStore(Environment environment, std::shared_ptr<MemoryDisk> disk)
    : environment_(std::move(environment)), disk_(std::move(disk)) {}

Result<std::unique_ptr<RunWriter>> MemoryStore::open_run(const RunId& run, const RunOptions& options) {
  const std::scoped_lock lock(disk_->mutex);
  if (const auto writer = disk_->writers.find(run); writer != disk_->writers.end()) return busy(run, writer->second);
  const auto found = disk_->runs.find(run);
  if (found != disk_->runs.end() && found->second.erased) return fail(erased_error(run.text(), *found->second.erased));
  if (found != disk_->runs.end() && options.durability && *options.durability != found->second.info.durability) {
    return fail(Error{Code::durability_fixed,
                      fmt::format("run '{}' was created with durability '{}', not '{}'", run.text(),
                                  to_text(found->second.info.durability), to_text(*options.durability)),
                      run.text(), "leave out the durability, or use another run", 0});
  }
  if (options.fall_back_to) return fail(Code::parent_conflict, "run '{}' is not damaged", run.text());
  auto writer =
      std::make_unique<MemoryWriter>(environment_, disk_, MemoryRun{.info = new_info(run, options, environment_)});
  disk_->writers.emplace(run, environment_.owner);
  return writer;
}

Result<std::unique_ptr<RunClaim>> MemoryStore::claim(const RunId& run) {
  return std::make_unique<MemoryClaim>(disk_, run);
}

Result<std::unique_ptr<RunWriter>> MemoryStore::fork(const RunId& parent, Sequence at, const RunId& run,
                                                     const RunOptions& options) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(MemoryRun * from, find_run(*disk_, parent));
  PAWL_TRY(find_checkpoint(*from, Which{.by = Which::By::sequence, .sequence = at, .label = {}, .uuid = {}}));
  if (const auto there = disk_->runs.find(run); there != disk_->runs.end() && there->second.erased)
    return fail(erased_error(run.text(), *there->second.erased));
  if (disk_->runs.contains(run)) return fail(Code::run_exists, "run '{}' already exists", run.text());
  if (const auto writer = disk_->writers.find(run); writer != disk_->writers.end()) return busy(run, writer->second);
  // A fork at a shared checkpoint of another fork is a fork of the original run.
  while (at <= from->shared()) {
    PAWL_TRY_ASSIGN(from, find_run(*disk_, *from->parent));
  }
  MemoryRun forked{.info = new_info(run, options, environment_), .parent = from->info.id};
  if (!options.durability) forked.info.durability = from->info.durability;
  if (forked.info.workflow.empty()) forked.info.workflow = from->info.workflow;
  if (forked.info.workflow_hash.empty()) forked.info.workflow_hash = from->info.workflow_hash;
  if (forked.info.session.empty()) forked.info.session = from->info.session;
  forked.info.fork_of_run = from->info.uuid;
  forked.info.fork_of_sequence = at;
  forked.info.latest = at;
  forked.checkpoints.assign(from->checkpoints.begin(),
                            from->checkpoints.begin() + static_cast<std::ptrdiff_t>(at.value));
  forked.info.updated = forked.checkpoints.back().info.created;
  for (const Event& event : from->events) {
    if (event.sequence <= at) forked.events.push_back(event);
  }
  auto writer = std::make_unique<MemoryWriter>(environment_, disk_, std::move(forked));
  disk_->writers.emplace(run, environment_.owner);
  return writer;
}

Result<std::vector<ForkInfo>> MemoryStore::forks_of(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  std::vector<ForkInfo> forks;
  for (const auto& [id, other] : disk_->runs) {
    if (!other.erased && other.info.fork_of_run == found->info.uuid)
      forks.push_back({id, other.info.uuid, other.shared()});
  }
  std::ranges::sort(forks,
                    [](const ForkInfo& a, const ForkInfo& b) { return std::tie(a.at, a.run) < std::tie(b.at, b.run); });
  return forks;
}

Result<std::optional<ForkInfo>> MemoryStore::origin_of(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  if (!found->parent) return std::optional<ForkInfo>();
  return std::optional(ForkInfo{*found->parent, *found->info.fork_of_run, found->shared()});
}

Result<Restored> MemoryStore::restore(const RunId& run, const Which& which) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  PAWL_TRY_ASSIGN(const MemoryCheckpoint* const checkpoint, find_checkpoint(*found, which));
  return Restored{checkpoint->info, checkpoint->state};
}

Result<RunInfo> MemoryStore::run(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  return found->info;
}

Result<std::vector<RunInfo>> MemoryStore::runs(std::size_t limit) {
  const std::scoped_lock lock(disk_->mutex);
  std::vector<RunInfo> all;
  for (const auto& [id, run] : disk_->runs) {
    if (!is_removed(run)) all.push_back(run.info);
  }
  std::ranges::sort(
      all, [](const RunInfo& a, const RunInfo& b) { return std::tie(b.updated, a.id) < std::tie(a.updated, b.id); });
  return page(all, 0, limit);
}

Result<CheckpointInfo> MemoryStore::checkpoint(const RunId& run, const Which& which) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  PAWL_TRY_ASSIGN(const MemoryCheckpoint* const checkpoint, find_checkpoint(*found, which));
  return checkpoint->info;
}

Result<std::vector<CheckpointInfo>> MemoryStore::checkpoints(const RunId& run, Sequence after, std::size_t limit) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  std::vector<CheckpointInfo> all;
  for (const MemoryCheckpoint& checkpoint : found->checkpoints) {
    if (!checkpoint.pruned && checkpoint.info.sequence > after) all.push_back(checkpoint.info);
  }
  return page(all, 0, limit);
}

Result<PruneReport> MemoryStore::prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(MemoryRun* const found, find_run(*disk_, run));
  RetentionCandidates there;
  for (const MemoryCheckpoint& checkpoint : found->checkpoints) {
    if (!checkpoint.pruned && checkpoint.info.sequence > found->shared()) there.add(checkpoint.info);
  }
  PruneReport report;
  Retention judged = judge_checkpoints(there, settings, environment_.clock->now());
  std::vector<Sequence>& dropped = judged.dropped;
  for (const auto& [id, other] : disk_->runs) {
    if (other.erased || other.info.fork_of_run != found->info.uuid) continue;
    if (std::erase(dropped, other.shared()) > 0) judged.exempt[other.shared()] = KeptWhy::fork_point;
  }
  report.exempt = std::move(judged.exempt);
  report.kept = there.all().size() - dropped.size();
  for (const Sequence sequence : dropped) {
    report.dropped.push_back(sequence);
    report.freed_bytes += static_cast<std::int64_t>(found->checkpoints[sequence.value - 1].state.size());
    if (mode == PruneMode::remove) prune_shared(*disk_, *found, sequence);
  }
  return report;
}

Result<Erasure> MemoryStore::erase(const RunId& run, const EraseRequest& request) {
  std::vector<RunId> forks;
  {
    const std::scoped_lock lock(disk_->mutex);
    const auto found = disk_->runs.find(run);
    const bool erased = found != disk_->runs.end() && found->second.erased;
    if (erased && request.remains == Remains::tombstone && !is_removed(found->second)) {
      remove_erased(found->second, request, environment_);
      return *found->second.erased;
    }
    if (erased) {
      Erasure erasure = *found->second.erased;
      erasure.outcome = Erasure::Outcome::already;
      return erasure;
    }
    PAWL_TRY_ASSIGN(const MemoryRun* const there, find_run(*disk_, run));
    if (const auto writer = disk_->writers.find(run); writer != disk_->writers.end()) return busy(run, writer->second);
    for (const auto& [id, other] : disk_->runs) {
      if (!other.erased && other.info.fork_of_run == there->info.uuid) forks.push_back(id);
    }
  }
  if (!forks.empty() && request.cascade == Cascade::no) return fail(forks_error(run, forks));
  std::vector<std::string> gone;
  for (const RunId& fork : forks) {
    PAWL_TRY_ASSIGN(const Erasure erasure, erase(fork, request));
    gone.insert(gone.end(), erasure.forks.begin(), erasure.forks.end());
    gone.push_back(fork.text());
  }
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(MemoryRun* const there, find_run(*disk_, run));
  if (const auto writer = disk_->writers.find(run); writer != disk_->writers.end()) return busy(run, writer->second);
  const Timestamp now = next_timestamp(there->info.updated, environment_.clock->now());
  Erasure erasure{
      .run = run,
      .outcome = Erasure::Outcome::done,
      .at = now,
      .by = request.by.empty() ? described_user(environment_.owner.user, environment_.owner.host) : request.by,
      .reason = request.reason,
      .checkpoints = count_there(*there),
      .waiting_for = {},
      .forks = std::move(gone),
      .remains = Remains::trail,
      .uuid = there->info.uuid,
      .latest = there->info.latest,
      .entries = 0,
      .head = {}};
  const RunInfo info = erased_info(there->info, now);
  *there = MemoryRun{.info = info, .audit = std::move(there->audit), .erased = erasure};
  if (request.remains == Remains::tombstone) {
    remove_erased(*there, request, environment_);
    erasure = *there->erased;
  }
  std::error_code ignored;  // whatever can't be removed is in a temporary folder
  if (!disk_->folder.empty()) std::filesystem::remove_all(disk_->folder / run.text(), ignored);
  return erasure;
}

Result<std::vector<Erasure>> MemoryStore::removed(std::size_t limit) {
  const std::scoped_lock lock(disk_->mutex);
  std::vector<Erasure> found;
  for (const auto& [id, run] : disk_->runs) {
    if (!is_removed(run)) continue;
    found.push_back(*run.erased);
    found.back().outcome = Erasure::Outcome::already;
  }
  std::ranges::sort(found, std::ranges::greater{}, &Erasure::at);
  return page(found, 0, limit);
}

Result<std::vector<Event>> MemoryStore::events(const RunId& run, std::uint64_t after_number, std::size_t limit) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  return page(found->events, after_number, limit);
}

Result<std::vector<AuditEntry>> MemoryStore::audit(const RunId& run, std::uint64_t after, std::size_t limit) {
  const std::scoped_lock lock(disk_->mutex);
  const auto erased = disk_->runs.find(run);
  if (erased != disk_->runs.end() && erased->second.erased && !is_removed(erased->second))
    return page(erased->second.audit, after, limit);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  return page(found->audit, after, limit);
}

Result<std::string> MemoryStore::post(const RunId& run, std::string_view body) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(MemoryRun* const found, find_run(*disk_, run));
  Message message{
      .id = {}, .at = environment_.clock->now(), .body = std::string(body), .from = who(environment_.owner)};
  if (!found->messages.empty()) message.at.us = std::max(message.at.us, found->messages.back().at.us + 1);
  message.id = fmt::format("{:020}-{:016x}", message.at.us, environment_.random->next());
  found->messages.push_back(message);
  return message.id;
}

Result<std::vector<Message>> MemoryStore::inbox(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  return found->messages;
}

Result<void> MemoryStore::take(const RunId& run, std::string_view message_id) {
  const std::scoped_lock lock(disk_->mutex);
  if (const auto found = find_run(*disk_, run)) {
    std::erase_if((*found)->messages, [&](const Message& message) { return message.id == message_id; });
  }
  return {};
}

Result<bool> MemoryStore::inbox_sealed(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  return disk_->sealed.contains(run);
}

Result<std::optional<std::string>> MemoryStore::owner(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  const auto writer = disk_->writers.find(run);
  if (writer == disk_->writers.end()) return std::optional<std::string>();
  return std::optional(describe_owner(writer->second));
}

std::unique_ptr<Limits> MemoryStore::limits() { return make_memory_limits(disk_->limits); }

std::unique_ptr<ResultCache> MemoryStore::result_cache() { return make_memory_result_cache(disk_->cache); }

Result<RunFootprint> MemoryStore::footprint(const RunId& run) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  RunFootprint bytes;
  for (const MemoryCheckpoint& checkpoint : found->checkpoints) {
    if (checkpoint.info.sequence > found->shared()) bytes.checkpoints += checkpoint.state.size();
  }
  for (const Event& event : found->events) bytes.events += event.type.size() + event.data.size();
  for (const Message& message : found->messages) bytes.inbox += message.body.size();
  for (const AuditEntry& entry : found->audit)
    bytes.audit += entry.type.size() + entry.payload.size() + entry.hash.size();
  return bytes;
}

Result<std::uint64_t> MemoryStore::shared_bytes() { return 0; }

Result<Recovered> MemoryStore::recover(const RunId& run, const RecoverScope& scope) {
  const std::scoped_lock lock(disk_->mutex);
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, run));
  Recovered recovered;
  recovered.highest = found->info.latest;
  const MemoryCheckpoint* newest = nullptr;
  for (const MemoryCheckpoint& checkpoint : found->checkpoints) {
    const bool too_late = (scope.up_to && checkpoint.info.sequence > scope.up_to) ||
                          (scope.not_after && checkpoint.info.created > *scope.not_after);
    if (too_late || checkpoint.pruned) continue;
    newest = &checkpoint;
    ++recovered.rebuilt;
  }
  if (newest == nullptr) return fail(Code::checkpoint_not_found, "run '{}' has no checkpoint that early", run.text());
  if (scope.extent == RecoverExtent::newest) recovered.rebuilt = 1;
  recovered.checkpoint = {newest->info, newest->state};
  return recovered;
}

Result<void> MemoryStore::log_failure(const RecoveryFailure& /*failure*/) { return {}; }

Result<CheckReport> MemoryStore::check(const CheckScope& scope, Repair /*repair*/) {
  const std::scoped_lock lock(disk_->mutex);
  CheckReport report;
  if (!scope.run) {
    for (const auto& [id, run] : disk_->runs) {
      if (!is_removed(run)) ++(run.erased ? report.erased : report.runs);
      report.checkpoints += count_there(run);
    }
    return report;
  }
  if (const auto erased = disk_->runs.find(*scope.run); erased != disk_->runs.end() && erased->second.erased) {
    report.erased = is_removed(erased->second) ? 0 : 1;
    return report;
  }
  PAWL_TRY_ASSIGN(const MemoryRun* const found, find_run(*disk_, *scope.run));
  report.runs = 1;
  report.checkpoints = count_there(*found);
  if (scope.sequence) {
    PAWL_TRY(
        find_checkpoint(*found, Which{.by = Which::By::sequence, .sequence = scope.sequence, .label = {}, .uuid = {}}));
    report.checkpoints = 1;
  }
  return report;
}

}  // namespace pawl
