#include "audit/verify.hpp"

#include <algorithm>
#include <map>

#include "audit/audit_line.hpp"
#include "audit/roots.hpp"
#include "base/confined.hpp"
#include "base/json.hpp"
#include "codec/erased_text.hpp"
#include "codec/pruned_text.hpp"
#include "codec/record_text.hpp"
#include "domain/event_types.hpp"

namespace pawl {
namespace {

constexpr int kAttemptsMax = 20;
constexpr std::uint64_t kProgressEvery = 1U << 14U;
constexpr std::size_t kHashDigits = 2 * sizeof(Sha256);
constexpr std::string_view kSumPrefix = "sha256:";
constexpr std::string_view kTrail = "audit/audit_trail.jsonl";
constexpr std::string_view kRootsFile = "audit/merkle_roots.json";

bool is_sum(std::string_view text, const Sha256& hash) {
  return text.starts_with(kSumPrefix) && equals_hex(hash, text.substr(kSumPrefix.size()));
}

/// `{"n":7,"seq":3,`
std::optional<std::uint64_t> sequence_of_event(std::string_view line) {
  constexpr std::string_view kKey = ",\"seq\":";
  const std::size_t key = line.find(kKey);
  if (key == std::string_view::npos || key > 32) return std::nullopt;
  std::uint64_t sequence = 0;
  for (std::size_t i = key + kKey.size(); i < line.size() && line[i] >= '0' && line[i] <= '9'; ++i)
    sequence = sequence * 10 + static_cast<std::uint64_t>(line[i] - '0');
  return sequence;
}

/// One pass over one run. Errors of the audit trail and of the stored data are findings.
class RunVerifier {
 public:
  RunVerifier(RunEvidence& evidence, const RunId& run, const AnchorPoint* anchor, const VerifyProgress& progress)
      : evidence_(evidence), anchor_(anchor), progress_(progress) {
    verdict_.head.run = run.text();
  }

  Result<RunVerdict> verify() {
    auto done = look();
    if (done && missing_blob_) note_incomplete(missing_blob_->first);
    if (done) return std::move(verdict_);
    const Error& error = done.error();
    if (!is_confined(error)) return std::unexpected(error);
    if (not_copied_ && (anchor_ == nullptr || anchor_->entries < entry_)) {
      note_incomplete(missing_blob_ ? missing_blob_->first : error.message);
      end_head();
      return std::move(verdict_);
    }
    verdict_.bad = BadEntry{error.code, entry_, sequence_, error.where, error.message, hint_of(error)};
    if (error.code != Code::anchor_mismatch) verdict_.bad->action = Advice::show_intact;
    return std::move(verdict_);
  }

 private:
  [[nodiscard]] std::unexpected<Error> bad(std::string what, std::string_view file) const {
    return fail(Error{Code::audit_damaged, std::move(what), evidence_.path_of(file), {}, 0});
  }
  [[nodiscard]] std::unexpected<Error> bad_at(std::string what, std::string_view path) const {
    return fail(Error{Code::audit_damaged, std::move(what), std::string(path), {}, 0});
  }
  void note_incomplete(std::string_view why) {
    verdict_.notes.push_back(fmt::format("this copy was made while the store was in use and is not complete: {}", why));
  }
  /// Something is missing that a copy may lack at its end.
  [[nodiscard]] std::unexpected<Error> missing(std::string what, std::string_view file) {
    not_copied_ = evidence_.copied_in_use();
    return bad(std::move(what), file);
  }
  [[nodiscard]] std::unexpected<Error> missing_at(std::string what, std::string_view path) {
    not_copied_ = evidence_.copied_in_use();
    return bad_at(std::move(what), path);
  }
  [[nodiscard]] static std::string hint_of(const Error& error) {
    if (error.code == Code::anchor_mismatch)
      return "data from before the anchor was replaced or removed: restore the run from a backup";
    return "restore the file from a backup";
  }

  Result<void> look() {
    entry_ = 1;
    PAWL_TRY(read_mark());
    if (erased_ && erased_->removed) return check_removed();
    PAWL_TRY(read_run());
    PAWL_TRY(read_roots());
    while (verdict_.head.entries < evidence_.last_entry()) {
      entry_ = verdict_.head.entries + 1;
      sequence_ = {};
      PAWL_TRY_ASSIGN(const auto stored, evidence_.next_entry());
      if (!stored) break;
      PAWL_TRY(take_entry(*stored));
      if (progress_ && entry_ % kProgressEvery == 0) progress_(entry_);
    }
    return finish();
  }

