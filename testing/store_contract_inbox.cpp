// S17, S18, S21, S24: messages to a run, its owner, its size and the seal of its inbox.
#include <algorithm>
#include <set>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

using Texts = std::vector<std::string>;

Texts bodies(Store& store, std::string_view run) {
  Texts texts;
  for (const Message& message : need(store.inbox(run_id(run)))) texts.push_back(message.body);
  return texts;
}

// --- S17

void s17_listed_until_taken(StoreUnderTest& subject) {
  const auto store = subject.open();
  need(writer(*store, "r")->save(state("1")));
  need(writer(*store, "other")->save(state("1")));
  expect(bodies(*store, "r").empty(), "a new run has messages");
  const Texts posted = {R"({"approve": "deploy", "by": "ä\n"})", "[1,2]", "\"x\""};
  Texts ids;
  for (const std::string& body : posted) ids.push_back(need(store->post(run_id("r"), body)));
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    expect(bodies(*handle, "r") == posted, "a posted message is not listed as it was posted");
    expect(bodies(*handle, "r") == posted, "listing takes messages away");
    expect(bodies(*handle, "other").empty(), "another run has the message");
  }
  const std::vector<Message> listed = need(other->inbox(run_id("r")));
  for (std::size_t i = 0; i < ids.size(); ++i)
    expect(listed[i].id == ids[i], "a message has another id than post said");
  need(other->take(run_id("r"), ids[1]));
  expect(bodies(*store, "r") == Texts({posted[0], posted[2]}), "not the message that was taken is gone");
  need(store->take(run_id("r"), ids[0]));
  need(store->take(run_id("r"), ids[2]));
  expect(bodies(*other, "r").empty(), "a message that was taken is listed");
}

void s17_oldest_first(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto other = subject.open();
  need(writer(*store, "r")->save(state("1")));
  Texts posted;
  std::set<std::string> ids;
  Timestamp last;
  for (int i = 0; i < 12; ++i) {
    // The clock stands still, advances, or is set back.
    if (i % 3 == 1) subject.clock().advance(1'000'000);
    if (i == 6) subject.clock().jump(-60'000'000);
    posted.push_back(std::to_string(i));
    ids.insert(need((i % 2 == 0 ? store : other)->post(run_id("r"), posted.back())));
  }
  expect(ids.size() == posted.size(), "two messages have one id");
  expect(bodies(*store, "r") == posted, "messages are not listed oldest first");
  const std::vector<Message> listed = need(store->inbox(run_id("r")));
  expect(std::ranges::is_sorted(listed, {}, &Message::id), "ids do not sort as their messages do");
  for (const Message& message : listed) {
    expect(message.at >= last, "a message is older than the one before");
    last = message.at;
  }
}

void s17_whoever_holds_the_run(StoreUnderTest& subject) {
  {
    const auto store = subject.open();
    const auto run = writer(*store, "r");
    need(run->save(state("1")));
    need(subject.open()->post(run_id("r"), "1"));
    need(store->post(run_id("r"), "2"));
    need(run->save(state("2")));
    expect(bodies(*store, "r") == Texts({"1", "2"}), "the owner does not see what others post");
    const std::string before = picture(*store, "r");
    need(subject.open()->post(run_id("r"), "3"));
    expect(picture(*store, "r") == before, "a message changes the run");
  }
  expect(bodies(*subject.open(), "r") == Texts({"1", "2", "3"}), "a message is gone with its poster");
}

void s17_missing_is_fine_or_refused(StoreUnderTest& subject) {
  const auto store = subject.open();
  need_error(store->post(run_id("missing"), "{}"), Code::run_not_found);
  need_error(store->inbox(run_id("missing")), Code::run_not_found);
  {
    const auto unsaved = writer(*store, "unsaved");
    need_error(store->post(run_id("unsaved"), "{}"), Code::run_not_found);
  }
  need(writer(*store, "r")->save(state("1")));
  const std::string id = need(store->post(run_id("r"), "{}"));
  need(store->take(run_id("missing"), id));
  need(store->take(run_id("r"), "00000000000000000000-0000000000000000"));
  need(store->take(run_id("r"), "../run"));
  need(store->take(run_id("r"), ""));
  expect(bodies(*store, "r").size() == 1, "taking what is not there takes something");
  need(store->take(run_id("r"), id));
  need(store->take(run_id("r"), id));
  expect(need(subject.open()->run(run_id("r"))).latest == Sequence{1}, "taking a message harms the run");
}

// --- S18

void s18_owner(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto other = subject.open();
  const auto named = [&subject](Store& handle) {
    const std::optional<std::string> owner = need(handle.owner(run_id("r")));
    return owner && owner->find(std::to_string(subject.writer_pid())) != std::string::npos;
  };
  expect(!need(store->owner(run_id("r"))), "a run that was never opened has an owner");
  for (int turn = 0; turn < 2; ++turn) {
    auto run = writer(*store, "r");
    expect(named(*store) && named(*other), "the owner of a run that is held is not named");
    need(run->save(state(std::to_string(turn))));
    expect(named(*store) && named(*other), "the owner of a run that is held is not named after a save");
    expect(!need(other->owner(run_id("elsewhere"))), "another run has this one's owner");
    need_error(other->open_run(run_id("r"), {}), Code::run_busy);
    run.reset();
    expect(!need(store->owner(run_id("r"))) && !need(other->owner(run_id("r"))),
           "a run that nobody holds has an owner");
  }
}

