#include "adapters/filesystem/run_reader.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

bool fits(const CheckpointInfo& info, const Which& which) {
  switch (which.by) {
    case Which::By::name: return info.name == which.label;
    case Which::By::stage: return info.stage == which.label;
    case Which::By::step: return info.step == which.label;
    case Which::By::uuid: return info.id == which.uuid;
    case Which::By::latest: return true;
    case Which::By::sequence: return info.sequence == which.sequence;
  }
  return false;
}

}  // namespace

RunReader::RunReader(FileSystem& files, std::string run, std::shared_ptr<const JournalSnapshot> snapshot)
    : files_(files), run_(std::move(run)), snapshot_(std::move(snapshot)), records_(snapshot_->find(run_)) {}

Sequence RunReader::journal_from() const {
  return Sequence{records_ == nullptr || records_->checkpoints.empty() ? kHighest : records_->checkpoints.begin()->first};
}

Error RunReader::not_found(Sequence sequence) const {
  return Error{Code::checkpoint_not_found, fmt::format("run '{}' has no checkpoint {}", run_, sequence.value), {},
               fmt::format("'pawl show {} --checkpoints' lists those it has", run_), 0};
}

Result<RunRecord> RunReader::run_record() {
  if (run_record_) return *run_record_;
  if (records_ != nullptr && records_->run) {
    PAWL_TRY_ASSIGN(run_record_, decode_run(records_->run->text));
    return *run_record_;
  }
  const std::string path = layout::run_file(run_);
  auto text = files_.read_file(path, 1ULL << 20);
  if (!text && text.error().code == Code::input_unreadable) {
    if (snapshot_->damage()) return std::unexpected(*snapshot_->damage());
    return fail(Error{Code::run_not_found, fmt::format("there is no run '{}' in this store", run_), {},
                      "'pawl list' shows the runs; is --store or PAWL_STORE the right one?", 0});
  }
  if (!text) return std::unexpected(text.error());
  auto record = decode_run(*text);
  if (record && record->run != run_) record = fail(Code::store_damaged, "run.json belongs to run '{}'", record->run);
  if (!record) return fail(at(record.error(), path));
  run_record_ = std::move(*record);
  return *run_record_;
}

Result<std::uint32_t> RunReader::seed() {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  return seal_seed(record.uuid);
}

Result<RecordView> RunReader::decode(std::string_view text, const std::string& where) {
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  auto record = decode_checkpoint(without_newline(text), run_seed);
  if (!record) return fail(at(record.error(), where));
  return record;
}

/// The whole checkpoints that files may be trusted for, ascending.
Result<std::vector<Sequence>> RunReader::bases() {
  if (bases_) return *bases_;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
  bases_.emplace();
  for (const FolderEntry& entry : entries) {
    const auto base = base_in_file_name(entry.name);
    if (base && *base < journal_from()) bases_->push_back(*base);
  }
  std::ranges::sort(*bases_);
  return *bases_;
}

Result<Sequence> RunReader::base_of(Sequence sequence) {
  if (records_ != nullptr) {
    if (const auto found = records_->checkpoints.find(sequence.value); found != records_->checkpoints.end()) {
      return Sequence{found->second.record.number};
    }
  }
  PAWL_TRY_ASSIGN(const auto all, bases());
  const auto above = std::ranges::upper_bound(all, sequence);
  if (above == all.begin()) return fail(not_found(sequence));
  return *std::prev(above);
}

Result<void> RunReader::read_file_lines(Sequence base, Sequence up_to, Chain& chain) {
  const std::string path = layout::differences(run_, base);
  auto text = files_.read_file(path);
  if (!text && text.error().code == Code::input_unreadable) return {};
  if (!text) return std::unexpected(text.error());
  chain.texts.push_back(std::move(*text));
  Sequence expected = base.next();
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  for_each_line(chain.texts.back(), [&](std::string_view line, bool) {
    if (expected > up_to || expected >= journal_from()) return false;
    auto record = decode_checkpoint(line, run_seed);
    if (record && record->sequence != expected) {
      record = fail(Code::chain_broken, "checkpoint {} is missing; {} follows", expected.value, record->sequence.value);
    }
    if (!record) {
      Error error = record.error();
      error.message = fmt::format("checkpoint {} of run '{}': {}", expected.value, run_, error.message);
      chain.damage = at(std::move(error), path);
      return false;
    }
    chain.records.push_back(*record);
    expected = expected.next();
    return true;
  });
  return {};
}

