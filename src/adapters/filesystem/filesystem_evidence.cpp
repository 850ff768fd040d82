#include "adapters/filesystem/filesystem_evidence.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "adapters/filesystem/chain_reader.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/numbered_lines.hpp"
#include "adapters/filesystem/pruned_file.hpp"
#include "adapters/filesystem/trail_file.hpp"
#include "base/confined.hpp"

namespace pawl {
namespace {

Result<std::vector<std::string>> event_files(FileSystem& files, const std::string& run) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::events_folder(run)));
  std::vector<std::string> paths;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) paths.push_back(join_path(layout::events_folder(run), entry.name));
  }
  std::ranges::sort(paths);
  return paths;
}

std::unexpected<Error> bad_file(std::string message, const std::string& path) {
  return fail(Error{Code::checkpoint_corrupt, std::move(message), path, {}, 0});
}

Result<Sequence> last_audited(FileSystem& files, const std::string& run, const RunRecords* records) {
  Sequence last;
  if (records != nullptr && !records->audit.empty()) last = records->audit.rbegin()->second.sequence;
  const auto file = files.open(layout::audit(run), OpenMode::read);
  if (!file) return last;
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  const auto entry = line ? decode_audit(line->text) : fail(Code::checksum_mismatch, "it is missing");
  return entry ? std::max(last, entry->sequence) : last;
}

/// Returns the number at the start of the last complete line, or 0.
Result<std::uint64_t> last_number(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::read);
  if (!file && file.error().code == Code::input_unreadable) return 0;
  if (!file) return std::unexpected(file.error());
  PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
  return line ? line->number : 0;
}

template <class Records>
void end_at_gap(Records& records, std::uint64_t last) {
  for (auto next = records.begin(); next != records.end(); ++next) {
    if (next->first > last + 1) {
      records.erase(next, records.end());
      return;
    }
    last = std::max(last, next->first);
  }
}

/// Leaves out the records of a copied journal that don't connect to the copied files: what is between them was settled
/// after the files were copied.
Result<RunRecords> connected(FileSystem& files, const std::string& run, RunRecords records,
                             const std::vector<std::string>& event_files) {
  PAWL_TRY_ASSIGN(const std::uint64_t entries, last_number(files, layout::audit(run)));
  end_at_gap(records.audit, entries);
  std::uint64_t events = 0;
  for (const std::string& path : event_files) {
    PAWL_TRY_ASSIGN(const std::uint64_t last, last_number(files, path));
    events = std::max(events, last);
  }
  Sequence newest;
  auto text =
      records.run ? Result<std::string>(std::string(records.run->text)) : files.read_file(layout::run_file(run));
  if (const auto described = text ? decode_run(*text) : std::unexpected(text.error())) {
    events = std::max(events, described->fork_events);
    newest = described->fork_of_sequence;
  }
  end_at_gap(records.events, events);
  PAWL_TRY_ASSIGN(const auto names, files.list(layout::checkpoints(run)));
  for (const FolderEntry& entry : names) {
    const std::string path = join_path(layout::checkpoints(run), entry.name);
    PAWL_TRY_ASSIGN(const std::uint64_t last, entry.name.ends_with(".jsonl") ? last_number(files, path) : 0);
    newest = std::max({newest, base_in_file_name(entry.name).value_or(Sequence()), Sequence{last}});
  }
  end_at_gap(records.checkpoints, newest.value);
  return records;
}

class RunFiles final : public RunEvidence {
 public:
  RunFiles(FileSystem& files, std::string boot_id, std::string run, std::shared_ptr<const JournalSnapshot> snapshot,
           std::shared_ptr<const RunRecords> connected, const RunRecords* records, std::vector<std::string> events)
      : connected_(std::move(connected)),
        files_(files),
        boot_id_(std::move(boot_id)),
        run_(std::move(run)),
        snapshot_(std::move(snapshot)),
        records_(records),
        entries_(NumberedLines::of_trail(files_, run_, records_ == nullptr ? nullptr : &records_->audit)),
        events_(files_, "event", std::move(events), records_ == nullptr ? nullptr : &records_->events) {}

  Result<void> begin() {
    if (snapshot_->copied()) {
      entries_.end_at_truncated();
      events_.end_at_truncated();
    }
    if (records_ != nullptr && !records_->audit.empty()) last_entry_ = records_->audit.rbegin()->first;
    PAWL_TRY_ASSIGN(trail_bytes_, trail_size());
    auto file = open_trail(files_, run_, OpenMode::read);
    if (!file && file.error().code != Code::input_unreadable) return std::unexpected(file.error());
    if (!file) return {};
    PAWL_TRY_ASSIGN(const auto line, last_line_below(**file, kHighest));
    if (line) last_entry_ = std::max(last_entry_, line->number);
    // The file does not end with a valid entry, so the number of entries is unknown.
    if (trail_bytes_ > 0 && (!line || line->end != trail_bytes_ || !decode_audit(line->text))) last_entry_ = kHighest;
    return {};
  }

