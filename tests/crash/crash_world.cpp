#include "tests/crash/crash_world.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "adapters/filesystem/filesystem_evidence.hpp"
#include "audit/verify.hpp"
#include "testing/filesystem_under_test.hpp"

// Several simulated processes take turns in one thread, one inside a call of another, so the order in which locks of
// different processes are taken means nothing. TSan looks for lock cycles everywhere else.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the sanitizer's
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }

namespace pawl::testing {
namespace {

constexpr std::size_t kProcesses = 3;
constexpr std::size_t kRuns = 3;
constexpr std::size_t kSteps = 36;
constexpr std::size_t kForks = 4;

std::string run_name(std::size_t index) { return fmt::format("run-{}", index); }

RunId run_id(const std::string& name) { return *RunId::parse(name); }

/// Saves the same state, as the difference to the last one.
Result<Saved> save_as_change(RunWriter& writer, SaveRequest request) {
  const std::string before = writer.last_state();
  request.expected_parent = writer.info().latest;
  return writer.save_change(request, diff_text(before, std::exchange(request.body, {})));
}

}  // namespace

CrashWorld::CrashWorld(std::uint64_t seed, const Mutation& mutation)
    : random_(seed), mutation_(mutation), options_(small_options()), disk_(std::make_unique<SimDisk>(seed * 31 + 7)) {
  options_.segment_bytes = 8U << 10;
  options_.catalogue = true;
  options_.inline_bytes_max = 1U << 10;
  options_.differences_floor_bytes = 1U << 10;
  options_.differences_max = 1 + random_.below(8);
  options_.sync_all_from_files = random_.coin() ? 4 : 64;
  encrypted_ = seed % 3 == 0;
  if (encrypted_) {
    options_.packing = {StateFormat::json, Compression::zstd, 0, 1};
    options_.new_key = NewStoreKey{make_key(random_), {}};
    keys_[key_id(options_.new_key->outer)] = options_.new_key->outer;
    options_.find_key = [this](const Uuid&, const StoreKeyInfo& info) -> Result<SecretKey> {
      const auto found = keys_.find(info.id);
      if (found == keys_.end()) return fail(Code::key_missing, "nobody has the key {} any more", info.id);
      return found->second;
    };
  }
  processes_.resize(kProcesses);
}

CrashWorld::~CrashWorld() {
  for (std::size_t i = 0; i < processes_.size(); ++i) drop(i);
}

void CrashWorld::broken(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

void CrashWorld::mutate(SimFileSystem& files) const {
  if (mutation_.ignored) files.ignore_sync(*mutation_.ignored);
  if (mutation_.postponed) files.postpone_sync(*mutation_.postponed, mutation_.postponed_ops);
}

CrashWorld::Process* CrashWorld::process(std::size_t index) {
  if (!processes_[index]) {
    auto fresh = std::make_unique<Process>();
    fresh->files = std::make_unique<SimFileSystem>(*disk_);
    mutate(*fresh->files);
    const Environment environment{&clock_, &random_, sim_owner(disk_->boot_id(), ++pids_)};
    auto store = FilesystemStore::open(*fresh->files, environment, options_);
    if (!store) {
      broken(fmt::format("the store can't be opened: {}", describe(store.error())));
      return nullptr;
    }
    fresh->store = std::move(*store);
    processes_[index] = std::move(fresh);
  }
  return processes_[index].get();
}

void CrashWorld::drop(std::size_t index) {
  if (!processes_[index]) return;
  processes_[index]->writers.clear();
  processes_[index]->store.reset();
  processes_[index].reset();
}

/// Removes dead processes, and reboots the machine after a power loss.
void CrashWorld::bury() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i] && processes_[i]->files->died()) {
      ++counts_.kills;
      drop(i);
    }
  }
  if (!disk_->power_is_off()) return;
  for (std::size_t i = 0; i < processes_.size(); ++i) drop(i);
  ++counts_.power_losses;
  const std::uint64_t dice = random_.below(6);
  disk_->power_loss(dice == 0 ? Loss::drop_all : dice == 1 ? Loss::keep_all : Loss::random);
}

