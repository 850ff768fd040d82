// S30 to S34: forks.
#include <algorithm>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

constexpr std::size_t kAllOfForks = 1000;

RetentionSettings keep_fork(std::uint64_t newest) { return {.keep = newest, .keep_days = {}, .keep_per_stage = {}}; }

std::string fork_body(std::string_view who, std::uint64_t number) {
  std::string body = fmt::format("{{\"by\":\"{}\",\"padding\":\"{}\",\"items\":[0", who, std::string(300, 'p'));
  for (std::uint64_t i = 1; i <= number; ++i) body += fmt::format(",\"item {}\"", i);
  return body + "]}";
}

/// Saves the next `count` checkpoints, each with a step, a caller's id and an event.
void fill_to_fork(RunWriter& run, std::string_view who, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = run.info().latest.value + 1;
    const std::string body = fork_body(who, number);
    SaveRequest request = state(body);
    request.step = fmt::format("step-{}", number);
    request.caller_id = fmt::format("call-{}", number);
    request.events = {{"noted", fmt::format("\"{} {}\"", who, number)}};
    const Saved saved = need(run.save(request));
    expect(saved.sequence.value == number && saved.outcome == Saved::Outcome::written,
           "a save got another number, or none");
  }
}

std::unique_ptr<RunWriter> forked(Store& store, std::string_view parent, std::uint64_t at, std::string_view run,
                                  const RunOptions& options = {}) {
  return need(store.fork(run_id(parent), Sequence{at}, run_id(run), options));
}

void expect_states(Store& store, std::string_view run, std::string_view who, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t number = first; number <= last; ++number) {
    const Restored restored = need(store.restore(run_id(run), at_sequence(number)));
    expect(restored.state == fork_body(who, number), fmt::format("checkpoint {} of {} is another one", number, run));
    expect(restored.info.parent.value == number - 1, "a checkpoint has another parent");
  }
}

std::string events_of(Store& store, std::string_view run, std::uint64_t after = 0, std::size_t limit = kAllOfForks) {
  std::string text;
  for (const Event& event : need(store.events(run_id(run), after, limit)))
    text += fmt::format("{}:{}:{} ", event.number, event.sequence.value, event.data);
  return text;
}

std::vector<std::uint64_t> listed_fork(Store& store, std::string_view run, std::uint64_t after = 0,
                                       std::size_t limit = kAllOfForks) {
  std::vector<std::uint64_t> all;
  for (const CheckpointInfo& info : need(store.checkpoints(run_id(run), Sequence{after}, limit)))
    all.push_back(info.sequence.value);
  return all;
}

void expect_sound(Store& store) {
  for (const Finding& finding : need(store.check({}, Repair::no)).findings) {
    expect(finding.severity != Finding::Severity::damage && finding.severity != Finding::Severity::mendable,
           fmt::format("the check finds {}: {}", finding.file, finding.what));
  }
}

// --- S30

void s30_the_past_is_shared(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 12);
  const std::string before = picture(*store, "p");
  {
    const auto fork = forked(*store, "p", 7, "f");
    expect(fork->info().latest.value == 7, "a fork does not begin behind what it shares");
    need_error(store->run(run_id("f")), Code::run_not_found);
    fill_to_fork(*fork, "f", 5);
  }
  const auto fresh = subject.open();
  for (Store* handle : {store.get(), fresh.get()}) {
    expect_states(*handle, "f", "p", 1, 7);
    expect_states(*handle, "f", "f", 8, 12);
    expect(need(handle->run(run_id("f"))).latest.value == 12, "the fork's latest is another one");
    expect(picture(*handle, "p") == before, "the parent was changed");
    expect(listed_fork(*handle, "f") == std::vector<std::uint64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
           "the fork's list is another one");
    expect(listed_fork(*handle, "f", 5, 4) == std::vector<std::uint64_t>({6, 7, 8, 9}),
           "a page across the fork's point is another one");
    need_error(handle->restore(run_id("f"), at_sequence(13)), Code::checkpoint_not_found);
  }
}