  Result<std::string> run_file() override {
    PAWL_TRY_ASSIGN(auto text, read_if_there(files_, layout::run_file(run_)));
    const bool in_journal = records_ != nullptr && records_->run;
    if (!text && !in_journal)
      return fail(Error{Code::store_damaged, "run.json is missing", layout::run_file(run_), {}, 0});
    const bool longer = text && in_journal && text->size() > records_->run->text.size();
    if (text && in_journal && (longer || !is_left_by_crash(*text, records_->run->text))) {
      return fail(Error{Code::store_damaged, "run.json differs from the journal", layout::run_file(run_), {}, 0});
    }
    return in_journal ? std::string(records_->run->text) : std::move(*text);
  }

  Result<std::optional<std::string>> pruned_file() override { return read_if_there(files_, layout::pruned(run_)); }
  Result<std::optional<std::string>> aside_file() override { return read_if_there(files_, layout::aside(run_)); }
  Result<std::optional<std::string>> roots_file() override { return read_if_there(files_, layout::roots(run_)); }
  Result<std::optional<std::string>> erased_file() override { return read_if_there(files_, layout::erased(run_)); }

  Result<std::optional<StoredText>> next_entry() override { return stored(entries_.next()); }
  Result<std::optional<StoredText>> next_event() override {
    PAWL_TRY(prepare());
    return stored(events_.next());
  }
  Result<std::optional<StoredText>> next_checkpoint() override;
  Result<std::optional<Sha256>> blob_hash(std::string_view name, std::string_view salt) override;

  [[nodiscard]] std::uint64_t last_entry() const override { return last_entry_; }
  [[nodiscard]] std::uint64_t first_entry_in_journal() const override {
    return records_ == nullptr || records_->audit.empty() ? 0 : records_->audit.begin()->first;
  }
  Result<bool> unchanged() override {
    PAWL_TRY_ASSIGN(const std::uint64_t bytes, trail_size());
    PAWL_TRY_ASSIGN(const auto pruned, pruned_file());
    if (bytes != trail_bytes_ || (prepared_ && pruned != pruned_text_)) return false;
    PAWL_TRY_ASSIGN(const bool current, snapshot_->is_current(files_, boot_id_));
    if (current) return true;
    PAWL_TRY_ASSIGN(const auto now, JournalSnapshot::take(files_, boot_id_));
    return now->last_batches() == snapshot_->last_batches();
  }
  [[nodiscard]] bool copied_in_use() const override { return snapshot_->copied(); }
  [[nodiscard]] std::string path_of(std::string_view file) const override { return join_path(layout::run(run_), file); }

 private:
  Result<std::uint64_t> trail_size() {
    auto file = open_trail(files_, run_, OpenMode::read);
    if (!file)
      return file.error().code == Code::input_unreadable ? Result<std::uint64_t>(0) : std::unexpected(file.error());
    return (*file)->size();
  }
  static Result<std::optional<StoredText>> stored(Result<std::optional<NumberedLines::Line>> line) {
    if (!line) return std::unexpected(std::move(line).error());
    if (!*line) return std::optional<StoredText>();
    return std::optional(StoredText{(*line)->number, (*line)->text, (*line)->file});
  }
  Result<void> prepare();
  Result<bool> read_next_chain();
  Result<void> check_copy(const ChainLink& link, const std::string& path) const;
  Result<void> check_end() const;
  [[nodiscard]] bool ends_within_line() const;
  [[nodiscard]] ChainSource source() const { return {files_, run_, records_, pruned_, fork_at_}; }

  const std::shared_ptr<const RunRecords> connected_;  // of a copy: what `records_` refers to
  FileSystem& files_;
  const std::string boot_id_;
  const std::string run_;
  const std::shared_ptr<const JournalSnapshot> snapshot_;
  const RunRecords* records_;
  NumberedLines entries_;
  NumberedLines events_;
  std::uint64_t last_entry_ = 0;
  std::uint64_t trail_bytes_ = 0;

  bool prepared_ = false;
  std::uint32_t seed_ = 0;
  std::optional<std::string> pruned_text_;
  PrunedList pruned_;
  Sequence fork_at_;  // of a fork: its own checkpoints start after this one
  std::vector<Sequence> bases_;
  std::size_t next_base_ = 0;
  Chain chain_;
  std::string whole_path_;
  std::string lines_path_;
  std::size_t next_link_ = 0;
};