std::string CrashWorld::next_state(const std::string& run) {
  const std::string& last = last_state_[run];
  switch (random_.below(6)) {
    case 0:
      return fmt::format("{{\"n\":{},\"big\":\"{}\"}}", random_.next(), std::string(900 + random_.below(1800), 'x'));
    case 1: return fmt::format("{{\n \"n\": {}\n}}\n", random_.next());
    case 2: return fmt::format("[{}]", random_.next());
    default:
      if (last.size() < 3 || last.size() > 4000 || !last.ends_with(']'))
        return fmt::format("[\"{:x}\"]", random_.next());
      return fmt::format("{},\"{:x}\"]", last.substr(0, last.size() - 1), random_.next());
  }
}

/// With some probability, the next action of this process is interrupted or interleaved with others.
void CrashWorld::arm(Process& victim) {
  const std::uint64_t dice = random_.below(10);
  if (dice < 2) victim.files->kill_at(victim.files->ops() + 1 + random_.below(14));
  if (dice == 2) victim.files->power_cut_at(victim.files->ops() + 1 + random_.below(14));
  if (dice < 7 || nesting_) return;
  const std::uint64_t at = victim.files->calls() + 1 + random_.below(60);
  victim.files->before_each_op([this, at](std::uint64_t call) {
    if (call != at || nesting_ || disk_->power_is_off()) return;
    nesting_ = true;
    ++counts_.nested;
    if (random_.coin()) read_beside();
    if (random_.coin()) act_inside();
    nesting_ = false;
  });
}

void CrashWorld::save(std::size_t index) {
  Process* at_work = process(index);
  if (at_work == nullptr) return;
  const std::string run = any_run();
  auto& writer = at_work->writers[run];
  if (!writer) {
    auto opened = at_work->store->open_run(run_id(run), {});
    if (!opened) {
      // Inside a call of another process, a lock may be held by a process that can't continue.
      const bool waits = nesting_ && opened.error().code == Code::store_busy;
      const bool expected =
          waits || opened.error().code == Code::run_busy || at_work->files->died() || disk_->power_is_off();
      if (!expected) broken(fmt::format("run {} can't be opened: {}", run, describe(opened.error())));
      at_work->writers.erase(run);
      return;
    }
    writer = std::move(*opened);
  }
  const std::string state = next_state(run);
  const std::uint64_t expected = writer->info().latest.value + 1;
  SaveRequest request;
  request.body = state;
  request.duplicates = Duplicates::write;
  if (random_.below(8) == 0 && !callers_[run].empty()) return repeat(*at_work, run);
  if (random_.below(4) == 0) request.caller_id = fmt::format("call-{}", random_.next());
  if (random_.below(6) == 0) {
    request.name = "kept";
    named_.insert(state);
  }
  if (random_.below(4) == 0) request.events.push_back({"note", "{\"k\":1}", Audited::yes, "ann"});
  // More than a journal segment holds.
  if (random_.below(24) == 0)
    request.events.push_back({"large", fmt::format("\"{}\"", std::string(8000 + random_.below(3000), 'e'))});
  runs_[run][expected].attempted.insert(state);
  ++counts_.saves;
  const bool as_change = counts_.saves % 2 == 0 && expected > 1 && request.caller_id.empty();
  const auto saved = as_change ? save_as_change(*writer, request) : writer->save(request);
  if (!saved) {
    const bool waits = nesting_ && saved.error().code == Code::store_busy;
    const bool dead = at_work->files->died() || disk_->power_is_off();
    if (waits) at_work->writers.erase(run);
    if (!dead && !waits) broken(fmt::format("a save of {} fails: {}", run, describe(saved.error())));
    return;
  }
  ++counts_.acknowledged;
  Slot& slot = runs_[run][saved->sequence.value];
  if (saved->sequence.value != expected)
    broken(fmt::format("{}@{} was given, not {}", run, saved->sequence.value, expected));
  if (slot.promised && *slot.promised != state) broken(fmt::format("{}@{} was used twice", run, expected));
  slot.promised = state;
  last_state_[run] = state;
  if (!request.caller_id.empty()) callers_[run][request.caller_id] = {saved->sequence.value, state};
}

/// Returns one of the initial runs, or a fork that was seen or acknowledged.
std::string CrashWorld::any_run() {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < kRuns; ++i) runs.push_back(run_name(i));
  for (const auto& [fork, origin] : forks_) {
    if (exists(fork)) runs.push_back(fork);
  }
  return runs[random_.below(runs.size())];
}

bool CrashWorld::exists(const std::string& run) {
  return std::ranges::any_of(runs_[run], [](const auto& slot) { return slot.second.promised.has_value(); });
}

