#include "adapters/filesystem/run_checker.hpp"

#include <algorithm>
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

}  // namespace

RunChecker::RunChecker(FileSystem& files, std::string run, std::shared_ptr<const JournalSnapshot> snapshot, CheckReport& report)
    : files_(files), run_(std::move(run)), snapshot_(std::move(snapshot)), records_(snapshot_->find(run_)), report_(report) {}

Sequence RunChecker::journal_from() const {
  return Sequence{records_ == nullptr || records_->checkpoints.empty() ? kHighest : records_->checkpoints.begin()->first};
}

Finding::Severity RunChecker::severity_of(Sequence sequence) const {
  return sequence >= journal_from() ? Finding::Severity::mendable : Finding::Severity::damage;
}

void RunChecker::add(Finding::Severity severity, Code code, std::string file, Sequence sequence, std::string what) {
  std::string advice;
  if (severity == Finding::Severity::mendable) advice = "the journal still holds it: 'pawl fsck --repair' writes the file again";
  if (severity == Finding::Severity::damage) {
    advice = fmt::format("restore the file from a backup; other checkpoints: 'pawl show {} --checkpoints'", run_);
  }
  report_.findings.push_back({severity, code, std::move(file), run_, sequence, std::move(what), std::move(advice)});
}

Result<void> RunChecker::check(Sequence only) {
  PAWL_TRY_ASSIGN(const bool usable, check_run_file());
  if (!usable) return {};
  ++report_.runs;
  PAWL_TRY(check_checkpoints(only));
  if (only) return {};
  PAWL_TRY(check_audit());
  PAWL_TRY(check_events());
  return check_strays();
}

Result<bool> RunChecker::check_run_file() {
  const std::string path = layout::run_file(run_);
  const bool in_journal = records_ != nullptr && records_->run.has_value();
  auto text = files_.read_file(path, 1ULL << 20);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  if (text) ++report_.files;
  if (in_journal) {
    if (text && *text != records_->run->text) {
      add(Finding::Severity::mendable, Code::store_damaged, path, {}, "the file differs from what the journal holds");
    }
    PAWL_TRY_ASSIGN(run_record_, decode_run(records_->run->text));
  } else if (!text) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
    // A folder with nothing but a lock is a run whose first save never happened.
    if (!entries.empty() || records_ != nullptr) add(Finding::Severity::damage, Code::store_damaged, path, {}, "the file is missing");
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

Result<void> RunChecker::check_checkpoints(Sequence only) {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::checkpoints(run_)));
  std::vector<Sequence> bases;
  for (const FolderEntry& entry : entries) {
    if (const auto base = base_in_file_name(entry.name)) bases.push_back(*base);
  }
  std::ranges::sort(bases);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Sequence end = i + 1 < bases.size() ? bases[i + 1] : Sequence{kHighest};
    if (only && (only < bases[i] || only >= end)) continue;
    if (!only && bases[i] < journal_from() && bases[i].value != last_.value + 1) {
      add(Finding::Severity::damage, Code::chain_broken, layout::full(run_, bases[i]), last_.next(),
          fmt::format("checkpoints {} to {} are missing", last_.value + 1, bases[i].value - 1));
    }
    PAWL_TRY(check_base(bases[i], end));
  }
  check_journal_records(only);
  if (only && !sums_.contains(only.value)) {
    add(Finding::Severity::damage, Code::checkpoint_not_found, layout::checkpoints(run_), only, "there is no such checkpoint");
  }
  return {};
}

Result<void> RunChecker::check_base(Sequence base, Sequence end) {
  const std::string path = layout::full(run_, base);
  PAWL_TRY_ASSIGN(const std::string text, files_.read_file(path));
  ++report_.files;
  state_known_ = false;
  check_record(without_newline(text), base, path);
  return check_lines(base, end);
}

Result<void> RunChecker::check_lines(Sequence base, Sequence end) {
  const std::string path = layout::differences(run_, base);
  auto text = files_.read_file(path);
  if (!text && text.error().code == Code::input_unreadable) return {};
  if (!text) return std::unexpected(text.error());
  ++report_.files;
  Sequence expected = base.next();
  for_each_line(*text, [&](std::string_view line, bool complete) {
    if (expected >= end) {
      add(severity_of(end), Code::chain_broken, path, expected, "the file goes on where another whole checkpoint begins");
      return false;
    }
    if (!complete) {
      add(severity_of(expected), Code::checkpoint_corrupt, path, expected, "the last line is not complete");
      return false;
    }
    check_record(line, expected, path);
    expected = expected.next();
    return true;
  });
  return {};
}

