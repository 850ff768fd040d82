#include "adapters/filesystem/run_checker.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "adapters/filesystem/aside_file.hpp"
#include "adapters/filesystem/erased_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "adapters/filesystem/run_reader.hpp"
#include "adapters/filesystem/trail_file.hpp"
#include "domain/event_types.hpp"

namespace pawl {
namespace {

constexpr const char* kCutShort =
    "a crash left an incomplete copy in the file; the journal has all of it, and it will be rewritten";
constexpr const char* kLeftOver = "left over from an interrupted write";

}  // namespace

RunChecker::RunChecker(FileSystem& files, KeyRing& keys, std::string run,
                       std::shared_ptr<const JournalSnapshot> snapshot, CheckReport& report)
    : files_(files),
      keys_(keys),
      run_(std::move(run)),
      snapshot_(std::move(snapshot)),
      records_(snapshot_->find(run_)),
      report_(report) {}

void RunChecker::add(Finding::Severity severity, Code code, std::string file, Sequence sequence, std::string what) {
  std::string advice;
  Advice action = Advice::none;
  if (severity == Finding::Severity::mendable) action = Advice::repair_store;
  if (severity == Finding::Severity::damage) {
    advice = "restore the file from a backup";
    const bool nothing_is_readable =
        std::ranges::count(std::array{layout::run_file(run_), layout::pruned(run_), layout::aside(run_)}, file) > 0;
    action = nothing_is_readable ? Advice::destroy_run : Advice::show_intact;
    if (erased_) action = Advice::none;
  }
  report_.findings.push_back(
      {severity, code, std::move(file), run_, sequence, std::move(what), std::move(advice), action});
}

Result<void> RunChecker::check(Sequence only) {
  PAWL_TRY_ASSIGN(const bool erased, check_erased());
  if (erased) return {};
  PAWL_TRY_ASSIGN(const bool usable, check_run_file());
  if (!usable) return check_leftovers();
  ++report_.runs;
  PAWL_TRY(check_key());
  PAWL_TRY_ASSIGN(const bool list_usable, check_pruned());
  if (!list_usable) return {};
  PAWL_TRY(check_origin());
  PAWL_TRY(check_checkpoints(only));
  if (only) return {};
  PAWL_TRY(check_fork_notes());
  PAWL_TRY(check_audit());
  PAWL_TRY(check_events());
  PAWL_TRY(check_inbox());
  return check_strays();
}

/// Checks that the mark, the identity and the audit trail of an erased run exist, and nothing else.
Result<bool> RunChecker::check_erased() {
  const std::string path = layout::erased(run_);
  auto record = load_erased(files_, run_);
  if (!record && !is_refusal(record.error().code)) return std::unexpected(record.error());
  if (!record) {
    ++report_.files;
    add(Finding::Severity::damage, record.error().code, path, {}, record.error().message);
    return true;
  }
  if (!*record) return false;
  erased_ = std::move(*record);
  seed_ = seal_seed(erased_->uuid);
  if (!erased_->removed) ++report_.erased;
  ++report_.files;
  if (!erased_->finished) {
    report_.findings.push_back(
        {Finding::Severity::note,
         Code::erasure_pending,
         path,
         run_,
         {},
         fmt::format("the {} of this run is not finished", erased_->removed ? "removal" : "erasure"),
         {},
         erased_->removed ? Advice::repair_store : Advice::finish_erasure});
    return true;
  }
  if (erased_->removed) {
    PAWL_TRY(check_remains());
    return true;
  }
  const auto text = files_.read_file(layout::run_file(run_), 1ULL << 20);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  ++report_.files;
  const auto described = text ? decode_run(*text) : std::unexpected(text.error());
  if (!described || described->uuid != erased_->uuid || !described->salt.empty()) {
    add(Finding::Severity::mendable, Code::store_damaged, layout::run_file(run_), {},
        "unexpected contents for the file of an erased run");
  }
  records_ = nullptr;
  PAWL_TRY(check_audit());
  if (last_audited_ != event_type::kErased) {
    add(Finding::Severity::damage, Code::chain_broken, layout::audit(run_), {},
        "the audit trail does not end with the erasure");
  }
  PAWL_TRY(check_remains());
  return true;
}

Result<void> RunChecker::check_remains() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::run(run_)));
  for (const FolderEntry& entry : entries) {
    const std::string path = join_path(layout::run(run_), entry.name);
    if (entry.name == "lock" || entry.name == "erased.json") continue;
    if (!erased_->removed && (entry.name == "audit" || entry.name == "run.json")) continue;
    PAWL_TRY_ASSIGN(const auto inside, entry.is_folder ? files_.list(path) : Result<std::vector<FolderEntry>>());
    if (entry.is_folder && inside.empty()) continue;
    if (entry.name == "erased.json.tmp") {
      add(Finding::Severity::note, Code::store_damaged, path, {}, kLeftOver);
      continue;
    }
    report_.findings.push_back(
        {Finding::Severity::mendable,
         Code::store_damaged,
         path,
         run_,
         {},
         fmt::format("data of {} run still exists", erased_->removed ? "a removed" : "an erased"),
         {},
         Advice::repair_store});
  }
  return {};
}

