// RunReader: forks. Shared checkpoints are read from the run that the fork was made from, with that run's key.
#include <algorithm>
#include <charconv>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"
#include "adapters/filesystem/run_reader.hpp"

namespace pawl {
namespace {

constexpr int kForkDepthMax = 1000;

/// Returns the 3 from `{"n":7,"seq":3,...`.
std::optional<Sequence> sequence_in(std::string_view line) {
  constexpr std::string_view kKey = ",\"seq\":";
  const auto found = line.find(kKey);
  if (found == std::string_view::npos || found > 32) return std::nullopt;
  Sequence sequence;
  const char* const begin = line.data() + found + kKey.size();
  const auto [end, problem] = std::from_chars(begin, line.data() + line.size(), sequence.value);
  if (problem != std::errc{} || end == begin) return std::nullopt;
  return sequence;
}

}  // namespace

Result<Sequence> RunReader::fork_at() {
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  return record.fork_of_run ? record.fork_of_sequence : Sequence();
}

Result<RunReader*> RunReader::origin() {
  if (origin_) return origin_.get();
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  if (!record.fork_of_run) return nullptr;
  if (depth_ >= kForkDepthMax)
    return fail(Code::store_damaged, "run '{}' is nested too deeply: more than {} levels of forks", run_,
                kForkDepthMax);
  auto found = std::make_unique<RunReader>(files_, keys_, record.fork_of_name, snapshot_);
  found->depth_ = depth_ + 1;
  auto parent = found->run_record();
  const std::string hint = "restore its folder from a backup";
  if (!parent && parent.error().code == Code::run_not_found) {
    return fail(Error{Code::chain_broken,
                      fmt::format("run '{}' is a fork of run '{}', which is missing", run_, record.fork_of_name),
                      layout::run(record.fork_of_name),
                      hint,
                      0,
                      Advice::check_store,
                      {.run = record.fork_of_name}});
  }
  if (!parent) return std::unexpected(parent.error());
  if (parent->uuid != *record.fork_of_run) {
    return fail(Error{Code::chain_broken,
                      fmt::format("run '{}' was forked from a different run '{}' than the one in this store", run_,
                                  record.fork_of_name),
                      layout::run_file(record.fork_of_name),
                      hint,
                      0,
                      Advice::check_store,
                      {.run = record.fork_of_name}});
  }
  origin_ = std::move(found);
  return origin_.get();
}

Result<RunReader*> RunReader::home_of(Sequence sequence) {
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  if (!shared || sequence > shared) return this;
  PAWL_TRY_ASSIGN(RunReader* const parent, origin());
  return parent->home_of(sequence);
}

Result<std::vector<std::string>> RunReader::lineage() {
  std::vector<std::string> runs = {run_};
  RunReader* reader = this;
  while (true) {
    PAWL_TRY_ASSIGN(reader, reader->origin());
    if (reader == nullptr) return runs;
    runs.push_back(reader->run_);
  }
}

Result<std::uint64_t> RunReader::lent_bytes(Sequence sequence) {
  PAWL_TRY_ASSIGN(const Sequence shared, fork_at());
  if (!shared || sequence <= shared) return 0;
  PAWL_TRY_ASSIGN(const Sequence base, base_of(sequence));
  if (base != shared) return 0;
  PAWL_TRY_ASSIGN(const Chain links, chain(base, sequence));
  std::uint64_t bytes = 0;
  for (std::size_t i = 1; i < links.links.size(); ++i) bytes += links.links[i].record.text.size() + 1;
  PAWL_TRY_ASSIGN(RunReader* const parent, origin());
  PAWL_TRY_ASSIGN(RunReader* const home, parent->home_of(shared));
  PAWL_TRY_ASSIGN(const std::uint64_t before, home->lent_bytes(shared));
  return bytes + before;
}

/// Reads only the beginnings of the lines, newest file first. Linear in the number of events, but decodes none.
Result<std::uint64_t> RunReader::events_up_to(Sequence sequence) {
  PAWL_TRY(refuse_doubt());
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  if (record.fork_of_run && sequence <= record.fork_of_sequence) {
    PAWL_TRY_ASSIGN(RunReader* const parent, origin());
    return parent->events_up_to(sequence);
  }
  std::uint64_t last = record.fork_events;
  if (records_ != nullptr) {
    for (auto found = records_->events.rbegin(); found != records_->events.rend(); ++found) {
      if (found->second.sequence > sequence) continue;
      last = std::max(last, found->first);
      break;
    }
  }
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::events_folder(run_)));
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) {
    if (is_event_file(entry)) names.push_back(entry.name);
  }
  std::ranges::sort(names, std::greater<>());
  for (const std::string& name : names) {
    const std::string path = join_path(layout::events_folder(run_), name);
    PAWL_TRY_ASSIGN(const std::string text, files_.read_file(path));
    std::uint64_t before = 0;  // number of the previous line; 0: unknown
    std::uint64_t in_file = 0;
    std::optional<Error> damage;
    for_each_line(text, [&](std::string_view line, bool complete) {
      const auto number = line_number(line);
      const auto of = sequence_in(line);
      const bool follows = complete && number && of && (before == 0 || *number == before + 1);
      // The expected number of a file's first line is unknown: a crash may have truncated the file while a journal
      // contains events.
      const bool in_journal =
          records_ != nullptr && (before == 0 ? !records_->events.empty() : records_->events.contains(before + 1));
      if (!follows && !in_journal) {
        damage = Error{Code::checksum_mismatch,
                       fmt::format("an event after {} of run '{}' is damaged", before, run_),
                       path,
                       {},
                       0,
                       Advice::check_store,
                       {.run = run_}};
      }
      if (!follows) return false;
      before = *number;
      if (*of <= sequence) in_file = *number;
      return *of <= sequence;
    });
    if (damage) return std::unexpected(*damage);
    last = std::max(last, in_file);
    if (in_file > 0) break;
  }
  return last;
}

Result<RunHead> RunReader::fork_head(Sequence sequence) {
  RunHead head;
  PAWL_TRY_ASSIGN(const RunRecord record, run_record());
  PAWL_TRY_ASSIGN(Restored restored, restore({.by = Which::By::sequence, .sequence = sequence}));
  head.latest = std::move(restored.info);
  head.state = std::move(restored.state);
  head.base = sequence;
  PAWL_TRY_ASSIGN(head.differences_bytes, lent_bytes(sequence));
  PAWL_TRY_ASSIGN(head.event_number, events_up_to(sequence));
  head.audit_hash = first_previous_hash();
  head.run = record;
  head.run.fork_of_run = record.uuid;
  head.run.fork_of_name = run_;
  head.run.fork_of_sequence = sequence;
  head.run.fork_of_sum = head.latest.checksum;
  head.run.fork_events = head.event_number;
  return head;
}

}  // namespace pawl