void s30_events_are_shared(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 4);
  const auto fork = forked(*store, "p", 2, "f");
  fill_to_fork(*fork, "f", 2);
  fill_to_fork(*writer(*store, "p"), "p", 1);
  const auto fresh = subject.open();
  expect(events_of(*fresh, "f") == R"(1:1:"p 1" 2:2:"p 2" 3:3:"f 3" 4:4:"f 4" )",
         "the fork's events are others: " + events_of(*fresh, "f"));
  expect(events_of(*fresh, "f", 1, 2) == R"(2:2:"p 2" 3:3:"f 3" )", "a page across the fork's point is another one");
  expect(events_of(*fresh, "f", 3) == R"(4:4:"f 4" )", "a page of the fork's own is another one");
  expect(events_of(*fresh, "p", 3) == R"(4:4:"p 4" 5:5:"p 5" )", "the parent's events are others");
}

void s30_first_save_is_written(StoreUnderTest& subject) {
  const auto store = subject.open();
  {
    const auto run = writer(*store, "p");
    need(run->save(state("{\"a\":1}")));
    need(run->save(state("{\"a\":2}")));
  }
  {
    const auto fork = forked(*store, "p", 1, "f");
    const Saved saved = need(fork->save(state("{\"a\":1}")));
    expect(saved.outcome == Saved::Outcome::written && saved.sequence.value == 2, "the first save was not written");
    expect(need(fork->save(state("{\"a\":1}"))).outcome == Saved::Outcome::unchanged,
           "the same state again was written");
    SaveRequest wrong = state("{}");
    wrong.expected_parent = Sequence{1};
    need_error(fork->save(wrong), Code::parent_conflict);
    need(fork->save(patch("{\"b\":1}")));
  }
  const Restored restored = need(subject.open()->restore(run_id("f"), {}));
  expect(restored.state == "{\"a\":1,\"b\":1}" && restored.info.sequence.value == 3, "a patch went to another state");
}

void s30_forks_of_forks(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 5);
  fill_to_fork(*forked(*store, "p", 4, "f"), "f", 4);
  fill_to_fork(*forked(*store, "f", 6, "g"), "g", 3);
  fill_to_fork(*forked(*store, "g", 9, "h"), "h", 1);
  fill_to_fork(*forked(*store, "g", 2, "early"), "e", 1);
  fill_to_fork(*writer(*store, "f"), "f", 1);
  fill_to_fork(*writer(*store, "g"), "g", 2);
  const auto fresh = subject.open();
  expect_states(*fresh, "h", "p", 1, 4);
  expect_states(*fresh, "h", "f", 5, 6);
  expect_states(*fresh, "h", "g", 7, 9);
  expect_states(*fresh, "h", "h", 10, 10);
  expect_states(*fresh, "early", "p", 1, 2);
  expect_states(*fresh, "early", "e", 3, 3);
  expect(need(fresh->origin_of(run_id("early")))->run == run_id("p"),
         "a fork of the shared past is not one of the run that it belongs to");
  expect(events_of(*fresh, "h", 3) == R"(4:4:"p 4" 5:5:"f 5" 6:6:"f 6" 7:7:"g 7" 8:8:"g 8" 9:9:"g 9" 10:10:"h 10" )",
         "events of three levels are others");
  expect_sound(*fresh);
}

void s30_labels_find_the_newest(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 6);
  const Uuid shared = need(store->checkpoint(run_id("p"), at_sequence(2))).id;
  const Uuid later = need(store->checkpoint(run_id("p"), at_sequence(5))).id;
  fill_to_fork(*forked(*store, "p", 3, "f"), "f", 2);
  const auto fresh = subject.open();
  expect(need(fresh->checkpoint(run_id("f"), at_label(Which::By::step, "step-2"))).sequence.value == 2,
         "a step of the past is not found");
  expect(need(fresh->restore(run_id("f"), at_label(Which::By::step, "step-5"))).state == fork_body("f", 5),
         "the parent's later step was found");
  expect(need(fresh->checkpoint(run_id("f"), at_uuid(shared))).sequence.value == 2, "a UUID of the past is not found");
  need_error(fresh->checkpoint(run_id("f"), at_uuid(later)), Code::checkpoint_not_found);
  need_error(fresh->checkpoint(run_id("f"), at_label(Which::By::step, "step-6")), Code::checkpoint_not_found);
}