  Result<void> read_mark() {
    PAWL_TRY_ASSIGN(const auto text, evidence_.erased_file());
    if (!text) return {};
    auto mark = decode_erased(*text);
    if (mark && mark->run != verdict_.head.run) mark = fail(Code::store_damaged, "it belongs to run '{}'", mark->run);
    if (!mark) return fail(at(mark.error(), evidence_.path_of("erased.json")));
    erased_ = std::move(*mark);
    return {};
  }

  /// For a removed run, only the end of the trail and the entry after it are known. An anchor at either of them can be
  /// compared; the earlier entries are gone.
  Result<void> check_removed() {
    const auto wrong = [&](Code code, std::string what) {
      return fail(Error{code, std::move(what), evidence_.path_of("erased.json"), {}, 0});
    };
    std::vector<Sha256> peaks;
    for (std::size_t begin = 0; begin < erased_->peaks.size(); begin += kHashDigits) {
      const auto peak = hash_of_hex(std::string_view(erased_->peaks).substr(begin, kHashDigits));
      if (peak) peaks.push_back(*peak);
    }
    auto tree = MerkleFrontier::of(erased_->entries, std::move(peaks));
    const std::string hash = removed_entry_hash(*erased_);
    const auto leaf = hash_of_hex(hash);
    if (!tree || !leaf) return wrong(Code::audit_damaged, "the tombstone of the removed run is not valid");
    const Sha256 root_before = tree->root();
    tree->add(merkle_leaf(bytes_of(*leaf)));
    verdict_.head = {verdict_.head.run, erased_->uuid, erased_->entries + 1, hash, to_hex(tree->root()), erased_->at};
    verdict_.removed = RunVerdict::Removal{erased_->at, erased_->by, erased_->reason};
    if (anchor_ == nullptr) return {};
    entry_ = anchor_->entries;
    if (anchor_->uuid != erased_->uuid)
      return wrong(Code::anchor_mismatch, "the removed run is not the one that the anchor has");
    if (anchor_->entries > verdict_.head.entries) {
      return wrong(Code::anchor_mismatch,
                   fmt::format("the audit trail had {} entries when the run was removed, but the anchor has {}",
                               erased_->entries, anchor_->entries));
    }
    const bool last = anchor_->entries == erased_->entries;
    const bool removal = anchor_->entries == verdict_.head.entries;
    const bool same = last ? anchor_->head == erased_->head && anchor_->root == to_hex(root_before)
                           : !removal || (anchor_->head == hash && anchor_->root == verdict_.head.root);
    if (!same) return wrong(Code::anchor_mismatch, "the audit trail did not end as the anchor says");
    if (!last && !removal)
      verdict_.notes.push_back(
          fmt::format("the run had {} more audit entries than the anchor; it was removed, so the anchored entries can "
                      "no longer be checked",
                      erased_->entries - anchor_->entries));
    return {};
  }

  Result<void> read_run() {
    PAWL_TRY_ASSIGN(run_text_, evidence_.run_file());
    auto record = decode_run(run_text_);
    if (record && record->run != verdict_.head.run)
      record = fail(Code::store_damaged, "the file belongs to run '{}'", record->run);
    if (!record) return fail(at(record.error(), evidence_.path_of("run.json")));
    record_ = std::move(*record);
    seed_ = seal_seed(record_.uuid);
    verdict_.head.uuid = record_.uuid;
    if (erased_ && erased_->uuid != record_.uuid)
      return fail(
          Error{Code::store_damaged, "the file belongs to another run", evidence_.path_of("erased.json"), {}, 0});
    last_sequence_ = record_.fork_of_run ? record_.fork_of_sequence : Sequence();
    PAWL_TRY(read_aside());
    PAWL_TRY_ASSIGN(const auto pruned, evidence_.pruned_file());
    if (!pruned) return {};
    auto list = decode_pruned(*pruned, seed_);
    if (!list) return fail(at(list.error(), evidence_.path_of("checkpoints/pruned.json")));
    pruned_ = std::move(*list);
    return {};
  }