Result<RunReader::Chain> RunReader::chain(Sequence base, Sequence up_to) {
  Chain chain;
  chain.base = base;
  chain.texts.reserve(2);  // records view into them
  if (base < journal_from()) {
    const std::string path = layout::full(run_, base);
    auto text = files_.read_file(path);
    if (!text && text.error().code == Code::input_unreadable) {
      return fail(Error{Code::chain_broken, fmt::format("checkpoint {} of run '{}' builds on {}, which is missing", up_to.value,
                        run_, base.value), path, "run 'pawl fsck' to see what is damaged", 0});
    }
    if (!text) return std::unexpected(text.error());
    chain.texts.push_back(std::move(*text));
    auto record = decode(chain.texts.back(), path);
    if (record && record->sequence != base) record = fail(Code::checkpoint_corrupt, "the file holds another checkpoint");
    if (!record) {
      Error error = record.error();
      error.message = fmt::format("checkpoint {} of run '{}': {}", base.value, run_, error.message);
      return fail(at(std::move(error), path));
    }
    chain.records.push_back(*record);
    PAWL_TRY(read_file_lines(base, up_to, chain));
  }
  if (records_ == nullptr || chain.damage) return chain;
  for (auto found = records_->checkpoints.lower_bound(base.value);
       found != records_->checkpoints.end() && found->first <= up_to.value && found->second.record.number == base.value; ++found) {
    if (!chain.records.empty() && chain.records.back().sequence.value + 1 != found->first) break;
    PAWL_TRY_ASSIGN(const RecordView record, decode(found->second.record.text, layout::journal(found->second.journal)));
    chain.records.push_back(record);
  }
  return chain;
}

Result<Sequence> RunReader::latest() {
  if (snapshot_->damage()) return std::unexpected(*snapshot_->damage());
  if (records_ != nullptr && !records_->checkpoints.empty()) return Sequence{records_->checkpoints.rbegin()->first};
  PAWL_TRY(run_record());
  PAWL_TRY_ASSIGN(const auto all, bases());
  if (all.empty()) {
    return fail(Error{Code::no_valid_checkpoint, fmt::format("run '{}' has no checkpoint", run_), layout::checkpoints(run_),
                      "run 'pawl fsck' to see what is damaged", 0});
  }
  const auto file = files_.open(layout::differences(run_, all.back()), OpenMode::read);
  if (!file) return all.back();
  PAWL_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  if (size == 0) return all.back();
  if (!line || line->end != size) {
    return fail(Error{Code::checkpoint_corrupt, fmt::format("the last checkpoint of run '{}' is damaged", run_),
                      layout::differences(run_, all.back()), "run 'pawl fsck'; older checkpoints can be restored by number", 0});
  }
  return Sequence{line->number};
}

Result<Sequence> RunReader::resolve(const Which& which) {
  PAWL_TRY(run_record());
  if (which.by == Which::By::sequence) return which.sequence;
  if (which.by == Which::By::latest) return latest();
  return search(which);
}

/// The newest that fits. Reads the run's history backwards: linear in it.
Result<Sequence> RunReader::search(const Which& which) {
  PAWL_TRY_ASSIGN(Sequence up_to, latest());
  while (up_to) {
    PAWL_TRY_ASSIGN(const Sequence base, base_of(up_to));
    PAWL_TRY_ASSIGN(const Chain links, chain(base, up_to));
    if (links.damage) return std::unexpected(*links.damage);
    for (auto record = links.records.rbegin(); record != links.records.rend(); ++record) {
      PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(*record));
      if (fits(info, which)) return info.sequence;
    }
    up_to.value = base.value - 1;
  }
  return fail(Error{Code::checkpoint_not_found, fmt::format("run '{}' has no checkpoint that fits", run_), {},
                    fmt::format("'pawl show {} --checkpoints' lists those it has", run_), 0});
}

Result<std::string> RunReader::payload_of(const RecordView& record) {
  switch (record.payload_kind) {
    case Payload::state:
    case Payload::diff: return std::string(record.payload);
    case Payload::text: return decode_text_payload(record.payload);
    case Payload::state_blob:
    case Payload::diff_blob: break;
  }
  PAWL_TRY_ASSIGN(const std::string name, decode_text_payload(record.payload));
  const std::string path = layout::blob(run_, name);
  if (name.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return fail(Error{Code::checkpoint_corrupt, "a blob's name is not a hash", path, {}, 0});
  }
  auto bytes = files_.read_file(path);
  if (!bytes) {
    return fail(Error{Code::chain_broken, fmt::format("checkpoint {} of run '{}' refers to a blob that can't be read",
                      record.sequence.value, run_), path, "run 'pawl fsck' to see what is damaged", 0});
  }
  PAWL_TRY_ASSIGN(const RunRecord run, run_record());
  if (to_hex(sha256(run.salt, *bytes)) != name) {
    return fail(Error{Code::checksum_mismatch, fmt::format("the blob of checkpoint {} of run '{}' is damaged",
                      record.sequence.value, run_), path, "run 'pawl fsck' to see what is damaged", 0});
  }
  return std::move(*bytes);
}