void s30_both_go_on(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto other = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 3);
  const auto fork = forked(*other, "p", 3, "f");
  const auto parent = writer(*store, "p");
  for (int turn = 0; turn < 20; ++turn) {
    fill_to_fork(*fork, "f", 2);
    fill_to_fork(*parent, "p", 3);
  }
  const auto fresh = subject.open();
  expect_states(*fresh, "p", "p", 1, 63);
  expect_states(*fresh, "f", "p", 1, 3);
  expect_states(*fresh, "f", "f", 4, 43);
  expect_sound(*fresh);
}

// --- S31

void s31_refusals(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 3);
  fill_to_fork(*writer(*store, "there"), "t", 1);
  const auto refuses = [&](std::string_view parent, std::uint64_t at, std::string_view run, Code code) {
    need_error(store->fork(run_id(parent), Sequence{at}, run_id(run), {}), code);
  };
  refuses("missing", 1, "f", Code::run_not_found);
  refuses("p", 4, "f", Code::checkpoint_not_found);
  refuses("p", 0, "f", Code::checkpoint_not_found);
  refuses("p", 2, "there", Code::run_exists);
  refuses("p", 2, "p", Code::run_exists);
  need(store->prune(run_id("p"), keep_fork(1), PruneMode::remove));
  refuses("p", 1, "f", Code::checkpoint_pruned);
  const auto held = writer(*store, "p");
  const auto other = subject.open();
  const auto fork = forked(*other, "p", 3, "f");
  need_error(subject.open()->fork(run_id("p"), Sequence{3}, run_id("f"), {}), Code::run_busy);
  fill_to_fork(*fork, "f", 1);
  need_error(subject.open()->open_run(run_id("f"), {}), Code::run_busy);
}

// --- S32

void s32_lineage(StoreUnderTest& subject) {
  const auto store = subject.open();
  RunOptions options;
  options.workflow = "flow.yaml";
  options.session = "s";
  fill_to_fork(*writer(*store, "p", options), "p", 5);
  expect(need(store->forks_of(run_id("p"))).empty() && !need(store->origin_of(run_id("p"))),
         "a run without forks has some");
  fill_to_fork(*forked(*store, "p", 4, "late"), "l", 1);
  fill_to_fork(*forked(*store, "p", 2, "early"), "e", 1);
  const auto fresh = subject.open();
  const auto forks = need(fresh->forks_of(run_id("p")));
  expect(
      forks.size() == 2 && forks[0].run == run_id("early") && forks[0].at.value == 2 && forks[1].run == run_id("late"),
      "the forks are others");
  const RunInfo info = need(fresh->run(run_id("late")));
  expect(forks[1].uuid == info.uuid, "a fork's UUID is another one");
  const auto origin = need(fresh->origin_of(run_id("late")));
  const RunInfo parent = need(fresh->run(run_id("p")));
  expect(origin && origin->run == run_id("p") && origin->at.value == 4 && origin->uuid == parent.uuid,
         "the origin is another one");
  expect(info.fork_of_run == parent.uuid && info.fork_of_sequence.value == 4,
         "the run's description has another origin");
  expect(info.workflow == "flow.yaml" && info.session == "s" && info.uuid != parent.uuid,
         "what a fork takes over is something else");
  need_error(fresh->forks_of(run_id("missing")), Code::run_not_found);
}

// --- S33

void s33_fork_points_stay(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 60);
  fill_to_fork(*forked(*store, "p", 33, "f"), "f", 20);
  fill_to_fork(*forked(*store, "f", 40, "g"), "g", 5);
  fill_to_fork(*writer(*store, "p"), "p", 30);
  const PruneReport dry = need(store->prune(run_id("p"), keep_fork(2), PruneMode::dry_run));
  const PruneReport report = need(store->prune(run_id("p"), keep_fork(2), PruneMode::remove));
  expect(dry.dropped == report.dropped && report.dropped.size() == 87, "the wrong number went");
  need(store->prune(run_id("f"), keep_fork(1), PruneMode::remove));
  const auto fresh = subject.open();
  expect(listed_fork(*fresh, "p") == std::vector<std::uint64_t>({33, 89, 90}), "the parent keeps others");
  expect(listed_fork(*fresh, "f") == std::vector<std::uint64_t>({33, 40, 53}), "the fork keeps others");
  expect(listed_fork(*fresh, "g") == std::vector<std::uint64_t>({33, 40, 41, 42, 43, 44, 45}),
         "the fork's fork has others");
  expect_states(*fresh, "f", "p", 33, 33);
  expect_states(*fresh, "f", "f", 53, 53);
  expect_states(*fresh, "g", "f", 40, 40);
  expect_states(*fresh, "g", "g", 41, 45);
  need_error(fresh->restore(run_id("g"), at_sequence(32)), Code::checkpoint_pruned);
  need_error(fresh->restore(run_id("g"), at_sequence(39)), Code::checkpoint_pruned);
  expect_sound(*fresh);
  fill_to_fork(*writer(*store, "g"), "g", 3);
  fill_to_fork(*writer(*store, "f"), "f", 3);
  fill_to_fork(*writer(*store, "p"), "p", 3);
  expect_states(*fresh, "g", "g", 41, 48);
  expect_states(*fresh, "f", "f", 53, 56);
  expect_sound(*fresh);
}

