// Proves that the tests of the contract can fail: stores that break one clause on purpose, based on a memory store that
// keeps all of them. There is at least one for each clause.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "testing/memory_under_test.hpp"
#include "tests/contract/broken_store_mutations.hpp"

namespace pawl::testing {
namespace {

/// What all handles of one broken store share.
struct BrokenShared {
  Mutation mutation = Mutation::none;
  ManualClock* clock = nullptr;
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<RunWriter>> writers;               // guarded by mutex
  std::map<std::pair<std::string, std::uint64_t>, Timestamp> raw_times;  // guarded by mutex
  std::set<std::string> pruned;                                          // runs; guarded by mutex
  std::set<std::string> sealed;                                          // at any time; guarded by mutex
  std::map<std::pair<std::string, std::string>, Saved> past;             // by fork and caller's id; guarded by mutex
  [[nodiscard]] bool is(Mutation asked) const { return mutation == asked; }
};

class BrokenWriter final : public RunWriter {
 public:
  BrokenWriter(std::shared_ptr<RunWriter> sound, std::shared_ptr<BrokenShared> shared)
      : sound_(std::move(sound)), shared_(std::move(shared)) {}

  Result<Saved> save(const SaveRequest& request) override {
    const Timestamp now = shared_->clock->now();
    if (shared_->is(Mutation::s34_callers_ids_of_the_past_are_answered)) {
      const std::scoped_lock lock(shared_->mutex);
      const auto found = shared_->past.find({info().id.text(), request.caller_id});
      if (found != shared_->past.end()) return found->second;
    }
    Result<Saved> saved = broken_answer(request, sound_->save(broken_request(request)));
    if (!saved) return saved;
    const std::scoped_lock lock(shared_->mutex);
    shared_->raw_times.try_emplace({info().id.text(), saved->sequence.value}, now);
    last_caller_id_ = request.caller_id;
    if (shared_->is(Mutation::s02_a_sequence_is_given_twice) && saved->sequence.value > 1) --saved->sequence.value;
    if (shared_->is(Mutation::s02_sequences_start_at_zero)) --saved->sequence.value;
    return saved;
  }
  Result<Saved> save_change(const SaveRequest& request, std::span<const Splice> change) override {
    return sound_->save_change(request,
                               shared_->is(Mutation::s26_a_change_is_not_applied) ? std::span<const Splice>() : change);
  }
  Result<void> flush() override { return sound_->flush(); }
  [[nodiscard]] RunInfo info() const override { return sound_->info(); }
  Result<void> seal_inbox() override {
    const std::scoped_lock lock(shared_->mutex);
    shared_->sealed.insert(info().id.text());
    return sound_->seal_inbox();
  }
  Result<void> unseal_inbox() override {
    if (shared_->is(Mutation::s24_a_seal_is_never_broken)) return {};
    return sound_->unseal_inbox();
  }
  [[nodiscard]] std::string last_state() const override { return sound_->last_state(); }
  [[nodiscard]] bool is_wanted() const override {
    return sound_->is_wanted() && !shared_->is(Mutation::s25_claims_are_not_seen);
  }

 private:
  SaveRequest broken_request(SaveRequest request) {
    const std::scoped_lock lock(shared_->mutex);
    if (shared_->is(Mutation::s04_equal_states_are_written_again)) request.duplicates = Duplicates::write;
    if (shared_->is(Mutation::s04_force_is_ignored)) request.duplicates = Duplicates::answer;
    if (shared_->is(Mutation::s05_expected_parent_is_ignored)) request.expected_parent.reset();
    if (shared_->is(Mutation::s07_a_patch_replaces_the_state)) request.form = Form::state;
    if (shared_->is(Mutation::s16_more_labels_are_forgotten)) request.also.clear();
    if (shared_->is(Mutation::s06_caller_ids_are_forgotten_after_another_save) &&
        request.caller_id != last_caller_id_) {
      request.caller_id.clear();
    }
    if (shared_->is(Mutation::s19_callers_ids_are_forgotten_with_their_saves) &&
        shared_->pruned.contains(info().id.text())) {
      request.caller_id.clear();
    }
    return request;
  }

