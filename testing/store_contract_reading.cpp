// S13..S16: reading.
#include <algorithm>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

// --- S13

void s13_readers_need_no_lock(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto reader = subject.open();
  const auto run = writer(*store, "r");
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const std::string body = std::to_string(i);
    need(run->save(state(body)));
    for (Store* handle : {store.get(), reader.get()}) {
      expect(need(handle->restore(run_id("r"), {})).state == body, "an acknowledged save is not seen by restore");
      expect(need(handle->run(run_id("r"))).latest == Sequence{i}, "an acknowledged save is not seen by run");
      expect(need(handle->checkpoint(run_id("r"), {})).sequence == Sequence{i},
             "an acknowledged save is not seen by checkpoint");
      expect(need(handle->checkpoints(run_id("r"), {}, 100)).size() == i, "an acknowledged save is not listed");
      expect(need(handle->runs(100)).front().latest == Sequence{i}, "an acknowledged save is not seen by runs");
    }
  }
}

void s13_missing_is_named(StoreUnderTest& subject) {
  const auto store = subject.open();
  const RunId missing = run_id("missing");
  need_error(store->run(missing), Code::run_not_found);
  need_error(store->restore(missing, {}), Code::run_not_found);
  need_error(store->checkpoint(missing, at_sequence(1)), Code::run_not_found);
  need_error(store->checkpoints(missing, {}, 10), Code::run_not_found);
  need_error(store->events(missing, 0, 10), Code::run_not_found);
  need(writer(*store, "r")->save(state("1")));
  need_error(store->restore(run_id("r"), at_sequence(2)), Code::checkpoint_not_found);
  need_error(store->restore(run_id("r"), at_sequence(0)), Code::checkpoint_not_found);
  need_error(store->checkpoint(run_id("r"), at_label(Which::By::name, "n")), Code::checkpoint_not_found);
  need_error(store->checkpoint(run_id("r"), at_uuid(Uuid{})), Code::checkpoint_not_found);
}

void s13_run_exists_from_first_save(StoreUnderTest& subject) {
  const auto store = subject.open();
  {
    const auto run = writer(*store, "r");
    need_error(subject.open()->run(run_id("r")), Code::run_not_found);
    expect(need(store->runs(10)).empty(), "a run without a save is listed");
    need(run->save(state("1")));
    expect(need(subject.open()->runs(10)).size() == 1, "a saved run is not listed");
    expect(need(store->run(run_id("r"))).uuid == run->info().uuid, "the writer and the reader see different runs");
  }
  writer(*store, "opened-only").reset();
  need_error(store->run(run_id("opened-only")), Code::run_not_found);
}

// --- S14

void s14_ascending_after_limit(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  for (int i = 1; i <= 12; ++i) need(run->save(state(std::to_string(i))));
  const auto list = [&store](std::uint64_t after, std::size_t limit) {
    std::vector<std::uint64_t> sequences;
    for (const CheckpointInfo& info : need(store->checkpoints(run_id("r"), Sequence{after}, limit)))
      sequences.push_back(info.sequence.value);
    return sequences;
  };
  using Numbers = std::vector<std::uint64_t>;
  expect(list(0, 3) == Numbers({1, 2, 3}), "the first three are not 1, 2, 3");
  expect(list(9, 100) == Numbers({10, 11, 12}), "those after 9 are not 10, 11, 12");
  expect(list(9, 2) == Numbers({10, 11}), "after and limit don't go together");
  expect(list(12, 5).empty() && list(99, 5).empty(), "there is something after the last one");
  expect(list(0, 0).empty(), "a limit of none gives some");
  expect(list(0, 100).size() == 12, "not all are listed");
}

// --- S15

void s15_newest_first(StoreUnderTest& subject) {
  const auto store = subject.open();
  constexpr std::string_view kSaves[] = {"b", "a", "d", "c", "a"};
  int i = 0;
  for (const std::string_view run : kSaves) {
    subject.clock().advance(1'000'000);
    need(writer(*store, run)->save(state(std::to_string(++i))));
  }
  const auto list = [](Store& handle, std::size_t limit) {
    std::vector<std::string> names;
    for (const RunInfo& info : need(handle.runs(limit))) names.push_back(info.id.text());
    return names;
  };
  using Names = std::vector<std::string>;
  expect(list(*store, 10) == Names({"a", "c", "d", "b"}), "runs are not listed newest first");
  expect(list(*subject.open(), 2) == Names({"a", "c"}), "the limit does not give the newest");
  expect(list(*store, 0).empty(), "a limit of none gives some");
}