Result<void> RunFiles::prepare() {
  if (prepared_) return {};
  PAWL_TRY_ASSIGN(const std::string text, run_file());
  PAWL_TRY_ASSIGN(const RunRecord record, decode_run(text));
  seed_ = seal_seed(record.uuid);
  if (record.fork_of_run) {
    fork_at_ = record.fork_of_sequence;
    events_.begin_behind(record.fork_events);
  }
  PAWL_TRY_ASSIGN(pruned_text_, pruned_file());
  PAWL_TRY_ASSIGN(pruned_, load_pruned(files_, run_, seed_));
  PAWL_TRY_ASSIGN(bases_, list_bases(source()));
  PAWL_TRY_ASSIGN(const Sequence audited, last_audited(files_, run_, records_));
  PAWL_TRY(drop_stray_bases(source(), seed_, audited, bases_));
  prepared_ = true;
  return {};
}

/// Checks that the file's copy of a record equals the journal's, and that the file of a full checkpoint contains
/// nothing else.
Result<void> RunFiles::check_copy(const ChainLink& link, const std::string& path) const {
  const Sequence sequence = link.record.sequence;
  for (const BadCopy& copy : chain_.bad_copies) {
    if (copy.sequence != sequence) continue;
    if (!is_left_by_crash(copy.found, records_->checkpoints.at(sequence.value).record.text))
      return bad_file(fmt::format("checkpoint {} differs from the journal", sequence.value), path);
  }
  if (link.from_journal) {
    std::string_view copy = records_->checkpoints.at(sequence.value).record.text;
    if (copy.ends_with('\n')) copy.remove_suffix(1);
    if (copy != link.record.text)
      return bad_file(fmt::format("checkpoint {} differs from the journal", sequence.value), path);
    return {};
  }
  if (sequence == chain_.base && !chain_.borrowed && *chain_.whole_text != std::string(link.record.text) + "\n") {
    return bad_file(fmt::format("unexpected data in the file of checkpoint {}", sequence.value), path);
  }
  return {};
}

/// Returns whether the last file of the chain ends in the middle of the first line that can't be read.
bool RunFiles::ends_within_line() const {
  const auto& text = chain_.lines_text ? chain_.lines_text : chain_.whole_text;
  if (!text || text->ends_with('\n')) return false;
  return static_cast<std::size_t>(std::ranges::count(*text, '\n')) <= chain_.links.size();
}

/// Checks that a file of differences contains nothing else.
Result<void> RunFiles::check_end() const {
  if (snapshot_->copied() && next_base_ == bases_.size() && ends_within_line()) return {};  // the rest was not copied
  if (chain_.damage) return fail(at(*chain_.damage, lines_path_));
  if (chain_.bad_line && chain_.bad_copies.empty())
    return bad_file("unexpected data after the last checkpoint", lines_path_);
  const auto lines = chain_.lines_text ? std::ranges::count(*chain_.lines_text, '\n') : 0;
  if (lines > 0 && static_cast<std::size_t>(lines) >= chain_.links.size())
    return bad_file("unexpected data after the last checkpoint", lines_path_);
  return {};
}

Result<bool> RunFiles::read_next_chain() {
  PAWL_TRY(check_end());
  if (next_base_ == bases_.size()) return false;
  const Sequence base = bases_[next_base_++];
  const Sequence end{next_base_ < bases_.size() ? bases_[next_base_].value - 1 : kHighest};
  whole_path_ = whole_path(source(), base);
  lines_path_ = lines_path(source(), base);
  PAWL_TRY_ASSIGN(chain_, read_chain(source(), seed_, base, end));
  next_link_ = chain_.borrowed ? 1 : 0;
  return true;
}

Result<std::optional<StoredText>> RunFiles::next_checkpoint() {
  PAWL_TRY(prepare());
  while (next_link_ == chain_.links.size()) {
    PAWL_TRY_ASSIGN(const bool more, read_next_chain());
    if (!more) return std::optional<StoredText>();
  }
  const ChainLink& link = chain_.links[next_link_];
  const std::string& file = next_link_++ == 0 ? whole_path_ : lines_path_;
  PAWL_TRY(check_copy(link, file));
  return std::optional(StoredText{link.record.sequence.value, link.record.text, file});
}