  Result<Saved> broken_answer(const SaveRequest& request, Result<Saved> sound) {
    if (sound) return sound;
    const Code code = sound.error().code;
    SaveRequest again = request;
    again.expected_parent.reset();
    if (shared_->is(Mutation::s05_a_conflicting_save_is_written_all_the_same) && code == Code::parent_conflict) {
      static_cast<void>(sound_->save(again));
    }
    if (shared_->is(Mutation::s06_a_reused_caller_id_is_answered) && code == Code::caller_id_reused) {
      again.caller_id.clear();
      return sound_->save(again);
    }
    if (shared_->is(Mutation::s07_an_inapplicable_patch_has_another_error) && code == Code::invalid_patch) {
      return fail(Code::invalid_json, "the patch is no good");
    }
    if (shared_->is(Mutation::s08_a_failed_save_uses_a_sequence)) {
      SaveRequest gap;
      gap.body = "{}";
      gap.duplicates = Duplicates::write;
      static_cast<void>(sound_->save(gap));
    }
    return sound;
  }

  std::shared_ptr<RunWriter> sound_;
  std::shared_ptr<BrokenShared> shared_;
  std::string last_caller_id_;  // guarded by shared_->mutex
};

RunInfo removed_row(const Erasure& one) {
  return RunInfo{.id = one.run,
                 .uuid = one.uuid,
                 .created = {},
                 .updated = one.at,
                 .latest = one.latest,
                 .status = Status::erased,
                 .kind = Kind::manual,
                 .durability = Durability::sync,
                 .workflow = {},
                 .workflow_hash = {},
                 .session = {},
                 .fork_of_run = {},
                 .fork_of_sequence = {}};
}

class BrokenStore final : public Store {
 public:
  BrokenStore(std::unique_ptr<Store> sound, std::shared_ptr<BrokenShared> shared)
      : sound_(std::move(sound)), shared_(std::move(shared)) {}

  Result<std::unique_ptr<RunClaim>> claim(const RunId& run) override { return sound_->claim(run); }
  Result<std::unique_ptr<RunWriter>> open_run(const RunId& run, const RunOptions& wanted) override {
    RunOptions options = wanted;
    if (shared_->is(Mutation::s51_a_fallback_without_damage_is_accepted)) options.fall_back_to = {};
    Result<std::unique_ptr<RunWriter>> opened = sound_->open_run(run, options);
    if (!opened && shared_->is(Mutation::s11_another_durability_is_accepted) &&
        opened.error().code == Code::durability_fixed) {
      opened = sound_->open_run(run, {});
    }
    const std::scoped_lock lock(shared_->mutex);
    std::shared_ptr<RunWriter> writer;
    if (opened) {
      writer = std::move(*opened);
      shared_->writers[run.text()] = writer;
    } else if (shared_->is(Mutation::s10_a_second_writer_is_let_in) && opened.error().code == Code::run_busy) {
      writer = shared_->writers[run.text()].lock();
    }
    if (!writer) {
      if (shared_->is(Mutation::s10_the_first_writer_is_not_named)) return fail(opened.error().code, "no");
      return fail(std::move(opened).error());
    }
    writes_here_.insert(run.text());
    return std::make_unique<BrokenWriter>(std::move(writer), shared_);
  }