Result<std::string> RunReader::rebuild(const Chain& links, Sequence sequence) {
  const auto last = std::ranges::find(links.records, sequence, &RecordView::sequence);
  if (last == links.records.end()) {
    if (links.damage) return std::unexpected(*links.damage);
    return fail(not_found(sequence));
  }
  auto first = last;
  while (first != links.records.begin() && !first->whole()) --first;
  if (!first->whole()) return fail(Code::chain_broken, "checkpoint {} has no whole one before it", sequence.value);
  PAWL_TRY_ASSIGN(std::string state, payload_of(*first));
  PAWL_TRY_ASSIGN(const CheckpointInfo info, decode_info(*last));
  if (info.state_bytes < (1ULL << 32)) state.reserve(info.state_bytes);
  for (auto record = std::next(first); record <= last; ++record) {
    if (record->payload_kind == Payload::diff) {
      PAWL_TRY(apply_encoded_splices(state, record->payload));
    } else {
      PAWL_TRY_ASSIGN(const std::string payload, payload_of(*record));
      PAWL_TRY(apply_encoded_splices(state, payload));
    }
  }
  if (state.size() != info.state_bytes) {
    return fail(Error{Code::state_reconstruction_failed,
                      fmt::format("checkpoint {} of run '{}' should have {} bytes and has {}", sequence.value, run_,
                                  info.state_bytes, state.size()), {}, "run 'pawl fsck'", 0});
  }
  return state;
}

Result<Restored> RunReader::restore(const Which& which) {
  PAWL_TRY_ASSIGN(const Sequence sequence, resolve(which));
  PAWL_TRY_ASSIGN(const Sequence base, base_of(sequence));
  PAWL_TRY_ASSIGN(const Chain links, chain(base, sequence));
  Restored restored;
  PAWL_TRY_ASSIGN(restored.state, rebuild(links, sequence));
  PAWL_TRY_ASSIGN(restored.info, decode_info(*std::ranges::find(links.records, sequence, &RecordView::sequence)));
  return restored;
}

Result<CheckpointInfo> RunReader::info(const Which& which) {
  PAWL_TRY_ASSIGN(const Sequence sequence, resolve(which));
  PAWL_TRY_ASSIGN(const Sequence base, base_of(sequence));
  PAWL_TRY_ASSIGN(const Chain links, chain(base, sequence));
  const auto record = std::ranges::find(links.records, sequence, &RecordView::sequence);
  if (record != links.records.end()) return decode_info(*record);
  if (links.damage) return std::unexpected(*links.damage);
  return fail(not_found(sequence));
}

Result<std::vector<CheckpointInfo>> RunReader::list(Sequence after, std::size_t limit) {
  PAWL_TRY_ASSIGN(const Sequence last, latest());
  PAWL_TRY(run_record());
  std::vector<CheckpointInfo> found;
  Sequence next = after.next();
  while (next <= last && found.size() < limit) {
    PAWL_TRY_ASSIGN(const Sequence base, base_of(next));
    PAWL_TRY_ASSIGN(const Chain links, chain(base, last));
    if (links.damage) return std::unexpected(*links.damage);
    const Sequence before = next;
    for (const RecordView& record : links.records) {
      if (record.sequence < next || found.size() >= limit) continue;
      PAWL_TRY_ASSIGN(CheckpointInfo info, decode_info(record));
      found.push_back(std::move(info));
      next = record.sequence.next();
    }
    if (next == before) return fail(not_found(next));
  }
  return found;
}

Result<std::vector<Event>> RunReader::events(std::uint64_t after_number, std::size_t limit) {
  PAWL_TRY_ASSIGN(const std::uint32_t run_seed, seed());
  const std::uint64_t from_journal = records_ == nullptr || records_->events.empty() ? kHighest : records_->events.begin()->first;
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  std::vector<Event> found;
  std::optional<Error> damage;
  for (const std::string& name : names) {
    if (!name.ends_with(".jsonl")) continue;
    const std::string path = join_path(layout::events_folder(run_), name);
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(path));
    for_each_line(text, [&](std::string_view line, bool) {
      const auto number = line_number(line);
      if ((number && *number >= from_journal) || found.size() >= limit) return false;
      if (number && *number <= after_number) return true;
      auto event = decode_event(line, run_seed);
      if (!event && from_journal != kHighest) return false;  // unsettled remains; the journal has the rest
      if (!event) damage = at(event.error(), path);
      if (event) found.push_back(std::move(*event));
      return !damage;
    });
    if (damage) return std::unexpected(*damage);
  }
  if (records_ == nullptr) return found;
  for (const auto& [number, record] : records_->events) {
    if (number <= after_number || found.size() >= limit) continue;
    PAWL_TRY_ASSIGN(Event event, decode_event(without_newline(record.text), run_seed));
    found.push_back(std::move(event));
  }
  return found;
}