void RunChecker::check_record(std::string_view text, Sequence expected, const std::string& path) {
  const bool in_journal = records_ != nullptr && records_->checkpoints.contains(expected.value);
  if (in_journal && text != without_newline(records_->checkpoints.at(expected.value).record.text)) {
    add(Finding::Severity::mendable, Code::checkpoint_corrupt, path, expected, "the file differs from what the journal holds");
  }
  if (in_journal) return;  // its own record is checked with the journal's
  ++report_.checkpoints;
  last_ = expected;
  auto record = decode_checkpoint(text, seed_);
  if (record && record->sequence != expected) {
    record = fail(Code::chain_broken, "checkpoint {} stands where {} should", record->sequence.value, expected.value);
  }
  if (!record) {
    state_known_ = false;
    sums_[expected.value] = "";
    add(severity_of(expected), record.error().code, path, expected, record.error().message);
    return;
  }
  apply(*record, path);
}

/// Checks the sum, and that the differences lead to a state of the recorded size.
void RunChecker::apply(const RecordView& record, const std::string& path) {
  sums_[record.sequence.value] = std::string(record.sum);
  if (!sum_matches(record, run_record_.salt)) {
    add(severity_of(record.sequence), Code::checksum_mismatch, path, record.sequence, "the record does not have its SHA-256");
  }
  const auto info = decode_info(record);
  if (!info) {
    add(severity_of(record.sequence), info.error().code, path, record.sequence, info.error().message);
    return;
  }
  std::string payload;
  if (record.payload_kind == Payload::state_blob || record.payload_kind == Payload::diff_blob) {
    const auto name = decode_text_payload(record.payload);
    auto blob = files_.read_file(layout::blob(run_, name.value_or("")));
    blobs_.insert(name.value_or(""));
    if (!blob || to_hex(sha256(run_record_.salt, *blob)) != name.value_or("")) {
      add(Finding::Severity::damage, blob ? Code::checksum_mismatch : Code::chain_broken, layout::blob(run_, name.value_or("")),
          record.sequence, blob ? "the blob does not have its SHA-256" : "the blob is missing");
      state_known_ = false;
      return;
    }
    payload = std::move(*blob);
  } else if (record.payload_kind == Payload::text) {
    payload = decode_text_payload(record.payload).value_or("");
  } else {
    payload = record.payload;
  }
  if (record.whole()) {
    state_ = std::move(payload);
    state_known_ = true;
  } else if (state_known_) {
    state_known_ = apply_encoded_splices(state_, payload).has_value();
  } else {
    return;  // what it builds on is damaged, and was named
  }
  if (!state_known_ || state_.size() != info->state_bytes) {
    state_known_ = false;
    add(severity_of(record.sequence), Code::state_reconstruction_failed, path, record.sequence,
        "the recorded differences don't lead to the recorded size");
  }
}

void RunChecker::check_journal_records(Sequence only) {
  if (records_ == nullptr) return;
  for (const auto& [sequence, found] : records_->checkpoints) {
    if (only && sequence > only.value) break;
    const std::string path = layout::journal(found.journal);
    const auto record = decode_checkpoint(without_newline(found.record.text), seed_);
    ++report_.checkpoints;
    if (!record) {
      add(Finding::Severity::damage, record.error().code, path, Sequence{sequence}, record.error().message);
      state_known_ = false;
      continue;
    }
    if (last_ && !only && sequence != last_.value + 1) {
      add(Finding::Severity::damage, Code::chain_broken, path, last_.next(),
          fmt::format("checkpoints {} to {} are missing", last_.value + 1, sequence - 1));
    }
    last_.value = sequence;
    if (record->parent.value != sequence - 1) state_known_ = false;
    apply(*record, path);
  }
}