  Result<std::unique_ptr<RunWriter>> fork(const RunId& parent, Sequence at, const RunId& run,
                                          const RunOptions& options) override {
    Result<std::unique_ptr<RunWriter>> opened = shared_->is(Mutation::s30_a_fork_begins_with_nothing)
                                                    ? sound_->open_run(run, options)
                                                    : sound_->fork(parent, at, run, options);
    if (!opened && shared_->is(Mutation::s31_a_run_that_is_there_is_forked_over) &&
        opened.error().code == Code::run_exists) {
      opened = sound_->open_run(run, options);
    }
    if (!opened) return fail(std::move(opened).error());
    const std::scoped_lock lock(shared_->mutex);
    for (const CheckpointInfo& info :
         sound_->checkpoints(parent, {}, at.value).value_or(std::vector<CheckpointInfo>())) {
      shared_->past[{run.text(), info.caller_id}] = {info.sequence, info.id, info.checksum, Saved::Outcome::repeated};
    }
    const std::shared_ptr<RunWriter> writer = std::move(*opened);
    shared_->writers[run.text()] = writer;
    writes_here_.insert(run.text());
    return std::make_unique<BrokenWriter>(writer, shared_);
  }
  Result<std::vector<ForkInfo>> forks_of(const RunId& run) override {
    PAWL_TRY_ASSIGN(std::vector<ForkInfo> forks, sound_->forks_of(run));
    if (shared_->is(Mutation::s32_forks_are_not_named)) forks.clear();
    return forks;
  }
  Result<std::optional<ForkInfo>> origin_of(const RunId& run) override { return sound_->origin_of(run); }

  Result<Restored> restore(const RunId& run, const Which& which) override {
    PAWL_TRY(readable(run));
    PAWL_TRY_ASSIGN(Restored restored, named(sound_->restore(run, broken(run, which))));
    if (shared_->is(Mutation::s01_restore_drops_trailing_white_space)) {
      while (restored.state.ends_with('\n')) restored.state.pop_back();
    }
    if (shared_->is(Mutation::s01_other_handles_get_changed_bytes) && !wrote(run)) restored.state += " ";
    if (shared_->is(Mutation::s03_earlier_checkpoints_give_the_latest_state)) {
      PAWL_TRY_ASSIGN(const Restored latest, sound_->restore(run, {}));
      restored.state = latest.state;
    }
    if (shared_->is(Mutation::s20_pruning_changes_what_is_kept) && pruned(run)) restored.info.stage.clear();
    restored.info = broken(run, restored.info);
    return restored;
  }

  Result<RunInfo> run(const RunId& run) override {
    PAWL_TRY(readable(run));
    return sound_->run(run);
  }

  Result<std::vector<RunInfo>> runs(std::size_t limit) override {
    const bool unlimited = shared_->is(Mutation::s15_the_limit_is_ignored);
    PAWL_TRY_ASSIGN(std::vector<RunInfo> all, sound_->runs(unlimited ? SIZE_MAX : limit));
    if (shared_->is(Mutation::s15_runs_are_listed_oldest_first)) std::ranges::reverse(all);
    if (shared_->is(Mutation::s40_erased_runs_are_not_listed)) {
      std::erase_if(all, [](const RunInfo& info) { return info.status == Status::erased; });
    }
    if (shared_->is(Mutation::s43_removed_runs_are_listed)) {
      PAWL_TRY_ASSIGN(const std::vector<Erasure> gone, sound_->removed(limit));
      for (const Erasure& one : gone) all.push_back(removed_row(one));
    }
    return all;
  }

  Result<CheckpointInfo> checkpoint(const RunId& run, const Which& which) override {
    PAWL_TRY(readable(run));
    PAWL_TRY_ASSIGN(const CheckpointInfo info, named(sound_->checkpoint(run, broken(run, which))));
    return broken(run, info);
  }

  Result<std::vector<CheckpointInfo>> checkpoints(const RunId& run, Sequence after, std::size_t limit) override {
    PAWL_TRY(readable(run));
    if (shared_->is(Mutation::s14_after_is_ignored)) after = {};
    if (shared_->is(Mutation::s14_the_limit_is_ignored)) limit = SIZE_MAX;
    PAWL_TRY_ASSIGN(std::vector<CheckpointInfo> all, sound_->checkpoints(run, after, limit));
    for (CheckpointInfo& info : all) info = broken(run, info);
    if (shared_->is(Mutation::s14_checkpoints_are_listed_descending)) std::ranges::reverse(all);
    return all;
  }