Result<RunInfo> RunReader::overview() {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  PAWL_TRY_ASSIGN(const CheckpointInfo last, info(Which{}));
  PAWL_TRY_ASSIGN(RunId id, RunId::parse(run_));
  RunInfo info{.id = std::move(id), .uuid = record.uuid, .created = record.created, .updated = last.created,
               .latest = last.sequence, .status = last.status, .kind = last.kind, .durability = record.durability,
               .workflow = record.workflow, .workflow_hash = record.workflow_hash, .session = record.session,
               .fork_of_run = record.fork_of_run, .fork_of_sequence = record.fork_of_sequence};
  return info;
}

Result<std::optional<RunHead>> RunReader::head() {
  auto record = run_record();
  if (!record && record.error().code == Code::run_not_found) return std::optional<RunHead>();
  if (!record) return std::unexpected(record.error());
  RunHead head;
  head.run = *record;
  PAWL_TRY_ASSIGN(const Sequence last, latest());
  PAWL_TRY_ASSIGN(head.base, base_of(last));
  PAWL_TRY_ASSIGN(const Chain links, chain(head.base, last));
  PAWL_TRY_ASSIGN(head.state, rebuild(links, last));
  PAWL_TRY_ASSIGN(head.latest, decode_info(links.records.back()));
  for (std::size_t i = 1; i < links.records.size(); ++i) head.differences_bytes += links.records[i].text.size() + 1;
  head.differences = links.records.size() - 1;
  PAWL_TRY(audit_head(head));
  PAWL_TRY(event_head(head));
  return std::optional(std::move(head));
}

namespace {

Result<void> add_identified(const RecordView& record, RunReader::IdentifiedSaves& saves) {
  if (record.metadata.find("\"caller\":") == std::string_view::npos) return {};
  PAWL_TRY_ASSIGN(CheckpointInfo info, decode_info(record));
  if (!info.caller_id.empty()) saves.emplace_back(std::move(info), decode_fingerprint(record));
  return {};
}

}  // namespace

Result<RunReader::IdentifiedSaves> RunReader::saves_with_caller_id() {
  PAWL_TRY_ASSIGN(const auto all, bases());
  IdentifiedSaves saves;
  for (const Sequence base : all) {
    PAWL_TRY_ASSIGN(const Chain links, chain(base, Sequence{kHighest}));
    for (const RecordView& record : links.records) PAWL_TRY(add_identified(record, saves));
  }
  return saves;
}

Result<RunReader::IdentifiedSaves> RunReader::journal_saves_with_caller_id() {
  IdentifiedSaves saves;
  if (records_ == nullptr) return saves;
  for (const auto& [sequence, found] : records_->checkpoints) {
    PAWL_TRY_ASSIGN(const RecordView record, decode(found.record.text, layout::journal(found.journal)));
    PAWL_TRY(add_identified(record, saves));
  }
  return saves;
}

Result<void> RunReader::audit_head(RunHead& head) {
  std::string line;
  if (records_ != nullptr && !records_->audit.empty()) {
    line = without_newline(records_->audit.rbegin()->second.text);
  } else {
    PAWL_TRY_ASSIGN(const auto file, files_.open(layout::audit(run_), OpenMode::read));
    PAWL_TRY_ASSIGN(const auto found, last_line_below(*file, kHighest));
    if (found) line = found->text;
  }
  auto entry = decode_audit(line);
  if (!entry) return fail(at(entry.error(), layout::audit(run_)));
  head.audit_index = entry->index;
  head.audit_hash = entry->hash;
  return {};
}

Result<void> RunReader::event_head(RunHead& head) {
  if (records_ != nullptr && !records_->events.empty()) {
    head.event_number = records_->events.rbegin()->first;
    return {};
  }
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::string newest;
  for (const FolderEntry& entry : entries) {
    if (entry.name.ends_with(".jsonl")) newest = std::max(newest, entry.name);
  }
  if (newest.empty()) return {};
  PAWL_TRY_ASSIGN(const auto file, files_.open(join_path(layout::events_folder(run_), newest), OpenMode::read));
  PAWL_TRY_ASSIGN(const auto found, last_line_below(*file, kHighest));
  if (found) head.event_number = found->number;
  return {};
}

}  // namespace pawl