  /// The list counts only if the last entry about it has its hash (see finish).
  Result<void> read_aside() {
    PAWL_TRY_ASSIGN(const auto text, evidence_.aside_file());
    if (!text) return {};
    aside_sum_ = std::string(kSumPrefix) + to_hex(sha256(*text));
    const Json list = Json::parse(*text, nullptr, false);
    if (!list.is_object() || !list.contains("aside") || !list["aside"].is_array())
      return bad("the list of checkpoints that were set aside is damaged", "checkpoints/aside.json");
    for (const Json& row : list["aside"]) {
      if (!row.is_object()) continue;
      aside_.emplace_back(row.value("from", std::uint64_t{0}), row.value("to", std::uint64_t{0}));
    }
    return {};
  }

  /// Returns whether the checkpoints from `first` to `last` were set aside because of damage.
  [[nodiscard]] bool is_aside(std::uint64_t first, std::uint64_t last) const {
    return std::ranges::any_of(aside_, [&](const auto& range) { return range.first <= first && last <= range.second; });
  }

  /// An unfinished file is valid as long as a journal contains the entries that follow.
  Result<void> read_roots() {
    PAWL_TRY_ASSIGN(const auto text, evidence_.roots_file());
    if (!text) return {};
    RootsText parsed = parse_roots(*text, seed_);
    const std::uint64_t size = parsed.roots.empty() ? 0 : parsed.roots.back().tree.size();
    const std::uint64_t in_journal = evidence_.first_entry_in_journal();
    const bool unfinished = in_journal != 0 && in_journal <= size + 1;  // the rest is in journals
    entry_ = size + 1;
    if (!parsed.fault.empty() && !unfinished) return bad(parsed.fault, kRootsFile);
    if (!parsed.fault.empty())
      verdict_.notes.push_back("merkle_roots.json was truncated by a crash and will be rewritten");
    roots_ = std::move(parsed.roots);
    entry_ = 1;
    return {};
  }

  Result<void> take_entry(const StoredText& stored) {
    const auto line = AuditLine::parse(stored.text);
    if (!line) return bad_at(fmt::format("entry {} is damaged", entry_), stored.file);
    sequence_.value = line->sequence;
    const Sha256 hash = sha256(bytes_of(head_), line->body);
    if (line->index != entry_ || !equals_hex(head_, line->previous))
      return bad_at(fmt::format("entry {} does not follow the previous entry", entry_), stored.file);
    if (!equals_hex(hash, line->hash))
      return bad_at(fmt::format("the hash of entry {} does not match", entry_), stored.file);
    if (erased_) {
      bound_ |= line->type == event_type::kRunCreated;  // the data that the entries cover is erased, and so is the salt
    } else if (line->type == event_type::kCheckpointSaved) {
      PAWL_TRY(check_saved(*line));
    } else if (line->type == event_type::kRunCreated) {
      PAWL_TRY(check_created(*line));
    } else if (line->event != 0) {
      PAWL_TRY(check_event(*line));
    } else if (line->type == event_type::kCheckpointsSetAside) {
      aside_audited_ = line->payload;
    }
    last_type_ = line->type;
    head_ = hash;
    tree_.add(merkle_leaf(bytes_of(hash)));
    trail_bytes_ += stored.text.size() + 1;
    verdict_.head.entries = entry_;
    at_ = line->at;  // parsed only when needed
    PAWL_TRY(check_root());
    return check_anchor();
  }

  Result<void> check_created(const AuditLine& line) {
    if (entry_ != 1) return bad("a second entry says that the run was created", kTrail);
    bound_ = true;
    if (!is_sum(line.payload, sha256(record_.salt, run_text_)))
      return bad("run.json is not the one that the run was created with", "run.json");
    return {};
  }

  Result<void> peek_checkpoint() {
    if (checkpoint_) return {};
    PAWL_TRY_ASSIGN(checkpoint_, evidence_.next_checkpoint());
    return {};
  }

  Result<void> peek_event() {
    if (event_) return {};
    PAWL_TRY_ASSIGN(event_, evidence_.next_event());
    if (!event_) return {};
    const auto of = sequence_of_event(event_->text);
    if (!of) return bad_at(fmt::format("event {} is damaged", event_->number), event_->file);
    event_sequence_ = *of;
    return {};
  }