  Result<std::vector<Event>> events(const RunId& run, std::uint64_t after_number, std::size_t limit) override {
    PAWL_TRY(readable(run));
    PAWL_TRY_ASSIGN(std::vector<Event> all, sound_->events(run, after_number, limit));
    if (shared_->is(Mutation::s09_events_are_listed_backwards)) std::ranges::reverse(all);
    for (Event& event : all) event.number -= shared_->is(Mutation::s09_events_count_from_zero) ? 1U : 0U;
    return all;
  }

  Result<std::vector<AuditEntry>> audit(const RunId& run, std::uint64_t after, std::size_t limit) override {
    if (shared_->is(Mutation::s22_the_limit_of_entries_is_ignored)) limit = SIZE_MAX;
    if (shared_->is(Mutation::s22_the_first_entry_is_missing)) after = std::max<std::uint64_t>(after, 1);
    PAWL_TRY_ASSIGN(std::vector<AuditEntry> all, sound_->audit(run, after, limit));
    for (AuditEntry& entry : all) {
      if (shared_->is(Mutation::s22_entries_have_no_hash_of_the_one_before)) entry.previous = std::string(64, '0');
      if (shared_->is(Mutation::s23_who_acted_is_forgotten)) entry.agent.clear();
    }
    return all;
  }

  Result<std::string> post(const RunId& run, std::string_view body) override {
    if (shared_->is(Mutation::s17_a_message_is_refused_while_the_run_is_held) && held(run)) {
      return fail(Code::run_busy, "the run is being written");
    }
    Result<std::string> posted = sound_->post(run, body);
    if (!posted && shared_->is(Mutation::s17_a_message_for_a_missing_run_is_accepted)) return std::string("0");
    return posted;
  }

  Result<std::vector<Message>> inbox(const RunId& run) override {
    PAWL_TRY_ASSIGN(std::vector<Message> all, sound_->inbox(run));
    if (shared_->is(Mutation::s24_a_sealed_inbox_hides_messages)) {
      PAWL_TRY_ASSIGN(const bool sealed, sound_->inbox_sealed(run));
      if (sealed) all.clear();
    }
    if (shared_->is(Mutation::s17_messages_are_listed_newest_first)) std::ranges::reverse(all);
    if (shared_->is(Mutation::s17_a_message_is_listed_once)) {
      for (const Message& message : all) PAWL_TRY(sound_->take(run, message.id));
    }
    return all;
  }

  Result<void> take(const RunId& run, std::string_view message_id) override {
    if (shared_->is(Mutation::s17_taking_a_message_leaves_it)) return {};
    if (shared_->is(Mutation::s17_taking_a_missing_message_fails)) {
      PAWL_TRY_ASSIGN(const std::vector<Message> all, sound_->inbox(run));
      if (std::ranges::find(all, message_id, &Message::id) == all.end())
        return fail(Code::input_unreadable, "no such message");
    }
    return sound_->take(run, message_id);
  }

  Result<bool> inbox_sealed(const RunId& run) override {
    if (shared_->is(Mutation::s24_others_do_not_see_the_seal) && !wrote(run)) return false;
    if (shared_->is(Mutation::s24_a_seal_outlives_its_writer)) {
      const std::scoped_lock lock(shared_->mutex);
      return shared_->sealed.contains(run.text());
    }
    return sound_->inbox_sealed(run);
  }

  Result<std::optional<std::string>> owner(const RunId& run) override {
    PAWL_TRY_ASSIGN(std::optional<std::string> owner, sound_->owner(run));
    if (shared_->is(Mutation::s18_other_handles_see_no_owner) && !wrote(run)) owner.reset();
    if (shared_->is(Mutation::s18_a_closed_run_keeps_its_owner) && wrote(run)) owner = "process 4711";
    return owner;
  }

  Result<std::string> local_folder(const RunId& run) override { return sound_->local_folder(run); }
  std::unique_ptr<Limits> limits() override { return sound_->limits(); }
  std::unique_ptr<ResultCache> result_cache() override { return sound_->result_cache(); }