Result<bool> RunChecker::check_run_file() {
  const std::string path = layout::run_file(run_);
  const bool in_journal = records_ != nullptr && records_->run.has_value();
  auto text = files_.read_file(path, 1ULL << 20);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  if (text) ++report_.files;
  if (in_journal) {
    if (text && *text != records_->run->text && is_left_by_crash(*text, records_->run->text)) {
      add(Finding::Severity::note, Code::store_damaged, path, {}, kCutShort);
    } else if (text && *text != records_->run->text) {
      add(Finding::Severity::mendable, Code::store_damaged, path, {}, "the file differs from the journal");
    }
    PAWL_TRY_ASSIGN(run_record_, decode_run(records_->run->text));
  } else if (!text) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
    // A folder with only a lock and unfinished files belongs to a run whose first save never happened.
    const auto counts = [](const FolderEntry& entry) { return !entry.name.ends_with(".tmp"); };
    if (std::ranges::any_of(entries, counts) || records_ != nullptr)
      add(Finding::Severity::damage, Code::store_damaged, path, {}, "the file is missing");
    return false;
  } else {
    auto record = decode_run(*text);
    if (record && record->run != run_) record = fail(Code::store_damaged, "it belongs to run '{}'", record->run);
    if (!record) {
      add(Finding::Severity::damage, record.error().code, path, {}, record.error().message);
      return false;
    }
    run_record_ = *record;
  }
  seed_ = seal_seed(run_record_.uuid);
  return true;
}

/// Checksums and hashes require no key. With a key, everything is decrypted as well.
Result<void> RunChecker::check_key() {
  auto codec = keys_.codec(run_, run_record_);
  if (!codec) {
    add(Finding::Severity::damage, codec.error().code, layout::run_file(run_), {}, codec.error().message);
    codec_.emplace(run_record_.uuid, PackRules(), RunCodec::FindKey());
    has_key_ = false;
    return {};
  }
  codec_ = std::move(*codec);
  if (!run_record_.encrypted) return {};
  const std::string path = layout::run_key(run_);
  const auto text = files_.read_file(path, 1ULL << 16U);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  ++report_.files;
  if (!text || !run_key_is_whole(*text)) {
    add(Finding::Severity::damage, Code::store_damaged, path, {},
        text ? "the file is damaged" : "the run's key is missing");
    has_key_ = false;
    return {};
  }
  const auto tried = codec_->fingerprint(0);
  has_key_ = tried.has_value();
  if (tried) return {};
  if (tried.error().code == Code::key_missing || tried.error().code == Code::key_wrong ||
      tried.error().code == Code::invalid_key) {
    add(Finding::Severity::note, tried.error().code, path, {},
        "checked without its key: checksums and hashes match, nothing was decrypted");
    return {};
  }
  add(Finding::Severity::damage, tried.error().code, path, {}, tried.error().message);
  return {};
}