  /// Checks the events that were saved with checkpoint `sequence`.
  Result<void> read_events(std::uint64_t sequence) {
    if (events_of_ == sequence) return {};
    events_of_ = sequence;
    event_hashes_.clear();
    while (true) {
      PAWL_TRY(peek_event());
      if (!event_ || event_sequence_ > sequence) return {};
      if (event_sequence_ < sequence)
        return bad_at(fmt::format("event {} has no entry in the audit trail", event_->number), event_->file);
      event_hashes_.emplace(event_->number, sha256(record_.salt, event_->text));
      event_file_ = event_->file;
      if (!bound_ && !decode_event(event_->text, seed_))
        return bad_at(fmt::format("event {} is damaged", event_->number), event_->file);
      event_.reset();
    }
  }

  Result<void> check_event(const AuditLine& line) {
    PAWL_TRY(read_events(line.sequence));
    const auto found = event_hashes_.find(line.event);
    if (found == event_hashes_.end())
      return bad(fmt::format("event {} with the data of entry {} is missing", line.event, entry_), "events");
    if (!is_sum(line.payload, found->second))
      return bad_at(fmt::format("event {} does not match entry {}", line.event, entry_), event_file_);
    return {};
  }

  static std::string events_missing(const AuditLine& line) {
    return fmt::format("the events of checkpoint {} are missing", line.sequence);
  }

  Result<void> check_events(const AuditLine& line) {
    PAWL_TRY(read_events(line.sequence));
    if (event_hashes_.empty() && line.events.empty()) return {};
    if (event_hashes_.empty())
      return event_ ? bad(events_missing(line), "events") : missing(events_missing(line), "events");
    verdict_.events += event_hashes_.size();
    if (line.events.empty() && !bound_) {
      unbound_events_ += event_hashes_.size();
      return {};
    }
    std::string all;
    all.reserve(event_hashes_.size() * sizeof(Sha256));
    for (const auto& [number, hash] : event_hashes_) all += bytes_of(hash);
    if (!is_sum(line.events, sha256(record_.salt, all)))
      return bad_at(fmt::format("the events of checkpoint {} are not the ones saved with it", line.sequence),
                    event_file_);
    return {};
  }

  Result<void> check_saved(const AuditLine& line) {
    const bool jumps =
        line.sequence > last_sequence_.value + 1 && is_aside(last_sequence_.value + 1, line.sequence - 1);
    uses_aside_ |= jumps;
    if (line.sequence != last_sequence_.value + 1 && !jumps)
      return bad(fmt::format("checkpoint {} follows {}", line.sequence, last_sequence_.value), kTrail);
    last_sequence_.value = line.sequence;
    PAWL_TRY(check_checkpoint(line));
    return check_events(line);
  }

  Result<void> check_checkpoint(const AuditLine& line) {
    if (pruned_.is_gone({line.sequence})) {
      ++verdict_.pruned;
      return {};
    }
    PAWL_TRY(peek_checkpoint());
    if (checkpoint_ && checkpoint_->number < line.sequence) {
      return bad_at(fmt::format("checkpoint {} has no entry in the audit trail", checkpoint_->number),
                    checkpoint_->file);
    }
    if (!checkpoint_ || checkpoint_->number > line.sequence) {
      if (is_aside(line.sequence, line.sequence)) {
        uses_aside_ = true;
        return {};
      }
      const std::string what = fmt::format("checkpoint {} is missing", line.sequence);
      if (!pruned_.is_dropped({line.sequence}))
        return checkpoint_ ? bad(what, "checkpoints") : missing(what, "checkpoints");
      ++verdict_.pruned;
      return {};
    }
    const StoredText stored = *std::exchange(checkpoint_, std::nullopt);
    const auto record = decode_checkpoint(stored.text, seed_);
    if (!record) return fail(at(record.error(), std::string(stored.file)));
    const PrunedList::Sums* const rewritten = pruned_.rewritten({line.sequence});
    const std::string_view vouched =
        line.payload.starts_with(kSumPrefix) ? line.payload.substr(kSumPrefix.size()) : std::string_view();
    const bool same =
        rewritten == nullptr ? record->sum == vouched : record->sum == rewritten->is && rewritten->was == vouched;
    if (!same || !sum_matches(*record, record_.salt)) {
      return bad_at(fmt::format("checkpoint {} was changed after it was saved", line.sequence), stored.file);
    }
    ++verdict_.checkpoints;
    return check_blob(*record);
  }

