// S50, S51: recovery.
#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

std::string recovery_body(std::uint64_t number) {
  return fmt::format("{{\"n\":{},\"text\":\"{}\"}}", number, std::string(number * 37 % 400, 'x'));
}

void fill_to_recover(StoreUnderTest& subject, Store& store, std::uint64_t count) {
  const auto run = writer(store, "r");
  for (std::uint64_t number = 1; number <= count; ++number) {
    subject.clock().advance(1'000'000);
    const std::string body = recovery_body(number);
    need(run->save(state(body)));
  }
}

void s50_newest(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_recover(subject, *store, 40);
  for (const RecoverExtent extent : {RecoverExtent::newest, RecoverExtent::all}) {
    const Recovered found = need(subject.open()->recover(run_id("r"), {.extent = extent}));
    expect(found.checkpoint.state == recovery_body(40), "it is not the newest state");
    expect(found.checkpoint.info == need(store->checkpoint(run_id("r"), {})),
           "it is described otherwise than by `checkpoint`");
    expect(found.damage.empty() && found.highest.value == 40, "something is said to be damaged");
  }
  expect(need(store->recover(run_id("r"), {.extent = RecoverExtent::all})).rebuilt == 40, "not everything was rebuilt");
}

void s50_bounds(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_recover(subject, *store, 30);
  for (std::uint64_t number = 1; number <= 30; ++number) {
    const CheckpointInfo info = need(store->checkpoint(run_id("r"), at_sequence(number)));
    expect(need(store->recover(run_id("r"), {.up_to = {number}})).checkpoint.state == recovery_body(number),
           "a bound by number is not kept");
    expect(need(store->recover(run_id("r"), {.not_after = info.created})).checkpoint.info == info,
           "a bound by time is not kept");
    const Timestamp later{info.created.us + 1};
    expect(
        need(store->recover(run_id("r"), {.extent = RecoverExtent::all, .not_after = later})).checkpoint.info == info,
        "a time between two is not the earlier one's");
  }
  const CheckpointInfo first = need(store->checkpoint(run_id("r"), at_sequence(1)));
  need_error(store->recover(run_id("r"), {.not_after = Timestamp{first.created.us - 1}}), Code::checkpoint_not_found);
  need_error(store->recover(run_id("none"), {}), Code::run_not_found);
}

/// A clock that was far ahead for one save: a bound by time finds the newest checkpoint that is not after it.
void s50_wrong_clock(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_recover(subject, *store, 3);
  const Timestamp right = subject.clock().now();
  constexpr std::int64_t kYearUs = 365LL * 86'400 * 1'000'000;
  {
    const auto run = writer(*store, "r");
    subject.clock().set(Timestamp{right.us + kYearUs});
    need(run->save(state("[4]")));
    subject.clock().set(Timestamp{right.us + 1'000'000});
    need(run->save(state("[5]")));
  }
  for (const RecoverExtent extent : {RecoverExtent::newest, RecoverExtent::all}) {
    const Timestamp now{right.us + 2'000'000};
    const Recovered found = need(store->recover(run_id("r"), {.extent = extent, .not_after = now}));
    expect(found.checkpoint.info.sequence.value == 5 && found.checkpoint.state == "[5]",
           "a checkpoint with a wrong time hides those after it");
  }
}

void s50_pruned(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_recover(subject, *store, 40);
  need(store->prune(run_id("r"), {.keep = 5, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove));
  const Recovered found = need(store->recover(run_id("r"), {.extent = RecoverExtent::all}));
  expect(found.damage.empty(), "what was pruned is said to be damaged");
  expect(found.checkpoint.state == recovery_body(40), "it is not the newest state");
  need_error(store->recover(run_id("r"), {.up_to = {3}}), Code::checkpoint_not_found);
}

void s51_needs_damage(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_recover(subject, *store, 3);
  for (std::uint64_t number = 1; number <= 3; ++number) {
    RunOptions options;
    options.fall_back_to = {number};
    need_error(store->open_run(run_id("r"), options), Code::parent_conflict);
  }
  expect(need(writer(*store, "r")->save(state("{}"))).sequence.value == 4, "a refused fallback changes the numbers");
}

}  // namespace

std::vector<ContractTest> recovery_tests() {
  return {
      {"S50_TheNewestIsRecoveredAsItWouldBeRestored", s50_newest},
      {"S50_BoundsByNumberAndTimeAreKept", s50_bounds},
      {"S50_AWrongTimeHidesNoLaterCheckpoint", s50_wrong_clock},
      {"S50_WhatWasPrunedIsNotDamaged", s50_pruned},
      {"S51_AFallbackNeedsDamage", s51_needs_damage},
  };
}

}  // namespace pawl::testing::contract
