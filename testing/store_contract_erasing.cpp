// S40 to S42: erasing. S43, S44: removing.
#include <algorithm>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

constexpr std::size_t kAllOfErased = 1000;

EraseRequest because(std::string reason) {
  return {.reason = std::move(reason), .by = "someone@somewhere", .cascade = Cascade::no, .remains = Remains::trail};
}

EraseRequest removal(std::string reason) {
  EraseRequest request = because(std::move(reason));
  request.remains = Remains::tombstone;
  return request;
}

/// Saves checkpoints with labels, events, callers' ids and a large state.
void fill_to_erase(RunWriter& run, std::uint64_t count) {
  for (std::uint64_t number = 1; number <= count; ++number) {
    const std::string body = number % 5 == 0
                                 ? fmt::format("\"{}\"", std::string(5000, static_cast<char>('a' + number % 26)))
                                 : fmt::format("{{\"run\":\"{}\",\"n\":{}}}", run.info().id.text(), number);
    SaveRequest request = state(body);
    request.name = fmt::format("name-{}", number);
    request.stage = "stage";
    request.step = "step";
    request.caller_id = fmt::format("call-{}", number);
    request.metadata = "{\"about\":\"someone\"}";
    request.events = {{"noted", std::to_string(number)}};
    need(run.save(request));
  }
}

std::optional<RunInfo> listed_erased(Store& store, std::string_view run) {
  for (const RunInfo& info : need(store.runs(kAllOfErased))) {
    if (info.id.text() == run) return info;
  }
  return std::nullopt;
}

void expect_erased(Store& store, std::string_view run, std::string_view reason) {
  const RunId id = run_id(run);
  const std::string said = need_error(store.restore(id, {}), Code::run_erased);
  expect(said.find(reason) != std::string::npos, "the error does not say why the run was erased");
  expect(said.find("erased on 20") != std::string::npos, "the error does not say when the run was erased");
  need_error(store.restore(id, at_sequence(1)), Code::run_erased);
  need_error(store.run(id), Code::run_erased);
  need_error(store.checkpoint(id, at_label(Which::By::name, "name-3")), Code::run_erased);
  need_error(store.checkpoints(id, {}, kAllOfErased), Code::run_erased);
  need_error(store.events(id, 0, kAllOfErased), Code::run_erased);
  need_error(store.post(id, "{}"), Code::run_erased);
  need_error(store.inbox(id), Code::run_erased);
  need_error(store.footprint(id), Code::run_erased);
  need_error(store.local_folder(id), Code::run_erased);
  need_error(store.prune(id, {.keep = 1, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove), Code::run_erased);
  need_error(store.open_run(id, {}), Code::run_erased);
  const auto info = listed_erased(store, run);
  expect(info.has_value(), "an erased run is not listed");
  expect(info->status == Status::erased && info->workflow.empty() && info->session.empty(),
         "an erased run is listed with what it was");
}

// --- S40

void s40_nothing_is_left(StoreUnderTest& subject) {
  {
    const auto store = subject.open();
    const auto run = writer(
        *store, "r", {.durability = {}, .workflow = "secret.yaml", .workflow_hash = "0123", .session = "of someone"});
    fill_to_erase(*run, 23);
    need(store->post(run_id("r"), "{\"signal\":\"go\"}"));
  }
  const auto store = subject.open();
  const Uuid uuid = need(store->run(run_id("r"))).uuid;
  const Erasure erasure = need(store->erase(run_id("r"), because("request 17")));
  expect(erasure.outcome == Erasure::Outcome::done && erasure.waiting_for.empty(), "the erasure is not done");
  expect(erasure.checkpoints == 23 && erasure.reason == "request 17" && erasure.by == "someone@somewhere",
         "the report says something else");
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    expect_erased(*handle, "r", "request 17");
    expect(need(handle->audit(run_id("r"), 0, 1000)).size() >= 23, "the audit trail of an erased run can't be read");
    expect(listed_erased(*handle, "r")->uuid == uuid && listed_erased(*handle, "r")->latest == Sequence{23},
           "an erased run is another one");
    const CheckReport all = need(handle->check({}, Repair::no));
    expect(all.findings.empty(), "the check finds something after an erasure");
    expect(!need(handle->check({run_id("r"), {}}, Repair::no)).damaged(), "the check of an erased run finds damage");
  }
}