  Result<void> check_blob(const RecordView& record) {
    if (record.payload_kind != Payload::state_blob && record.payload_kind != Payload::diff_blob) return {};
    const std::string name = decode_text_payload(record.payload).value_or("");
    const std::string file = "blobs/" + name;
    if (!hash_of_hex(name))
      return bad(fmt::format("checkpoint {} has an invalid blob name", record.sequence.value), "checkpoints");
    PAWL_TRY_ASSIGN(const auto hash, evidence_.blob_hash(name, record_.salt));
    std::string what = fmt::format("the blob of checkpoint {} is missing", record.sequence.value);
    if (!hash && !evidence_.copied_in_use()) return bad(std::move(what), file);
    // The newest blobs may not have been copied. If others follow, it was missing before.
    if (!hash && !missing_blob_) missing_blob_ = std::pair(std::move(what), file);
    if (!hash) return {};
    if (missing_blob_) return bad(missing_blob_->first, missing_blob_->second);
    if (!equals_hex(*hash, name))
      return bad(fmt::format("the blob of checkpoint {} was changed after it was saved", record.sequence.value), file);
    return {};
  }

  [[nodiscard]] bool is_root_size() const {
    return next_root_ < roots_.size() && roots_[next_root_].tree.size() == entry_;
  }

  Result<void> check_root() {
    if (!is_root_size()) return {};
    const SettledRoot& root = roots_[next_root_++];
    if (root.tree == tree_ && equals_hex(head_, root.head) && root.bytes == trail_bytes_ && root.at.text() == at_)
      return {};
    return bad(fmt::format("the Merkle root over {} entries does not match the audit trail", entry_), kRootsFile);
  }

  Result<void> check_anchor() const {
    if (anchor_ == nullptr || anchor_->entries != entry_) return {};
    if (equals_hex(head_, anchor_->head) && equals_hex(tree_.root(), anchor_->root)) return {};
    return fail(Error{Code::anchor_mismatch,
                      fmt::format("entry {} does not match the anchor: the chain was rebuilt", entry_),
                      evidence_.path_of(kTrail),
                      {},
                      0});
  }

  void end_head() {
    verdict_.head.head = to_hex(head_);
    verdict_.head.root = to_hex(tree_.root());
    verdict_.head.at = Timestamp::parse(at_).value_or(Timestamp());
  }

  Result<void> finish() {
    const AuditHead& head = verdict_.head;
    end_head();
    verdict_.settled = roots_.empty() ? 0 : roots_.back().tree.size();
    entry_ = head.entries + 1;
    sequence_ = {};
    if (anchor_ != nullptr) PAWL_TRY(check_against_anchor());
    if (head.entries == 0) return bad("the audit trail is missing", kTrail);
    if (uses_aside_ && aside_audited_ != aside_sum_)
      return bad("the list of checkpoints that were set aside is not the one that the audit trail recorded",
                 "checkpoints/aside.json");
    if (next_root_ < roots_.size()) {
      return missing(
          fmt::format(
              "the audit trail ends at entry {}, but merkle_roots.json covers {}: entries were removed from its end",
              head.entries, verdict_.settled),
          kTrail);
    }
    if (erased_) return finish_erased();
    PAWL_TRY(check_leftovers());
    const std::uint64_t in_journal = evidence_.first_entry_in_journal();
    const std::uint64_t must_be_settled = in_journal == 0 ? head.entries : in_journal - 1;
    if (bound_ && verdict_.settled < must_be_settled) {
      return missing(
          fmt::format("the Merkle roots cover only {} of {} settled entries", verdict_.settled, must_be_settled),
          kRootsFile);
    }
    if (!bound_)
      verdict_.notes.push_back(
          "the run was created before run.json was part of the audit trail: only its checksum was checked");
    if (unbound_events_ > 0)
      verdict_.notes.push_back(
          fmt::format("{} events were saved before events were part of the audit trail", unbound_events_));
    return {};
  }

  /// An erased run keeps its chain. After the erasure, the last entry records it.
  Result<void> finish_erased() {
    if (erased_->finished && last_type_ != event_type::kErased)
      return bad("erased.json says that the run was erased, but the audit trail does not", kTrail);
    verdict_.notes.push_back(
        erased_->finished ? fmt::format("the run was erased on {} by {}: {}; only the chain of entries was verified",
                                        erased_->at.text(), erased_->by, erased_->reason)
                          : fmt::format("the run is being erased since {} by {}: {}; the erasure is not finished, and "
                                        "only the chain of entries was verified",
                                        erased_->at.text(), erased_->by, erased_->reason));
    return {};
  }