// --- S16

void s16_addresses(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  std::vector<Saved> saved;
  const auto save = [&](std::string name, std::string stage, std::string step) {
    const std::string body = std::to_string(saved.size() + 1);
    SaveRequest request = state(body);
    request.name = std::move(name);
    request.stage = std::move(stage);
    request.step = std::move(step);
    saved.push_back(need(run->save(request)));
  };
  save("n", "s", "t");
  save("n", "s", "u");
  save("other", "s2", "t");
  save("", "", "");
  const auto sequence = [&store](const Which& which) {
    const Restored restored = need(store->restore(run_id("r"), which));
    expect(need(store->checkpoint(run_id("r"), which)) == restored.info, "checkpoint and restore disagree");
    expect(restored.state == std::to_string(restored.info.sequence.value), "the state is another checkpoint's");
    return restored.info.sequence.value;
  };
  expect(sequence({}) == 4, "latest is not the newest");
  expect(sequence(at_sequence(2)) == 2, "a sequence addresses another checkpoint");
  expect(sequence(at_label(Which::By::name, "n")) == 2, "of two with a name, the newest is not taken");
  expect(sequence(at_label(Which::By::name, "other")) == 3, "a name addresses another checkpoint");
  expect(sequence(at_label(Which::By::stage, "s")) == 2, "a stage addresses another checkpoint");
  expect(sequence(at_label(Which::By::step, "t")) == 3, "a step addresses another checkpoint");
  for (const Saved& one : saved)
    expect(sequence(at_uuid(one.id)) == one.sequence.value, "a UUID addresses another checkpoint");
  need(writer(*store, "r2")->save(state("1")));
  need_error(store->checkpoint(run_id("r2"), at_uuid(saved[0].id)), Code::checkpoint_not_found);
  need_error(store->checkpoint(run_id("r"), at_label(Which::By::stage, "n")), Code::checkpoint_not_found);
}

void s16_any_label(StoreUnderTest& subject) {
  auto store = subject.open();
  const std::vector<SaveLabel> more = {
      {Kind::step_complete, Reason::after_step, "s", "c"},
      {Kind::error, Reason::step_failed, "", "quoted \"d\""},
      {Kind::stage_complete, Reason::stage_completed, "s2", ""},
  };
  {
    const auto run = writer(*store, "r");
    SaveRequest request = state("1");
    request.stage = "s";
    request.step = "b";
    request.also = more;
    need(run->save(request));
    SaveRequest next = state("[2]");
    next.step = "c";
    need(run->save(next));
    need(run->save(state("[2,3]")));
  }
  for (const bool reopened : {false, true}) {
    if (reopened) store = subject.open();
    const auto sequence = [&store](Which::By by, std::string label) {
      return need(store->checkpoint(run_id("r"), at_label(by, std::move(label)))).sequence.value;
    };
    expect(sequence(Which::By::step, "b") == 1, "the first label is not found");
    expect(sequence(Which::By::step, "quoted \"d\"") == 1, "a step in another label is not found");
    expect(sequence(Which::By::stage, "s2") == 1, "a stage in another label is not found");
    expect(sequence(Which::By::step, "c") == 2, "of two with a step, the newest is not taken");
    need_error(store->checkpoint(run_id("r"), at_label(Which::By::step, "s2")), Code::checkpoint_not_found);
    expect(need(store->checkpoint(run_id("r"), at_sequence(1))).also == more, "labels came back changed");
    expect(need(store->checkpoints(run_id("r"), {}, 10))[0].also == more, "listed labels are others");
    expect(need(store->checkpoint(run_id("r"), at_sequence(2))).also.empty(), "a checkpoint has another one's labels");
  }
}

}  // namespace

std::vector<ContractTest> reading_tests() {
  return {
      {"S13_ReadersNeedNoLockAndSeeEveryAcknowledgedSave", s13_readers_need_no_lock},
      {"S13_WhatIsMissingIsNamed", s13_missing_is_named},
      {"S13_ARunExistsFromItsFirstSaveOn", s13_run_exists_from_first_save},
      {"S14_CheckpointsAreListedAscendingAfterAndLimited", s14_ascending_after_limit},
      {"S15_RunsAreListedNewestFirstAndLimited", s15_newest_first},
      {"S16_EveryFormOfAddressFindsTheNewestThatFits", s16_addresses},
      {"S16_AStageOrStepInAnyLabelFindsTheCheckpoint", s16_any_label},
  };
}

}  // namespace pawl::testing::contract