void s40_by_the_store_that_wrote_it(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_erase(*writer(*store, "r"), 12);
  const auto run = writer(*store, "other");
  fill_to_erase(*run, 3);
  expect(need(store->erase(run_id("r"), because("enough"))).outcome == Erasure::Outcome::done,
         "the erasure is not done");
  expect_erased(*store, "r", "enough");
  expect(need(run->save(state("\"goes on\""))).sequence == Sequence{4}, "saving to another run does not go on");
  expect_erased(*subject.open(), "r", "enough");
}

void s40_again_is_answered(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_erase(*writer(*store, "r"), 4);
  const Erasure first = need(store->erase(run_id("r"), because("the first")));
  subject.clock().advance(5'000'000);
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    const Erasure again = need(handle->erase(run_id("r"), because("the second")));
    expect(again.outcome == Erasure::Outcome::already, "a run was erased twice");
    expect(again.at == first.at && again.reason == "the first" && again.checkpoints == 4, "another erasure is told");
  }
  expect_erased(*store, "r", "the first");
}

void s40_never_comes_back(StoreUnderTest& subject) {
  {
    const auto store = subject.open();
    fill_to_erase(*writer(*store, "r"), 15);
  }
  need(subject.open()->erase(run_id("r"), because("gone")));
  for (int turn = 0; turn < 3; ++turn) {
    const auto store = subject.open();
    fill_to_erase(*writer(*store, fmt::format("other-{}", turn)), 30);
    expect_erased(*store, "r", "gone");
    expect(!need(store->check({}, Repair::yes)).damaged(), "the check finds damage");
    expect_erased(*store, "r", "gone");
  }
}

// --- S41

void s41_a_held_run_is_refused(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  fill_to_erase(*run, 6);
  const std::string before = picture(*store, "r");
  const std::string said = need_error(subject.open()->erase(run_id("r"), because("too early")), Code::run_busy);
  expect(said.find(std::to_string(subject.writer_pid())) != std::string::npos, "the run's holder is not named");
  need_error(store->erase(run_id("r"), because("too early")), Code::run_busy);
  expect(picture(*store, "r") == before, "a refused erasure changed something");
  expect(need(run->save(state("\"goes on\""))).sequence == Sequence{7}, "a refused erasure stops the writer");
}

void s41_a_missing_run_is_not_found(StoreUnderTest& subject) {
  const auto store = subject.open();
  need_error(store->erase(run_id("missing"), because("nothing")), Code::run_not_found);
  fill_to_erase(*writer(*store, "r"), 1);
  need_error(store->erase(run_id("missing"), because("nothing")), Code::run_not_found);
  need(writer(*store, "missing")->save(state("{}")));
}

// --- S42

void s42_others_stay(StoreUnderTest& subject) {
  std::string settled;
  std::string beside;
  {
    const auto store = subject.open();
    const auto first = writer(*store, "r");
    const auto second = writer(*store, "r2");
    const auto third = writer(*store, "settled");
    fill_to_erase(*third, 40);
    for (int turn = 0; turn < 4; ++turn) {
      need(first->save(state(fmt::format("{{\"first\":{}}}", turn))));
      need(second->save(state(fmt::format("{{\"second\":{}}}", turn))));
    }
    need(store->post(run_id("r2"), "{\"kept\":true}"));
    settled = picture(*store, "settled");
    beside = picture(*store, "r2");
  }
  const auto store = subject.open();
  need(store->erase(run_id("r"), because("only this one")));
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    expect(picture(*handle, "settled") == settled && picture(*handle, "r2") == beside, "another run was touched");
    expect(need(handle->inbox(run_id("r2"))).size() == 1, "another run's message is gone");
    expect(!need(handle->check({}, Repair::no)).damaged(), "the check finds damage");
  }
  const auto run = writer(*store, "settled");
  SaveRequest again = state("{\"run\":\"settled\",\"n\":3}");
  again.name = "name-3";
  again.stage = "stage";
  again.step = "step";
  again.caller_id = "call-3";
  expect(need(run->save(again)).outcome == Saved::Outcome::repeated, "another run's callers' ids are forgotten");
}

