// S26: saving changes of the last state.
#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

SaveRequest change_of(std::uint64_t parent) {
  SaveRequest request;
  request.expected_parent = Sequence{parent};
  return request;
}

/// States that grow, shrink and change in the middle, with line breaks and characters of several bytes.
std::vector<std::string> changing_states() {
  std::vector<std::string> states = {R"({"n":0,"list":[],"end":"ä"})"};
  std::string list;
  for (int i = 1; i <= 30; ++i) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ",\n", std::string(static_cast<std::size_t>(i * 11), 'x'));
    states.push_back(fmt::format(R"({{"n":{},"list":[{}],"end":"ä{}"}})", i, list, i % 3 == 0 ? "€" : ""));
  }
  states.push_back(R"({"n":31})");
  states.push_back("[]");
  states.push_back(fmt::format("[{}]", std::string(3000, '1')));
  return states;
}

void s26_same_as_save(StoreUnderTest& subject) {
  auto store = subject.open();
  auto plain = writer(*store, "plain");
  auto changed = writer(*store, "changed");
  const std::vector<std::string> states = changing_states();
  need(plain->save(state(states[0])));
  need(changed->save(state(states[0])));
  for (std::size_t i = 1; i < states.size(); ++i) {
    if (i == 15) {
      plain.reset();
      changed.reset();
      store = subject.open();
      plain = writer(*store, "plain");
      changed = writer(*store, "changed");
    }
    expect(changed->last_state() == states[i - 1], "the last state is another one");
    SaveRequest labels = state(states[i]);
    labels.step = fmt::format("s{}", i);
    labels.events.push_back({.type = "e", .data = fmt::format("{{\"i\":{}}}", i)});
    need(plain->save(labels));
    labels.body = "ignored";
    labels.expected_parent = Sequence{i};
    const Saved saved = need(changed->save_change(labels, diff_text(states[i - 1], states[i])));
    expect(saved.sequence == Sequence{i + 1} && saved.outcome == Saved::Outcome::written, "the change was not written");
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Restored one = need(store->restore(run_id("plain"), at_sequence(i + 1)));
    const Restored other = need(store->restore(run_id("changed"), at_sequence(i + 1)));
    expect(other.state == states[i], "a change was saved as another state");
    expect(one.info.whole == other.info.whole && one.info.stored_bytes == other.info.stored_bytes &&
               one.info.state_bytes == other.info.state_bytes && one.info.step == other.info.step,
           "a change is stored in another way than the state");
  }
  expect(need(store->events(run_id("changed"), 0, 100)).size() == states.size() - 1, "events of changes are missing");
  expect(changed->last_state() == states.back(), "the last state is not the one that was saved");
}

void s26_wrong_parent(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  const std::vector<Splice> append = {{1, 0, "1"}};
  expect(run->last_state().empty(), "a new run has a state");
  need_error(run->save_change(change_of(0), append), Code::parent_conflict);
  need_error(subject.open()->run(run_id("r")), Code::run_not_found);
  need(run->save(state("[]")));
  need(run->save(state("[ ]")));
  const std::string before = picture(*store, "r");
  need_error(run->save_change(change_of(1), append), Code::parent_conflict);
  need_error(run->save_change(change_of(3), append), Code::parent_conflict);
  need_error(run->save_change({}, append), Code::parent_conflict);
  expect(picture(*store, "r") == before, "a conflicting change wrote something");
  expect(need(run->save_change(change_of(2), append)).sequence == Sequence{3}, "the right parent failed");
  expect(need(store->restore(run_id("r"), {})).state == "[1 ]", "the change led to another state");
}

void s26_unfit(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  need(run->save(state("[1,2]")));
  const std::string before = picture(*store, "r");
  const std::vector<std::vector<Splice>> unfit = {
      {{6, 0, "x"}}, {{4, 2, ""}}, {{1, UINT64_MAX, ""}}, {{3, 1, "3"}, {1, 1, "4"}}, {{1, 2, "3,"}, {2, 1, ","}}};
  for (const std::vector<Splice>& change : unfit)
    need_error(run->save_change(change_of(1), change), Code::invalid_patch);
  expect(picture(*store, "r") == before && run->last_state() == "[1,2]",
         "a change that does not fit changed something");
}

void s26_answers(StoreUnderTest& subject) {
  auto store = subject.open();
  auto run = writer(*store, "r");
  need(run->save(state("[1,2]")));
  const std::vector<Splice> nothing = {{1, 1, "1"}};
  expect(need(run->save_change(change_of(1), nothing)).outcome == Saved::Outcome::unchanged,
         "a change that changes nothing was written");
  SaveRequest forced = change_of(1);
  forced.duplicates = Duplicates::write;
  expect(need(run->save_change(forced, {})).sequence == Sequence{2}, "an empty change was not written when asked to");
  SaveRequest labelled = change_of(2);
  labelled.also.push_back({.kind = Kind::step_complete, .step = "b"});
  expect(need(run->save_change(labelled, nothing)).sequence == Sequence{3}, "another label was not written");

  const std::vector<Splice> append = {{4, 0, ",3"}};
  SaveRequest request = change_of(3);
  request.caller_id = "a";
  const Saved first = need(run->save_change(request, append));
  run.reset();
  store = subject.open();
  run = writer(*store, "r");
  const std::string before = picture(*store, "r");
  const Saved again = need(run->save_change(request, append));
  expect(again.outcome == Saved::Outcome::repeated && again.sequence == first.sequence,
         "a repeated change was not recognised");
  need_error(run->save_change(request, nothing), Code::caller_id_reused);
  SaveRequest whole = state("[1,2,3]");
  whole.caller_id = "a";
  need_error(run->save(whole), Code::caller_id_reused);
  expect(picture(*store, "r") == before, "an answered change wrote something");
  expect(run->last_state() == "[1,2,3]", "the last state is another one");
}

// --- S25

void s25_claims(StoreUnderTest& subject) {
  const auto store = subject.open();
  auto run = writer(*store, "r");
  const auto other_run = writer(*store, "other");
  expect(!run->is_wanted(), "a run is wanted without a claim");
  const auto other = subject.open();
  {
    const auto claim = need(other->claim(run_id("r")));
    expect(run->is_wanted() && !other_run->is_wanted(), "a claim is not seen by the run's writer, and only by it");
    expect(!claim->has_rivals(), "a claim is its own rival");
    need(run->seal_inbox());
    expect(need(store->inbox_sealed(run_id("r"))), "a claim keeps the writer from sealing the inbox");
    need(run->unseal_inbox());
    expect(!need(store->inbox_sealed(run_id("r"))), "a claim is seen as a seal");
    const auto second = need(subject.open()->claim(run_id("r")));
    expect(claim->has_rivals() && second->has_rivals(), "another claim is not seen");
    need(run->save(state("1")));
    need_error(other->open_run(run_id("r"), {}), Code::run_busy);
    run.reset();
    run = writer(*other, "r");
    expect(run->is_wanted(), "a later writer does not see the claim");
  }
  expect(!run->is_wanted(), "a claim outlives its end");
  run.reset();  // before its store
}

}  // namespace

std::vector<ContractTest> change_tests() {
  return {
      {"S26_AChangeIsSavedAsTheStateThatItLeadsTo", s26_same_as_save},
      {"S26_AChangeOfAnotherCheckpointFails", s26_wrong_parent},
      {"S26_AChangeThatDoesNotFitFails", s26_unfit},
      {"S26_ChangesAreAnsweredLikeStates", s26_answers},
      {"S25_TheWriterSeesClaimsOfOthers", s25_claims},
  };
}

}  // namespace pawl::testing::contract