/// Without the list of pruned checkpoints, it is unknown which checkpoints should exist.
Result<bool> RunChecker::check_pruned() {
  auto list = load_pruned(files_, run_, seed_);
  if (!list && !is_refusal(list.error().code)) return std::unexpected(list.error());
  if (!list) {
    // The error names pruned.json or aside.json.
    add(Finding::Severity::damage, list.error().code, list.error().where, {}, list.error().message);
    return false;
  }
  pruned_ = std::move(*list);
  if (!pruned_.dropped.empty()) ++report_.files;
  for (const auto& [first, last] : pruned_.aside.ranges()) {
    add(Finding::Severity::note, Code::checkpoint_set_aside, layout::aside(run_), Sequence{first},
        fmt::format("checkpoints {} to {} were damaged and set aside by a fallback", first, last));
  }
  if (pruned_.callers > 0) ++report_.files;
  const auto callers = load_pruned_callers(files_, run_, pruned_, seed_);
  if (callers) return true;
  if (!is_refusal(callers.error().code)) return std::unexpected(callers.error());
  add(Finding::Severity::damage, callers.error().code, layout::pruned_callers(run_), {}, callers.error().message);
  return true;
}

Result<void> RunChecker::check_checkpoints(Sequence only) {
  PAWL_TRY_ASSIGN(auto bases, list_bases(source()));
  PAWL_TRY_ASSIGN(stray_above_, last_audited());
  PAWL_TRY(drop_stray_bases(source(), seed_, stray_above_, bases));
  if (!bases.empty() && stray_above_) stray_above_ = std::max(stray_above_, bases.back());
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Sequence end{i + 1 < bases.size() ? bases[i + 1].value - 1 : kHighest};
    if (only && (only < bases[i] || only > end)) continue;
    if (bases[i] == run_record_.fork_of_sequence && pruned_.is_closed(bases[i].next())) continue;
    PAWL_TRY_ASSIGN(const Chain chain, read_chain(source(), seed_, bases[i], only ? only : end));
    state_known_ = chain.borrowed && shared_state_;
    if (state_known_) state_ = *shared_state_;
    check_chain(chain, end);
  }
  if (only && only > run_record_.fork_of_sequence && !sums_.contains(only.value)) {
    add(Finding::Severity::damage, Code::checkpoint_not_found, layout::checkpoints(run_), only, "no such checkpoint");
  }
  if (!only && sums_.empty() && stray_above_)
    add(Finding::Severity::damage, Code::chain_broken, layout::checkpoints(run_), {},
        fmt::format("none of the {} checkpoints is left; pruning always keeps the newest", stray_above_.value));
  if (only || sums_.empty()) return {};
  // Checks all numbers of the run itself up to the highest one found anywhere.
  std::uint64_t next = run_record_.fork_of_sequence.value + 1;
  sums_.for_each([&](std::uint64_t sequence, bool) {
    add_missing(next, sequence);
    next = sequence + 1;
  });
  return {};
}

void RunChecker::check_chain(const Chain& chain, Sequence end) {
  report_.files += (chain.lines_text ? 1U : 0U) + (chain.borrowed ? 0U : 1U);
  const std::string whole = whole_path(source(), chain.base);
  const std::string lines = lines_path(source(), chain.base);
  for (const ChainLink& link : chain.links) {
    if (chain.borrowed && link.record.sequence == chain.base) continue;
    ++report_.checkpoints;
    check_copy(link);
    apply(link.record, link.record.sequence == chain.base ? whole : lines);
  }
  for (const BadCopy& bad : chain.bad_copies) {
    const std::string& path = bad.sequence == chain.base ? whole : lines;
    if (bad.by_crash) {
      add(Finding::Severity::note, Code::checkpoint_corrupt, path, bad.sequence, kCutShort);
    } else {
      add(Finding::Severity::mendable, Code::checkpoint_corrupt, path, bad.sequence, "the file's copy is damaged");
    }
  }
  if (chain.damage) {
    add_damaged(chain, end);
  } else if (chain.bad_line && chain.bad_copies.empty()) {
    add(Finding::Severity::damage, chain.bad_line->code, lines, {}, "unexpected data after the last checkpoint");
  }
}

/// Checks that the copies in the file and in the journal are identical.
void RunChecker::check_copy(const ChainLink& link) {
  if (!link.from_journal) return;
  const auto found = records_->checkpoints.find(link.record.sequence.value);
  if (without_newline(found->second.record.text) == link.record.text) return;
  add(Finding::Severity::damage, Code::chain_broken, layout::checkpoints(run_), link.record.sequence,
      "the file and the journal contain different checkpoints with this number");
}