std::string CrashWorld::home(const std::string& run, std::uint64_t sequence) const {
  const auto fork = forks_.find(run);
  return fork == forks_.end() || sequence > fork->second.at ? run : home(fork->second.run, sequence);
}

/// Forks any existing checkpoint and makes the first save.
void CrashWorld::fork(std::size_t index) {
  Process* at_work = process(index);
  if (at_work == nullptr || forks_.size() >= kForks) return;
  const std::string named = any_run();
  const std::uint64_t at = 1 + random_.below(std::max<std::uint64_t>(highest(named), 1));
  const std::string parent = home(named, at);
  if (!runs_[parent][at].promised || runs_[parent][at].pruned) return;
  const std::string run = fmt::format("fork-{}", forks_.size());
  forks_[run] = {parent, at};
  // Saves the same state again, unless it has a name, which the first checkpoint of a fork does not have.
  const std::string& there = *runs_[parent][at].promised;
  const std::string state = random_.coin() && !named_.contains(there) ? there : next_state(parent);
  runs_[run][at + 1].attempted.insert(state);
  auto writer = at_work->store->fork(run_id(named), Sequence{at}, run_id(run), {});
  Result<Saved> saved =
      writer ? (*writer)->save({.body = state, .duplicates = Duplicates::write}) : std::unexpected(writer.error());
  if (!saved) {
    const bool pruned =
        saved.error().code == Code::checkpoint_pruned && (runs_[parent][at].pruned || may_go(parent, at));
    const bool waits = saved.error().code == Code::store_busy;
    const bool dead = at_work->files->died() || disk_->power_is_off();
    if (!dead && !pruned && !waits)
      broken(fmt::format("{}@{} can't be forked: {}", named, at, describe(saved.error())));
    return;
  }
  ++counts_.forked;
  if (saved->sequence.value != at + 1)
    broken(fmt::format("the fork of {}@{} begins with {}", named, at, saved->sequence.value));
  runs_[run][at + 1].promised = state;
  last_state_[run] = state;
  at_work->writers[run] = std::move(*writer);
}

/// An acknowledged save is recognised when it is repeated, pruned or not.
void CrashWorld::repeat(Process& at_work, const std::string& run) {
  RunWriter& writer = *at_work.writers.at(run);
  auto caller = callers_[run].begin();
  std::advance(caller, static_cast<std::ptrdiff_t>(random_.below(callers_[run].size())));
  const auto& [sequence, state] = caller->second;
  SaveRequest request;
  request.body = state;
  request.caller_id = caller->first;
  const auto saved = writer.save(request);
  if (!saved) {
    // After a kill, or inside a call of another process, an error is expected.
    const bool waits = nesting_ && saved.error().code == Code::store_busy;
    const bool dead = at_work.files->died() || disk_->power_is_off();
    if (!dead && !waits) broken(fmt::format("a save of {} can't be repeated: {}", run, describe(saved.error())));
    return;
  }
  ++counts_.repeated;
  if (saved->outcome != Saved::Outcome::repeated || saved->sequence.value != sequence) {
    broken(fmt::format("{}@{} was saved with a caller's id, and again as {}", run, sequence, saved->sequence.value));
  }
}

std::uint64_t CrashWorld::highest(const std::string& run) {
  std::uint64_t last = 0;
  for (const auto& [sequence, slot] : runs_[run]) {
    // An unacknowledged checkpoint may exist all the same, and a pruner may be the first to see it.
    if (slot.promised || !slot.attempted.empty()) last = sequence;
  }
  return last;
}

/// Returns whether an unfinished or interrupted prune may have removed this checkpoint.
bool CrashWorld::may_go(const std::string& run, std::uint64_t sequence) {
  if (home(run, sequence) != run) return may_go(home(run, sequence), sequence);
  const Slot& slot = runs_[run][sequence];
  for (const auto& [fork, origin] : forks_) {
    if (origin.run == run && origin.at == sequence && exists(fork)) return false;
  }
  if (slot.promised && named_.contains(*slot.promised)) return false;
  const auto pruning = pruning_.find(run);
  return slot.may_be_pruned || (pruning != pruning_.end() && sequence + pruning->second <= highest(run));
}

void CrashWorld::prune(std::size_t index) { prune_run(index, any_run()); }