// --- S43

void expect_removed(Store& store, std::string_view run, std::string_view reason) {
  const RunId id = run_id(run);
  const std::string said = need_error(store.restore(id, {}), Code::run_removed);
  expect(said.find("removed on 20") != std::string::npos && said.find("by someone@somewhere") != std::string::npos &&
             said.find(reason) != std::string::npos,
         "the error does not say when, by whom and why the run was removed");
  need_error(store.run(id), Code::run_removed);
  need_error(store.checkpoints(id, {}, kAllOfErased), Code::run_removed);
  need_error(store.events(id, 0, kAllOfErased), Code::run_removed);
  need_error(store.audit(id, 0, kAllOfErased), Code::run_removed);
  need_error(store.post(id, "{}"), Code::run_removed);
  need_error(store.footprint(id), Code::run_removed);
  need_error(store.local_folder(id), Code::run_removed);
  need_error(store.recover(id, {}), Code::run_removed);
  need_error(store.prune(id, {.keep = 1, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove), Code::run_removed);
  need_error(store.open_run(id, {}), Code::run_removed);
  expect(!listed_erased(store, run), "a removed run is listed");
  expect(need(store.check({}, Repair::no)).findings.empty(), "the check finds something after a removal");
  expect(!need(store.check({id, {}}, Repair::no)).damaged(), "the check of a removed run finds damage");
}

void s43_a_tombstone_stays(StoreUnderTest& subject) {
  {
    const auto store = subject.open();
    const auto run = writer(*store, "r");
    fill_to_erase(*run, 23);
    need(store->post(run_id("r"), "{\"signal\":\"go\"}"));
    fill_to_erase(*writer(*store, "other"), 2);
  }
  const auto store = subject.open();
  const Uuid uuid = need(store->run(run_id("r"))).uuid;
  const auto trail = need(store->audit(run_id("r"), 0, kAllOfErased));
  expect(need(store->removed(kAllOfErased)).empty(), "a run that is there is listed as removed");
  const Erasure done = need(store->erase(run_id("r"), removal("old")));
  expect(done.outcome == Erasure::Outcome::done && done.remains == Remains::tombstone && done.checkpoints == 23,
         "the report says something else");
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    expect_removed(*handle, "r", "old");
    const auto removed = need(handle->removed(kAllOfErased));
    expect(removed.size() == 1, "the removed run is not listed among the removed ones");
    const Erasure& stone = removed.front();
    expect(stone.run.text() == "r" && stone.uuid == uuid && stone.latest == Sequence{23} && stone.reason == "old" &&
               stone.by == "someone@somewhere" && stone.at == done.at && stone.outcome == Erasure::Outcome::already,
           "the tombstone is of another run");
    expect(stone.entries == trail.size() && stone.head == trail.back().hash,
           "the tombstone does not say where the audit trail ended");
    expect(listed_erased(*handle, "other").has_value(), "another run is not listed");
    expect(need(handle->runs(1)).size() == 1, "a removed run takes a place in the list");
  }
}

void s43_ids_are_not_reused(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_erase(*writer(*store, "r"), 3);
  fill_to_erase(*writer(*store, "other"), 3);
  need(store->erase(run_id("r"), removal("old")));
  for (int turn = 0; turn < 3; ++turn) {
    const auto again = subject.open();
    need_error(again->fork(run_id("other"), Sequence{2}, run_id("r"), {}), Code::run_removed);
    need_error(again->fork(run_id("r"), Sequence{2}, run_id("new"), {}), Code::run_removed);
    fill_to_erase(*writer(*again, fmt::format("later-{}", turn)), 30);
    expect(!need(again->check({}, Repair::yes)).damaged(), "the check finds damage");
    expect_removed(*again, "r", "old");
  }
}