/// Checks the hash, and that the differences produce a state of the recorded size.
void RunChecker::apply(const RecordView& record, const std::string& path) {
  sums_.put(record.sequence.value, record.sum);
  if (!sum_matches(record, run_record_.salt)) {
    add(Finding::Severity::damage, Code::checksum_mismatch, path, record.sequence,
        "the record does not match its SHA-256");
  }
  const auto info = decode_info(record);
  if (!info) {
    add(Finding::Severity::damage, info.error().code, path, record.sequence, info.error().message);
    return;
  }
  if (run_record_.encrypted && !is_encrypted(record.how)) {
    add(Finding::Severity::damage, Code::not_encrypted, path, record.sequence,
        "unencrypted record in an encrypted run");
    state_known_ = false;
    return;
  }
  std::optional<std::string> payload = payload_of(record, path);
  if (!payload) {
    state_known_ = false;
    return;
  }
  if (record.whole()) {
    state_ = std::move(*payload);
    state_known_ = true;
  } else if (state_known_) {
    state_known_ = apply_encoded_splices(state_, *payload).has_value();
  } else {
    return;  // it is based on a checkpoint whose damage was already reported
  }
  if (!state_known_ || state_.size() != info->state_bytes) {
    state_known_ = false;
    add(Finding::Severity::damage, Code::state_reconstruction_failed, path, record.sequence,
        "the recorded differences don't produce the recorded size");
  }
}

/// Returns nothing if the payload is damaged, which it reports, or if the key is unknown.
std::optional<std::string> RunChecker::payload_of(const RecordView& record, const std::string& path) {
  std::string file = path;
  Result<std::string> payload;
  if (record.payload_kind == Payload::state_blob || record.payload_kind == Payload::diff_blob) {
    const std::string name = decode_text_payload(record.payload).value_or("");
    file = layout::blob(run_, name);
    const auto blob = files_.read_file(file);
    blobs_.insert(name);
    if (!blob || to_hex(sha256(run_record_.salt, *blob)) != name) {
      add(Finding::Severity::damage, blob ? Code::checksum_mismatch : Code::chain_broken, file, record.sequence,
          blob ? "the blob does not match its SHA-256" : "the blob is missing");
      return std::nullopt;
    }
    if (!has_key_) return std::nullopt;
    payload = codec_->blob(record, *blob);
  } else {
    if (!has_key_) return std::nullopt;
    payload = codec_->payload(record);
  }
  if (payload) return std::move(*payload);
  add(Finding::Severity::damage, payload.error().code, file, record.sequence, payload.error().message);
  return std::nullopt;
}