  Result<RunFootprint> footprint(const RunId& run) override {
    PAWL_TRY_ASSIGN(RunFootprint bytes, sound_->footprint(run));
    if (shared_->is(Mutation::s21_messages_are_not_counted)) bytes.inbox = 0;
    return bytes;
  }
  Result<std::uint64_t> shared_bytes() override { return sound_->shared_bytes(); }
  Timestamp believable_now() override { return sound_->believable_now(); }
  Result<PruneReport> prune(const RunId& run, const RetentionSettings& settings, PruneMode mode) override {
    if (shared_->is(Mutation::s19_a_dry_run_removes)) mode = PruneMode::remove;
    RetentionSettings broken = settings;
    const std::scoped_lock lock(shared_->mutex);
    const bool again = !shared_->pruned.insert(run.text()).second;
    if (shared_->is(Mutation::s20_pruning_again_takes_more) && again && broken.keep) broken.keep = 1;
    if (shared_->is(Mutation::s19_pruned_checkpoints_can_still_be_restored)) mode = PruneMode::dry_run;
    if (shared_->is(Mutation::s33_pruning_a_fork_prunes_its_parent)) {
      PAWL_TRY_ASSIGN(const auto origin, sound_->origin_of(run));
      if (origin) PAWL_TRY(sound_->prune(origin->run, broken, mode));
    }
    return sound_->prune(run, broken, mode);
  }

  Result<Erasure> erase(const RunId& run, const EraseRequest& request) override {
    const Erasure nothing{.run = run,
                          .outcome = Erasure::Outcome::done,
                          .at = {},
                          .by = request.by,
                          .reason = request.reason,
                          .checkpoints = 23,
                          .waiting_for = {},
                          .forks = {}};
    if (shared_->is(Mutation::s40_erasing_does_nothing)) return nothing;
    EraseRequest broken = request;
    if (shared_->is(Mutation::s40_the_reason_is_forgotten)) broken.reason = "of something";
    if (shared_->is(Mutation::s42_other_runs_go_as_well)) {
      PAWL_TRY_ASSIGN(const std::vector<RunInfo> all, sound_->runs(SIZE_MAX));
      for (const RunInfo& info : all) static_cast<void>(sound_->erase(info.id, broken));
    }
    if (shared_->is(Mutation::s43_a_removed_run_is_only_erased)) broken.remains = Remains::trail;
    if (shared_->is(Mutation::s44_forks_are_removed_as_well)) broken.cascade = Cascade::yes;
    Result<Erasure> erased = sound_->erase(run, broken);
    if (!erased && erased.error().code == Code::run_busy && shared_->is(Mutation::s41_a_held_run_is_said_to_be_erased))
      return nothing;
    return erased;
  }

  Result<std::vector<Erasure>> removed(std::size_t limit) override { return sound_->removed(limit); }

  Result<Recovered> recover(const RunId& run, const RecoverScope& scope) override {
    RecoverScope broken = scope;
    if (shared_->is(Mutation::s50_recovery_does_not_keep_a_bound)) broken.not_after.reset();
    return sound_->recover(run, broken);
  }
  Result<void> log_failure(const RecoveryFailure& failure) override { return sound_->log_failure(failure); }
  Result<CheckReport> check(const CheckScope& scope, Repair repair) override { return sound_->check(scope, repair); }

 private:
  /// Whether this handle has been the writer of the run.
  bool wrote(const RunId& run) {
    const std::scoped_lock lock(shared_->mutex);
    return writes_here_.contains(run.text());
  }

  bool pruned(const RunId& run) {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->pruned.contains(run.text());
  }

  bool held(const RunId& run) {
    const std::scoped_lock lock(shared_->mutex);
    return !shared_->writers[run.text()].expired();
  }

  Result<void> readable(const RunId& run) {
    if (!shared_->is(Mutation::s13_readers_wait_for_the_writer) || !held(run)) return {};
    return fail(Code::store_busy, "the run is being written");
  }