Result<void> RunChecker::check_audit() {
  const std::string path = layout::audit(run_);
  auto text = files_.read_file(path);
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  if (text) ++report_.files;
  const std::uint64_t from = records_ == nullptr || records_->audit.empty() ? kHighest : records_->audit.begin()->first;
  std::string previous(first_previous_hash());
  std::uint64_t index = 0;
  std::set<std::uint64_t> audited;
  const auto check_entry = [&](std::string_view line, const std::string& where) {
    ++index;
    const auto entry = decode_audit(line);
    const bool fits = entry && entry->index == index && entry->previous == previous;
    if (!fits) {
      add(Finding::Severity::damage, entry ? Code::chain_broken : Code::checksum_mismatch, where, {},
          fmt::format("entry {} of the audit trail {}", index, entry ? "does not follow the one before it" : "does not have its hash"));
      return false;
    }
    previous = entry->hash;
    if (!entry->sequence) return true;
    audited.insert(entry->sequence.value);
    const auto sum = sums_.find(entry->sequence.value);
    if (sum == sums_.end()) {
      add(Finding::Severity::damage, Code::chain_broken, layout::checkpoints(run_), entry->sequence,
          "the audit trail has this checkpoint, and it is missing");
    } else if (!sum->second.empty() && entry->payload != "sha256:" + sum->second) {
      add(Finding::Severity::damage, Code::checksum_mismatch, layout::checkpoints(run_), entry->sequence,
          "the checkpoint is not the one that the audit trail recorded");
    }
    return true;
  };
  bool intact = true;
  for_each_line(text.value_or(""), [&](std::string_view line, bool complete) {
    const auto number = line_number(line);
    if (index + 1 >= from) {
      const auto found = records_->audit.find(index + 1);
      const bool same = found != records_->audit.end() && complete && line == without_newline(found->second.text);
      if (!same) add(Finding::Severity::mendable, Code::checksum_mismatch, path, {}, "the end of the audit trail differs from the journal");
      return false;
    }
    if (!complete || !number) {
      add(Finding::Severity::damage, Code::checksum_mismatch, path, {}, fmt::format("line {} of the audit trail is damaged", index + 1));
      intact = false;
      return false;
    }
    intact = check_entry(line, path);
    return intact;
  });
  if (!intact) return {};
  if (records_ != nullptr) {
    for (const auto& [number, record] : records_->audit) {
      if (number == index + 1 && !check_entry(without_newline(record.text), "journal")) return {};
    }
  }
  for (const auto& [sequence, sum] : sums_) {
    if (!audited.contains(sequence)) {
      add(Finding::Severity::damage, Code::chain_broken, path, Sequence{sequence}, "the audit trail does not have this checkpoint");
    }
  }
  return {};
}

Result<void> RunChecker::check_events() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const std::uint64_t from = records_ == nullptr || records_->events.empty() ? kHighest : records_->events.begin()->first;
  std::uint64_t expected = 1;
  for (const std::string& name : names) {
    const std::string path = join_path(layout::events_folder(run_), name);
    if (!name.ends_with(".jsonl")) continue;
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(path));
    ++report_.files;
    for_each_line(text, [&](std::string_view line, bool complete) {
      const auto event = decode_event(line, seed_);
      const bool in_journal = expected >= from;
      if (!complete || !event || event->number != expected) {
        add(in_journal ? Finding::Severity::mendable : Finding::Severity::damage, Code::checksum_mismatch, path, {},
            fmt::format("event {} is damaged or missing", expected));
      }
      ++expected;
      return true;
    });
  }
  return {};
}

Result<void> RunChecker::check_strays() {
  for (const std::string& folder : {layout::run(run_), layout::checkpoints(run_), layout::blobs(run_), layout::audit_folder(run_)}) {
    PAWL_TRY_ASSIGN(const auto entries, files_.list(folder));
    for (const FolderEntry& entry : entries) {
      const std::string path = join_path(folder, entry.name);
      if (entry.name.ends_with(".tmp")) add(Finding::Severity::note, Code::store_damaged, path, {}, "left over from an interrupted write");
      if (folder == layout::blobs(run_) && !entry.name.ends_with(".tmp") && !blobs_.contains(entry.name)) {
        add(Finding::Severity::note, Code::store_damaged, path, {}, "no checkpoint refers to this blob");
      }
      // A file of differences belongs to the whole checkpoint of the same number.
      if (folder != layout::checkpoints(run_) || !entry.name.ends_with(".jsonl")) continue;
      const std::string whole = entry.name.substr(0, entry.name.size() - 1);
      const auto base = base_in_file_name(whole);
      PAWL_TRY_ASSIGN(const bool exists, files_.exists(join_path(folder, whole)));
      if (base && !exists) add(severity_of(*base), Code::chain_broken, join_path(folder, whole), *base, "the whole checkpoint is missing");
    }
  }
  return {};
}

}  // namespace pawl