/// Checks the entries of the file and the journals as one chain in which each checkpoint has an entry.
Result<void> RunChecker::check_audit() {
  const std::string path = layout::audit(run_);
  PAWL_TRY(read_roots());
  const auto file = open_trail(files_, run_, OpenMode::read);
  if (!file && file.error().code != Code::input_unreadable) return std::unexpected(file.error());
  if (file) ++report_.files;
  std::string previous(first_previous_hash());
  std::uint64_t index = 0;
  bool forked = false;
  std::optional<std::string> bad;
  std::string aside;
  const auto take = [&](std::string_view line) {
    const auto entry = decode_audit(line);
    if (!entry) {
      bad = fmt::format("entry {} does not match its hash", index + 1);
    } else if (entry->index != index + 1 || entry->previous != previous) {
      bad = fmt::format("entry {} does not follow the previous entry", index + 1);
    }
    if (bad) return false;
    ++index;
    previous = entry->hash;
    if (index == 1) first_audited_ = entry->type;
    last_audited_ = entry->type;
    check_root(line);
    forked |= entry->type == event_type::kForked && entry->payload == fork_seal(run_record_);
    if (entry->type == event_type::kCheckpointsSetAside) aside = entry->payload;
    if (entry->type != event_type::kCheckpointSaved) return true;
    if (!erased_) check_audited(*entry);
    sums_.set_audited(entry->sequence.value);
    return true;
  };
  std::uint64_t line_at = 0;  // of the last line looked at
  if (file) {
    const auto read = for_each_line_of(**file, [&](std::string_view line, bool complete, std::uint64_t at) {
      line_at = at;
      if (complete) return take(line);
      bad = fmt::format("entry {} is incomplete", index + 1);
      return false;
    });
    if (!read && !is_refusal(read.error().code)) return read;
    if (!read) {
      if (erased_) return check_erased_trail(**file, index + 1, read.error());
      add(Finding::Severity::damage, read.error().code, read.error().where, {}, read.error().message);
      return {};
    }
    if (bad && erased_) return check_erased_trail(**file, index + 1, Error{Code::checksum_mismatch, *bad, path, {}, 0});
  }
  const bool journal_goes_on = records_ != nullptr && records_->audit.contains(index + 1);
  std::string rest;  // from the bad line on
  if (bad && journal_goes_on) {
    PAWL_TRY_ASSIGN(rest, (*file)->read_at(line_at, records_->audit.at(index + 1).text.size()));
  }
  if (bad && journal_goes_on && is_left_by_crash(rest, records_->audit.at(index + 1).text)) {
    add(Finding::Severity::note, Code::checksum_mismatch, path, {}, kCutShort);
  } else if (bad) {
    add(journal_goes_on ? Finding::Severity::mendable : Finding::Severity::damage, Code::checksum_mismatch, path, {},
        *bad);
    if (!journal_goes_on) return {};
  }
  bad.reset();
  while (records_ != nullptr && records_->audit.contains(index + 1) && !bad)
    take(without_newline(records_->audit.at(index + 1).text));
  if (bad) add(Finding::Severity::damage, Code::chain_broken, std::string(layout::kJournals), {}, *bad);
  if (bad) return {};
  if (run_record_.fork_of_run && !forked) {
    add(Finding::Severity::damage, Code::chain_broken, path, {},
        "the audit trail does not record the fork that run.json describes");
  }
  sums_.for_each([&](std::uint64_t sequence, bool audited) {
    if (!audited && !pruned_.is_dropped({sequence})) {
      add(Finding::Severity::damage, Code::chain_broken, path, Sequence{sequence},
          "the audit trail does not contain this checkpoint");
    }
  });
  check_roots();
  return check_aside(aside);
}

Result<void> RunChecker::check_aside(const std::string& audited) {
  const std::string path = layout::aside(run_);
  const auto text = files_.read_file(path);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  if (!text && audited.empty()) return {};
  if (!text) {
    add(Finding::Severity::damage, Code::store_damaged, path, {},
        "the audit trail refers to a list of checkpoints that were set aside, but the list is missing");
    return {};
  }
  ++report_.files;
  // A crash may have happened after the list was written and before the save that records its hash.
  const bool recorded = !sums_.empty() && sums_.last() > pruned_.last_aside().value;
  if (recorded && aside_sum(*text) != audited) {
    add(Finding::Severity::damage, Code::checksum_mismatch, path, {},
        "the list of checkpoints that were set aside differs from the one that the audit trail recorded");
  }
  return {};
}

void RunChecker::check_audited(const AuditEntry& entry) {
  const bool there = sums_.contains(entry.sequence.value);
  const std::string sum = sums_.sum_of(entry.sequence.value);
  const PrunedList::Sums* const rewritten = pruned_.rewritten(entry.sequence);
  if (!there && (pruned_.is_dropped(entry.sequence) || missing_.contains(entry.sequence.value))) return;
  if (!there) {
    add(Finding::Severity::damage, Code::chain_broken, layout::checkpoints(run_), entry.sequence,
        "the audit trail contains this checkpoint but it is missing");
  } else if (rewritten != nullptr && !sum.empty() && sum != rewritten->is) {
    add(Finding::Severity::damage, Code::checksum_mismatch, layout::kept(run_, entry.sequence), entry.sequence,
        "the checkpoint differs from the one that pruning kept");
  } else if (!sum.empty() && entry.payload != "sha256:" + (rewritten != nullptr ? rewritten->was : sum)) {
    add(Finding::Severity::damage, Code::checksum_mismatch, layout::checkpoints(run_), entry.sequence,
        "the checkpoint differs from the one that the audit trail recorded");
  }
}