void CrashWorld::prune_run(std::size_t index, const std::string& run) {
  Process* at_work = process(index);
  if (at_work == nullptr || pruning_.contains(run)) return;
  RetentionSettings settings;
  settings.keep = 1 + random_.below(4);
  const bool promised =
      std::ranges::any_of(runs_[run], [](const auto& slot) { return slot.second.promised.has_value(); });
  pruning_[run] = *settings.keep;
  const PruneMode mode = random_.below(8) == 0 ? PruneMode::dry_run : PruneMode::remove;
  const std::size_t forks_before = forks_.size();
  const auto report = at_work->store->prune(run_id(run), settings, mode);
  const bool dead = at_work->files->died() || disk_->power_is_off();
  if (!report) {
    const bool no_run = !promised && report.error().code == Code::run_not_found;
    const bool waits = report.error().code == Code::store_busy;
    if (!dead && !no_run && !waits) broken(fmt::format("{} can't be pruned: {}", run, describe(report.error())));
    for (auto& [sequence, slot] : runs_[run]) slot.may_be_pruned = may_go(run, sequence);
    pruning_.erase(run);
    return;
  }
  ++counts_.pruned;
  // A dry run takes no lock, so a checkpoint that it would remove may have been forked in the meantime.
  const bool outdated = mode == PruneMode::dry_run && forks_.size() > forks_before;
  for (const Sequence sequence : outdated ? std::vector<Sequence>() : report->dropped) {
    if (home(run, sequence.value) != run || !may_go(run, sequence.value))
      broken(fmt::format("{}@{} was to be kept, and was pruned", run, sequence.value));
    if (mode == PruneMode::remove) runs_[run][sequence.value].pruned = true;
  }
  pruning_.erase(run);
}

void CrashWorld::post(std::size_t index) {
  Process* at_work = process(index);
  if (at_work == nullptr) return;
  const std::string run = run_name(random_.below(kRuns));
  const std::string body =
      fmt::format("{{\"message\":\"{}\"}}", std::string(random_.below(1500), 'm') + std::to_string(random_.next()));
  const bool promised =
      std::ranges::any_of(runs_[run], [](const auto& slot) { return slot.second.promised.has_value(); });
  messages_[run].attempted.insert(body);
  const auto id = at_work->store->post(run_id(run), body);
  if (id) {
    ++counts_.posted;
    messages_[run].promised[*id] = body;
    return;
  }
  const bool no_run = !promised && id.error().code == Code::run_not_found;
  if (!no_run && !at_work->files->died() && !disk_->power_is_off()) {
    broken(fmt::format("a message to {} can't be posted: {}", run, describe(id.error())));
  }
}

/// A message that was taken may reappear, because taking it is not synced.
void CrashWorld::take(std::size_t index) {
  Process* at_work = process(index);
  const auto owner = messages_.find(run_name(random_.below(kRuns)));
  if (at_work == nullptr || owner == messages_.end() || owner->second.promised.empty()) return;
  const std::string id = owner->second.promised.begin()->first;
  owner->second.promised.erase(id);
  const auto taken = at_work->store->take(run_id(owner->first), id);
  if (!taken && !at_work->files->died() && !disk_->power_is_off()) {
    broken(fmt::format("a message of {} can't be taken: {}", owner->first, describe(taken.error())));
  }
}

/// Changes the key. Once that is acknowledged, the old key is discarded.
void CrashWorld::rekey(std::size_t index) {
  Process* at_work = process(index);
  if (at_work == nullptr || !encrypted_) return;
  const SecretKey next = make_key(random_);
  const std::string id = key_id(next);
  keys_[id] = next;
  new_keys_.insert(id);
  const auto changed = at_work->store->rekey({next, {}});
  new_keys_.erase(id);
  if (changed) {
    ++counts_.rekeyed;
    // Another process may be about to change the key, too.
    std::erase_if(keys_, [&](const auto& known) { return known.first != id && !new_keys_.contains(known.first); });
    return;
  }
  const bool waits = nesting_ && changed.error().code == Code::store_busy;
  if (!waits && !at_work->files->died() && !disk_->power_is_off())
    broken(fmt::format("the key can't be changed: {}", describe(changed.error())));
}