void s18_asking_takes_nothing(StoreUnderTest& subject) {
  const auto store = subject.open();
  need(writer(*store, "r")->save(state("1")));
  for (int i = 0; i < 3; ++i) expect(!need(store->owner(run_id("r"))), "who asks becomes the owner");
  need(writer(*subject.open(), "r")->save(state("2")));
}

// --- S21

void s21_footprint(StoreUnderTest& subject) {
  std::string large = "\"";  // can't be compressed to half its size
  for (std::uint64_t i = 1; large.size() < 3000; ++i) large += fmt::format("{:x}", i * 0x9E3779B97F4A7C15ULL);
  large += '"';
  {
    const auto store = subject.open();
    need(writer(*store, "r")->save(state(large)));
    need(writer(*store, "other")->save(state("1")));
  }
  const auto store = subject.open();
  const auto all = [&] { return need(store->footprint(run_id("r"))).total() + need(store->shared_bytes()); };
  expect(all() >= large.size() / 2, "a saved state takes up no bytes");
  const std::uint64_t before = need(store->footprint(run_id("r"))).inbox;
  const std::string id = need(store->post(run_id("r"), large));
  expect(need(store->footprint(run_id("r"))).inbox >= before + large.size() / 2, "a message takes up no bytes");
  expect(need(store->footprint(run_id("other"))).inbox == 0, "another run's message is counted");
  need(store->take(run_id("r"), id));
  expect(need(store->footprint(run_id("r"))).inbox == before, "a message that was taken away is counted");
  need_error(store->footprint(run_id("missing")), Code::run_not_found);
}

// --- S24

void s24_seal(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto other = subject.open();
  const auto sealed = [&](std::string_view run) {
    const bool here = need(store->inbox_sealed(run_id(run)));
    expect(need(other->inbox_sealed(run_id(run))) == here, "handles disagree about a seal");
    return here;
  };
  expect(!sealed("missing"), "the inbox of a missing run is sealed");
  auto run = writer(*store, "r");
  need(run->save(state("1")));
  need(writer(*store, "elsewhere")->save(state("1")));
  need(run->unseal_inbox());
  expect(!sealed("r"), "an inbox is sealed before anybody does so");
  need(run->seal_inbox());
  need(run->seal_inbox());
  expect(sealed("r"), "a sealed inbox is not");
  expect(!sealed("elsewhere"), "the inbox of another run is sealed");
  need(run->save(state("2")));
  expect(sealed("r"), "a save breaks the seal");
  need(run->unseal_inbox());
  expect(!sealed("r"), "an inbox is sealed after it was unsealed");
  need(run->seal_inbox());
  run.reset();
  expect(!sealed("r"), "the seal outlives its writer");
  run = writer(*other, "r");
  expect(!sealed("r"), "a new writer begins with a sealed inbox");
}

void s24_messages(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto other = subject.open();
  const auto run = writer(*store, "r");
  need(run->save(state("1")));
  need(other->post(run_id("r"), "1"));
  need(run->seal_inbox());
  expect(bodies(*store, "r") == Texts({"1"}), "a message that was posted before the seal is not listed");
  const std::string late = need(other->post(run_id("r"), "2"));
  expect(bodies(*store, "r") == Texts({"1", "2"}), "a message that was posted after the seal is not listed");
  need(other->take(run_id("r"), late));
  expect(bodies(*store, "r") == Texts({"1"}), "a message can't be taken back from a sealed inbox");
}

}  // namespace

std::vector<ContractTest> inbox_tests() {
  return {
      {"S17_MessagesAreListedByEveryoneUntilTheyAreTaken", s17_listed_until_taken},
      {"S17_MessagesAreListedOldestFirstWhateverTheClockDoes", s17_oldest_first},
      {"S17_MessagesArePostedWhoeverHoldsTheRun", s17_whoever_holds_the_run},
      {"S17_AMissingRunIsRefusedAndAMissingMessageIsFine", s17_missing_is_fine_or_refused},
      {"S18_TheOwnerIsNamedWhileTheRunIsHeld", s18_owner},
      {"S18_AskingForTheOwnerTakesNothing", s18_asking_takes_nothing},
      {"S24_TheInboxIsSealedUntilItsWriterUnsealsItOrEnds", s24_seal},
      {"S24_ASealedInboxStillTakesAndListsMessages", s24_messages},
      {"S21_TheBytesOfARunAreCountedByWhatTheyAre", s21_footprint},
  };
}

}  // namespace pawl::testing::contract