Result<void> RunChecker::check_events() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) names.push_back(entry.name);
  }
  std::ranges::sort(names);
  std::uint64_t expected = run_record_.fork_events + 1;
  bool damaged = false;
  for (const std::string& name : names) {
    const std::string path = join_path(layout::events_folder(run_), name);
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(path));
    ++report_.files;
    for_each_line(text, [&](std::string_view line, bool complete) {
      const auto event = decode_event(line, seed_);
      if (complete && event && event->event.number == expected) {
        ++expected;
        return true;
      }
      damaged = true;
      const bool in_journal = records_ != nullptr && records_->events.contains(expected);
      const std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(line.data() - text.data()));
      if (in_journal && is_left_by_crash(rest, records_->events.at(expected).text)) {
        add(Finding::Severity::note, Code::checksum_mismatch, path, {}, kCutShort);
        return false;
      }
      add(in_journal ? Finding::Severity::mendable : Finding::Severity::damage, Code::checksum_mismatch, path, {},
          fmt::format("event {} is damaged", expected));
      return false;
    });
  }
  if (damaged) return {};
  const auto all_there = RunReader(files_, keys_, run_, snapshot_).check_last_events();
  if (all_there) return {};
  if (!is_refusal(all_there.error().code)) return std::unexpected(all_there.error());
  add(Finding::Severity::damage, all_there.error().code, layout::events_folder(run_), {}, all_there.error().message);
  return {};
}

/// A run whose first save was interrupted may have temporary files, but nothing that could be checked.
Result<void> RunChecker::check_leftovers() {
  for (const std::string& folder : {layout::run(run_), layout::checkpoints(run_), layout::blobs(run_),
                                    layout::audit_folder(run_), layout::inbox(run_)}) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
    for (const FolderEntry& entry : entries) {
      if (entry.name.ends_with(".tmp"))
        add(Finding::Severity::note, Code::store_damaged, join_path(folder, entry.name), {}, kLeftOver);
    }
  }
  return {};
}

Result<void> RunChecker::check_strays() {
  const std::string folders[] = {layout::run(run_), layout::checkpoints(run_), layout::blobs(run_),
                                 layout::audit_folder(run_), layout::inbox(run_)};
  for (const std::string& folder : folders) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
    for (const FolderEntry& entry : entries) PAWL_TRY(check_stray(folder, entry.name));
  }
  return {};
}

Result<void> RunChecker::check_stray(const std::string& folder, const std::string& name) {
  const std::string path = join_path(folder, name);
  if (name.ends_with(".tmp")) {
    add(Finding::Severity::note, Code::store_damaged, path, {}, kLeftOver);
  } else if (folder == layout::blobs(run_) && !blobs_.contains(name)) {
    add(Finding::Severity::note, Code::store_damaged, path, {}, "no checkpoint refers to this blob");
  }
  if (folder != layout::checkpoints(run_)) return {};
  if (is_void(name, pruned_)) {
    add(Finding::Severity::note, Code::store_damaged, path, {}, "left over from pruning; the next prune removes it");
    return {};
  }
  if (const auto set_aside = sequence_in_file_name(name, "checkpoint_", name.ends_with(".jsonl") ? ".jsonl" : ".json");
      set_aside && pruned_.is_aside(*set_aside)) {
    add(Finding::Severity::note, Code::checkpoint_set_aside, path, *set_aside, "damaged; set aside by a fallback");
    return {};
  }
  const auto numbered = sequence_in_file_name(name, "checkpoint_", name.ends_with(".jsonl") ? ".jsonl" : ".json");
  const bool known = numbered && records_ != nullptr && records_->checkpoints.contains(numbered->value);
  if (numbered && stray_above_ && *numbered > stray_above_ && !known) {
    add(Finding::Severity::note, Code::store_damaged, path, {}, "not a checkpoint of this run; the file is ignored");
    return {};
  }
  if (!name.ends_with(".jsonl")) return {};
  // A file of differences belongs to the full checkpoint with the same number.
  const std::string whole = name.substr(0, name.size() - 1);
  const auto base = base_in_file_name(whole);
  PAWL_TRY_ASSIGN(const bool exists, files_.exists(join_path(folder, whole)));
  if (base && *base == run_record_.fork_of_sequence) return {};  // checked by check_origin
  const bool in_journal = base && records_ != nullptr && records_->checkpoints.contains(base->value);
  if (base && !exists) {
    add(in_journal ? Finding::Severity::note : Finding::Severity::damage, Code::chain_broken, join_path(folder, whole),
        *base,
        in_journal ? "a crash lost this file; the journal has all of it, and it will be rewritten"
                   : "the full checkpoint is missing");
  }
  return {};
}

}  // namespace pawl