void s33_a_fork_prunes_its_own(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 10);
  fill_to_fork(*forked(*store, "p", 8, "f"), "f", 50);
  const std::string before = picture(*store, "p");
  const PruneReport report = need(store->prune(run_id("f"), keep_fork(3), PruneMode::remove));
  expect(report.dropped.front().value == 9 && report.dropped.size() == 47 && report.kept == 3, "others went");
  const auto fresh = subject.open();
  expect(picture(*fresh, "p") == before, "pruning a fork has changed its parent");
  expect(listed_fork(*fresh, "f") == std::vector<std::uint64_t>({1, 2, 3, 4, 5, 6, 7, 8, 56, 57, 58}),
         "the fork keeps others");
  need_error(fresh->restore(run_id("f"), at_sequence(9)), Code::checkpoint_pruned);
  expect_states(*fresh, "f", "p", 1, 8);
  expect_states(*fresh, "f", "f", 56, 58);
  expect_sound(*fresh);
}

void s33_an_erased_fork_keeps_nothing(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 10);
  fill_to_fork(*forked(*store, "p", 4, "f"), "f", 3);
  fill_to_fork(*forked(*store, "p", 6, "g"), "g", 3);
  EraseRequest request;
  request.reason = "a request";
  need(store->erase(run_id("f"), request));
  need(store->prune(run_id("p"), keep_fork(2), PruneMode::remove));
  const auto fresh = subject.open();
  expect(listed_fork(*fresh, "p") == std::vector<std::uint64_t>({6, 9, 10}), "an erased fork keeps a checkpoint");
  expect_states(*fresh, "g", "g", 7, 9);
  expect_sound(*fresh);
}

// --- S34

void s34_callers_ids(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_fork(*writer(*store, "p"), "p", 3);
  const auto fork = forked(*store, "p", 2, "f");
  const std::string body = fork_body("f", 3);
  for (const std::string id : {"call-1", "call-3"}) {
    SaveRequest request = state(body);
    request.caller_id = id;
    const Saved saved = need(fork->save(request));
    expect(saved.outcome == Saved::Outcome::written, "a caller's id of the parent was answered");
    expect(need(fork->save(request)).outcome == Saved::Outcome::repeated, "the fork forgets its own callers' ids");
  }
}

}  // namespace

std::vector<ContractTest> fork_tests() {
  return {
      {"S30_AForkSharesThePastAndGoesOnAlone", s30_the_past_is_shared},
      {"S30_EventsOfThePastAreShared", s30_events_are_shared},
      {"S30_TheFirstSaveIsAlwaysWritten", s30_first_save_is_written},
      {"S30_ForksOfForksShareEverything", s30_forks_of_forks},
      {"S30_LabelsFindTheNewestOfBoth", s30_labels_find_the_newest},
      {"S30_BothGoOnBesideEachOther", s30_both_go_on},
      {"S31_WhatCantBeForkedIsRefused", s31_refusals},
      {"S32_LineageIsKnownFromBothEnds", s32_lineage},
      {"S33_WhereARunWasForkedIsKept", s33_fork_points_stay},
      {"S33_AForkPrunesItsOwnCheckpointsOnly", s33_a_fork_prunes_its_own},
      {"S33_AnErasedForkKeepsNothing", s33_an_erased_fork_keeps_nothing},
      {"S34_CallersIdsOfThePastAreNotAnswered", s34_callers_ids},
  };
}

}  // namespace pawl::testing::contract