  Result<void> check_against_anchor() const {
    const auto mismatch = [&](std::string what) {
      return fail(Error{Code::anchor_mismatch, std::move(what), evidence_.path_of(kTrail), {}, 0});
    };
    if (anchor_->uuid != record_.uuid) return mismatch("this is not the run in the anchor: another one has its id now");
    if (verdict_.head.entries < anchor_->entries) {
      return mismatch(
          fmt::format("the audit trail ends at entry {}, but the anchor covers {}: entries were removed from its end",
                      verdict_.head.entries, anchor_->entries));
    }
    return {};
  }

  /// Looks for stored data without an entry. A running writer may have just added some.
  Result<void> check_leftovers() {
    PAWL_TRY_ASSIGN(const bool quiet, evidence_.unchanged());
    if (!quiet) return {};
    PAWL_TRY(peek_checkpoint());
    if (checkpoint_)
      return missing_at(fmt::format("checkpoint {} has no entry in the audit trail", checkpoint_->number),
                        checkpoint_->file);
    PAWL_TRY(peek_event());
    if (event_)
      return missing_at(fmt::format("event {} has no entry in the audit trail", event_->number), event_->file);
    PAWL_TRY_ASSIGN(const auto more, evidence_.next_entry());
    if (more) return bad_at(fmt::format("entry {} was added", entry_), more->file);
    return {};
  }

  RunEvidence& evidence_;
  const AnchorPoint* anchor_;
  const VerifyProgress& progress_;
  RunVerdict verdict_;
  std::uint64_t entry_ = 0;  // the current one
  Sequence sequence_;        // of the current entry

  std::string run_text_;
  RunRecord record_;
  std::uint32_t seed_ = 0;
  PrunedList pruned_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> aside_;  // first and last checkpoint of each range
  std::string aside_sum_;                                       // of the list
  std::string aside_audited_;                                   // the same, in the last entry about it
  bool uses_aside_ = false;                                     // a missing checkpoint was excused by the list
  std::optional<ErasedRecord> erased_;
  std::string last_type_;
  std::vector<SettledRoot> roots_;
  std::size_t next_root_ = 0;

  Sha256 head_{};  // zeros before the first
  MerkleFrontier tree_;
  std::uint64_t trail_bytes_ = 0;
  std::string at_;                                                   // of the last entry
  bool not_copied_ = false;                                          // the current error is about the end of a copy
  std::optional<std::pair<std::string, std::string>> missing_blob_;  // of a copy: the first error, and its file
  bool bound_ = false;                                               // the first entry contains the hash of run.json
  std::uint64_t unbound_events_ = 0;
  Sequence last_sequence_;
  std::optional<StoredText> checkpoint_;  // read but not yet checked
  std::optional<StoredText> event_;       // the same
  std::uint64_t event_sequence_ = 0;
  std::uint64_t events_of_ = 0;
  std::map<std::uint64_t, Sha256> event_hashes_;  // of the events of checkpoint events_of_
  std::string event_file_;
};

/// The verdict about a run whose files can't even be opened.
RunVerdict unreadable(const RunId& run, const Error& error) {
  RunVerdict verdict;
  verdict.head.run = run.text();
  verdict.bad = BadEntry{error.code, 0, {}, error.where, error.message, error.hint};
  verdict.bad->action = error.advice;
  return verdict;
}

}  // namespace

Result<RunVerdict> verify_run(Evidence& evidence, const RunId& run, const AnchorPoint* anchor,
                              const VerifyProgress& progress) {
  Evidence::Journals journals = Evidence::Journals::as_read;
  for (int attempt = 1;; ++attempt) {
    const auto found = evidence.run(run, journals);
    if (!found && found.error().code != Code::run_not_found && is_confined(found.error()))
      return unreadable(run, found.error());
    if (!found) return std::unexpected(found.error());
    const std::unique_ptr<RunEvidence>& of_run = *found;
    PAWL_TRY_ASSIGN(RunVerdict verdict, RunVerifier(*of_run, run, anchor, progress).verify());
    if (!verdict.bad) return verdict;
    const auto unchanged = of_run->unchanged();
    if (!unchanged && !is_confined(unchanged.error())) return std::unexpected(unchanged.error());
    if (!unchanged || *unchanged || attempt == kAttemptsMax) return verdict;
    journals = Evidence::Journals::fresh;
  }
}

}  // namespace pawl