/// An action in the middle of another process's call. The inner process may die on the way: then the outer one
/// continues with what the inner one left, as if both were at work at once.
void CrashWorld::act_inside() {
  const std::size_t index = random_.below(kProcesses);
  if (index == steps_ % kProcesses) return;
  Process* inner = process(index);
  if (inner == nullptr || inner->files->died()) return;
  if (random_.coin()) inner->files->kill_at(inner->files->ops() + 1 + random_.below(60));
  if (random_.coin()) return act(index);
  ++counts_.settles;
  static_cast<void>(inner->store->settle_all());  // both may be publishing the same run
}

void CrashWorld::act(std::size_t index) {
  // A process that is inside a call can't start another one.
  if (nesting_ && processes_[index] && !processes_[index]->files->died() && index == steps_ % kProcesses) return;
  Process* at_work = process(index);
  if (at_work == nullptr || at_work->files->died()) return;
  switch (random_.below(20)) {
    case 18:
    case 19: fork(index); break;
    case 14:
    case 15: prune(index); break;
    case 17: rekey(index); break;
    case 12: post(index); break;
    case 13: take(index); break;
    case 0: at_work->writers.clear(); break;
    case 1:
      ++counts_.settles;
      static_cast<void>(at_work->store->settle_all());
      break;
    case 2: static_cast<void>(at_work->store->publish_lazily()); break;
    case 3: drop(index); break;
    case 4:
      if (!nesting_) at_work->files->kill();
      break;
    default: save(index); break;
  }
}

void CrashWorld::read_beside() {
  ++counts_.reads;
  verify("beside the writers");
}

void CrashWorld::step() {
  const std::size_t index = random_.below(kProcesses);
  steps_ = index;
  clock_.jump(static_cast<std::int64_t>(random_.below(2'000'000)) - 500'000);
  const std::uint64_t nested = counts_.nested;
  if (Process* at_work = process(index)) arm(*at_work);
  act(index);
  if (processes_[index]) processes_[index]->files->before_each_op({});
  const bool crashed = disk_->power_is_off() || (processes_[index] && processes_[index]->files->died());
  bury();
  remember_side_files(crashed || counts_.nested != nested);
  if (violation_) return;
  if (crashed) verify("after a crash");
  if (random_.below(8) == 0) read_beside();
  const bool both_at_work = counts_.nested != nested && random_.below(3) == 0;
  if (both_at_work || random_.below(16) == 0) {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i]) processes_[i]->files->kill();
    }
    bury();
    ++counts_.power_losses;
    disk_->power_loss();
    verify("after power loss");
  }
}

std::optional<std::string> CrashWorld::run() {
  for (std::size_t i = 0; i < kSteps && !violation_; ++i) step();
  if (violation_) return violation_;
  // At the end, all processes stop, the power is cut, and everything promised must exist. Then a writer settles it all.
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (random_.coin() && processes_[i]) processes_[i]->files->kill();
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) drop(i);
  disk_->power_loss();
  verify("at the end");
  if (violation_) return violation_;
  for (std::size_t i = 0; i < kRuns && !violation_; ++i) save(0);
  Process* last = process(0);
  if (last != nullptr && !violation_) {
    for (std::size_t i = 0; i < kRuns; ++i) {
      if (random_.coin()) prune_run(0, run_name(i));
    }
    for (const auto& [fork, origin] : forks_) {
      if (exists(fork) && random_.coin()) prune_run(0, fork);
    }
    const auto settled = last->store->settle_all();
    if (!settled) broken(fmt::format("the store can't be settled: {}", describe(settled.error())));
    const auto damage = last->store->check({}, Repair::no);
    for (const Finding& finding : damage ? damage->findings : std::vector<Finding>()) {
      if (finding.severity != Finding::Severity::damage) continue;
      broken(fmt::format("the check finds damage: {} in {} at {}@{}", finding.what, finding.file, finding.run,
                         finding.sequence.value));
    }
    // A crash may have truncated copies of records that are in the journal of a dead process.
    const auto report = last->store->check({}, Repair::yes);
    if (!report) broken(fmt::format("the check fails: {}", describe(report.error())));
    for (const Finding& finding : report ? report->findings : std::vector<Finding>()) {
      if (finding.severity != Finding::Severity::damage && finding.severity != Finding::Severity::mendable) continue;
      broken(fmt::format("after a repair the check finds: {} in {} at {}@{}", finding.what, finding.file, finding.run,
                         finding.sequence.value));
    }
  }
  drop(0);
  disk_->power_loss(Loss::drop_all);
  verify("after settling and power loss");
  return violation_;
}

}  // namespace pawl::testing