  template <class T>
  Result<T> named(Result<T> result) {
    if (shared_->is(Mutation::s19_pruned_checkpoints_are_a_plain_not_found) && !result &&
        result.error().code == Code::checkpoint_pruned) {
      return fail(Code::checkpoint_not_found, "no such checkpoint");
    }
    const bool confused = shared_->is(Mutation::s13_a_missing_checkpoint_is_a_missing_run);
    if (confused && !result && result.error().code == Code::checkpoint_not_found)
      return fail(Code::run_not_found, "no such run");
    return result;
  }

  Which broken(const RunId& run, Which which) {
    if (which.by == Which::By::latest && shared_->is(Mutation::s13_the_newest_save_is_not_seen_by_others) &&
        !wrote(run)) {
      const Result<RunInfo> info = sound_->run(run);
      if (info && info->latest.value > 1)
        which = {.by = Which::By::sequence, .sequence = {info->latest.value - 1}, .label = {}, .uuid = {}};
    }
    if (which.by == Which::By::uuid && shared_->is(Mutation::s16_a_uuid_finds_nothing)) which.uuid = Uuid{};
    if (which.by == Which::By::name && shared_->is(Mutation::s16_a_name_finds_the_oldest)) {
      const Result<std::vector<CheckpointInfo>> all = sound_->checkpoints(run, {}, SIZE_MAX);
      if (!all) return which;
      const auto oldest = std::ranges::find(*all, which.label, &CheckpointInfo::name);
      if (oldest != all->end())
        which = {.by = Which::By::sequence, .sequence = oldest->sequence, .label = {}, .uuid = {}};
    }
    return which;
  }

  CheckpointInfo broken(const RunId& run, CheckpointInfo info) {
    if (!shared_->is(Mutation::s12_timestamps_follow_the_clock_back)) return info;
    const std::scoped_lock lock(shared_->mutex);
    info.created = shared_->raw_times[{run.text(), info.sequence.value}];
    return info;
  }

  const std::unique_ptr<Store> sound_;
  const std::shared_ptr<BrokenShared> shared_;
  std::set<std::string> writes_here_;  // guarded by shared_->mutex
};

class BrokenUnderTest final : public StoreUnderTest {
 public:
  explicit BrokenUnderTest(Mutation mutation) {
    shared_->mutation = mutation;
    shared_->clock = &sound_.clock();
  }
  std::unique_ptr<Store> open() override { return std::make_unique<BrokenStore>(sound_.open(), shared_); }
  ManualClock& clock() override { return sound_.clock(); }
  [[nodiscard]] std::uint64_t writer_pid() const override { return sound_.writer_pid(); }

 private:
  MemoryUnderTest sound_;
  std::shared_ptr<BrokenShared> shared_ = std::make_shared<BrokenShared>();
};

std::vector<std::string> violated_by(Mutation mutation) {
  return violated_clauses([mutation] { return std::make_unique<BrokenUnderTest>(mutation); });
}

class BrokenStoreContract : public ::testing::TestWithParam<NamedMutation> {};

TEST_P(BrokenStoreContract, IsReportedByItsClause) {
  const std::vector<std::string> violated = violated_by(GetParam().mutation);
  EXPECT_TRUE(std::ranges::find(violated, GetParam().clause) != violated.end()) << ::testing::PrintToString(violated);
}

INSTANTIATE_TEST_SUITE_P(Mutation, BrokenStoreContract, ::testing::ValuesIn(kMutations),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BrokenStore, WithoutAMutationViolatesNothing) {
  EXPECT_EQ(violated_by(Mutation::none), std::vector<std::string>());
}

TEST(BrokenStore, MutationsAndTestsCoverTheSameClauses) {
  std::set<std::string_view> broken;
  for (const NamedMutation& mutation : kMutations) broken.insert(mutation.clause);
  std::set<std::string_view> tested;
  for (const ContractTest& test : contract_tests()) tested.insert(test.clause());
  EXPECT_EQ(broken.size(), 38U);
  EXPECT_EQ(broken, tested);
}

}  // namespace
}  // namespace pawl::testing