void s43_again_is_answered(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_erase(*writer(*store, "r"), 4);
  fill_to_erase(*writer(*store, "s"), 4);
  const Erasure first = need(store->erase(run_id("r"), removal("the first")));
  subject.clock().advance(5'000'000);
  for (const EraseRequest& request : {removal("the second"), because("the third")}) {
    const Erasure again = need(subject.open()->erase(run_id("r"), request));
    expect(again.outcome == Erasure::Outcome::already && again.at == first.at && again.reason == "the first",
           "a run was removed twice");
  }
  need(store->erase(run_id("s"), removal("later")));
  const auto removed = need(subject.open()->removed(kAllOfErased));
  expect(removed.size() == 2 && removed.front().run.text() == "s", "the removed runs are not listed newest first");
  expect(need(store->removed(1)).size() == 1, "the limit of removed runs is ignored");
}

void s43_an_erased_run_can_be_removed(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_erase(*writer(*store, "r"), 4);
  need(store->erase(run_id("r"), because("request 17")));
  const auto trail = need(store->audit(run_id("r"), 0, kAllOfErased));
  const Erasure done = need(subject.open()->erase(run_id("r"), removal("old")));
  expect(done.outcome == Erasure::Outcome::done && done.checkpoints == 4, "an erased run is not removed");
  expect_removed(*store, "r", "old");
  const auto removed = need(subject.open()->removed(kAllOfErased));
  expect(removed.size() == 1 && removed.front().entries == trail.size() && removed.front().head == trail.back().hash &&
             removed.front().latest == Sequence{4},
         "the tombstone of an erased run says something else");
  expect(removed.front().erased_at && removed.front().erased_reason == "request 17" && removed.front().reason == "old",
         "the tombstone of an erased run does not say that it was erased");
}

// --- S44

void s44_what_is_in_use_is_refused(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  fill_to_erase(*run, 6);
  fill_to_erase(*writer(*store, "parent"), 6);
  {
    const auto fork = need(store->fork(run_id("parent"), Sequence{3}, run_id("fork"), {}));
    need(fork->save(state("{\"fork\":true}")));
  }
  const std::string before = picture(*store, "r") + picture(*store, "parent") + picture(*store, "fork");
  need_error(subject.open()->erase(run_id("r"), removal("too early")), Code::run_busy);
  const std::string said = need_error(store->erase(run_id("parent"), removal("too early")), Code::run_has_forks);
  expect(said.find("fork") != std::string::npos, "the fork is not named");
  need_error(store->erase(run_id("missing"), removal("nothing")), Code::run_not_found);
  expect(picture(*store, "r") + picture(*store, "parent") + picture(*store, "fork") == before,
         "a refused removal changed something");
  need(store->erase(run_id("fork"), removal("first")));
  need(store->erase(run_id("parent"), removal("then")));
  expect_removed(*subject.open(), "parent", "then");
  expect(need(run->save(state("\"goes on\""))).sequence == Sequence{7}, "another run can't be saved to");
}

}  // namespace

std::vector<ContractTest> erasing_tests() {
  return {
      {"S40_NothingOfAnErasedRunCanBeReadOrUsed", s40_nothing_is_left},
      {"S40_TheStoreThatWroteARunCanEraseIt", s40_by_the_store_that_wrote_it},
      {"S40_ErasingAgainIsAnsweredWithTheFirstErasure", s40_again_is_answered},
      {"S40_WhatIsErasedNeverComesBack", s40_never_comes_back},
      {"S41_AHeldRunIsRefusedAndStaysAsItIs", s41_a_held_run_is_refused},
      {"S41_AMissingRunIsNotFound", s41_a_missing_run_is_not_found},
      {"S42_OtherRunsStayAsTheyAre", s42_others_stay},
      {"S43_OnlyATombstoneOfARemovedRunStays", s43_a_tombstone_stays},
      {"S43_TheIdOfARemovedRunIsNotReused", s43_ids_are_not_reused},
      {"S43_RemovingAgainIsAnsweredWithTheFirstRemoval", s43_again_is_answered},
      {"S43_AnErasedRunCanBeRemoved", s43_an_erased_run_can_be_removed},
      {"S44_RunsInUseAreRefusedAndOthersStay", s44_what_is_in_use_is_refused},
  };
}

}  // namespace pawl::testing::contract