Result<std::optional<Sha256>> RunFiles::blob_hash(std::string_view name, std::string_view salt) {
  auto file = files_.open(layout::blob(run_, name), OpenMode::read);
  if (!file && file.error().code == Code::input_unreadable) return std::optional<Sha256>();
  if (!file) return std::unexpected(file.error());
  Sha256Stream hash;
  hash.add(salt);
  for (std::uint64_t offset = 0;;) {
    PAWL_TRY_ASSIGN(const std::string piece, (*file)->read_at(offset, kPieceBytes));
    hash.add(piece);
    offset += piece.size();
    if (piece.size() < kPieceBytes) return std::optional(hash.finish());
  }
}

/// Returns whether the folder belongs to a run. One that contains only a lock belongs to a run whose first save never
/// happened. A folder may have been copied before its run was created, and the checkpoints in it afterwards.
Result<bool> has_files(FileSystem& files, const std::string& run, bool copied) {
  PAWL_TRY_ASSIGN(const bool has_run, files.exists(layout::run_file(run)));
  PAWL_TRY_ASSIGN(const bool has_mark, files.exists(layout::erased(run)));
  PAWL_TRY_ASSIGN(const auto checkpoints, files.list(layout::checkpoints(run)));
  return has_run || has_mark || (!copied && !checkpoints.empty());
}

}  // namespace

Result<void> FilesystemEvidence::read_journals(Journals journals) {
  if (snapshot_ && journals == Journals::as_read) return {};
  // Published records must still be in the files: a missing run is not replaced by the journal's copy here.
  PAWL_TRY_ASSIGN(snapshot_, JournalSnapshot::take(files_, boot_id_, JournalSnapshot::Records::unpublished));
  return {};
}

Result<Uuid> FilesystemEvidence::store_id() {
  PAWL_TRY_ASSIGN(const std::string text, files_.read_file(layout::kStoreFile, 1ULL << 20));
  auto record = decode_store(text);
  if (!record) return fail(at(record.error(), std::string(layout::kStoreFile)));
  return record->id;
}

Result<std::vector<std::string>> FilesystemEvidence::runs() {
  PAWL_TRY(read_journals(Journals::as_read));
  std::set<std::string> names;
  const bool copied = snapshot_->copied();
  for (const auto& [run, records] : snapshot_->runs()) {
    if (!copied || records.run) names.insert(run);
  }
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::kRuns));
  for (const FolderEntry& entry : entries) {
    if (names.contains(entry.name) || !entry.is_folder) continue;
    const auto exists = has_files(files_, entry.name, copied);
    if (!exists && !is_confined(exists.error())) return std::unexpected(exists.error());
    if (!exists || *exists) names.insert(entry.name);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<std::unique_ptr<RunEvidence>> FilesystemEvidence::run(const RunId& run, Journals journals) {
  PAWL_TRY(read_journals(journals));
  PAWL_TRY_ASSIGN(const bool has_run, files_.exists(layout::run_file(run.text())));
  PAWL_TRY_ASSIGN(const auto checkpoints, files_.list(layout::checkpoints(run.text())));
  PAWL_TRY_ASSIGN(const bool has_mark, files_.exists(layout::erased(run.text())));
  if (!has_run && !has_mark && checkpoints.empty() && snapshot_->find(run.text()) == nullptr) {
    return fail(Error{Code::run_not_found,
                      fmt::format("there is no run '{}' in this store", run.text()),
                      {},
                      {},
                      0,
                      Advice::list_runs});
  }
  // A damaged batch counts unless the trail goes beyond what it can have contained.
  if (auto doubt = has_mark ? std::nullopt : snapshot_->doubt(run.text())) {
    PAWL_TRY_ASSIGN(const Sequence audited, last_audited(files_, run.text(), snapshot_->find(run.text())));
    if (audited < Sequence{doubt->highest_lost}) return std::unexpected(std::move(doubt->error));
  }
  PAWL_TRY_ASSIGN(auto events, event_files(files_, run.text()));
  // The trail of an erased run is in its file. Journals may still contain data that is about to be destroyed.
  const RunRecords* records = has_mark ? nullptr : snapshot_->find(run.text());
  std::shared_ptr<const RunRecords> of_copy;
  if (records != nullptr && snapshot_->copied()) {
    PAWL_TRY_ASSIGN(RunRecords connecting, connected(files_, run.text(), *records, events));
    of_copy = std::make_shared<const RunRecords>(std::move(connecting));
    records = of_copy.get();
  }
  auto evidence = std::make_unique<RunFiles>(files_, boot_id_, run.text(), snapshot_, std::move(of_copy), records,
                                             std::move(events));
  PAWL_TRY(evidence->begin());
  return evidence;
}

}  // namespace pawl
