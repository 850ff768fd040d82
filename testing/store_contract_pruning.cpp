// S19, S20: pruning.
#include <algorithm>
#include <map>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

constexpr std::size_t kAllOfPruned = 1000;

RetentionSettings keep(std::uint64_t newest) { return {.keep = newest, .keep_days = {}, .keep_per_stage = {}}; }

std::string pruned_body(std::uint64_t number) {
  // Some states grow, some are new, and some are large and repeat.
  if (number % 7 == 0)
    return fmt::format("{{\"large\":\"{}\"}}", std::string(5000, static_cast<char>('a' + number % 14 / 7)));
  if (number % 5 == 0) return fmt::format("{{\n \"n\": {}\n}}\n", number);
  std::string body = "[0";
  for (std::uint64_t i = 1; i <= number; ++i) body += fmt::format(",\"item {}\"", i);
  return body + "]";
}

/// Saves `count` checkpoints, each with an event and a caller's id, in the stages a and b. Every tenth has a name.
void fill_to_prune(RunWriter& run, std::uint64_t count) {
  const std::uint64_t first = run.info().latest.value + 1;
  for (std::uint64_t number = first; number < first + count; ++number) {
    SaveRequest request = state("");
    const std::string body = pruned_body(number);
    request.body = body;
    request.duplicates = Duplicates::write;
    request.stage = std::string(1, number % 2 == 0 ? 'a' : 'b');
    request.step = fmt::format("step-{}", number);
    request.caller_id = fmt::format("call-{}", number);
    if (number % 10 == 0) request.name = fmt::format("name-{}", number);
    request.events = {{"noted", std::to_string(number)}};
    expect(need(run.save(request)).sequence.value == number, "a save got another number");
  }
}

std::vector<std::uint64_t> numbers(const std::vector<Sequence>& sequences) {
  std::vector<std::uint64_t> all;
  for (const Sequence sequence : sequences) all.push_back(sequence.value);
  return all;
}

std::vector<std::uint64_t> listed_pruned(Store& store, std::string_view run) {
  std::vector<std::uint64_t> all;
  for (const CheckpointInfo& info : need(store.checkpoints(run_id(run), {}, kAllOfPruned)))
    all.push_back(info.sequence.value);
  return all;
}

std::string pruned_events(Store& store, std::string_view run) {
  std::string text;
  for (const Event& event : need(store.events(run_id(run), 0, kAllOfPruned)))
    text += fmt::format("{} {} {}\n", event.number, event.sequence.value, event.data);
  return text;
}

// --- S19

void s19_pruned_is_gone(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  fill_to_prune(*run, 45);
  const Uuid id_of_40 = need(store->checkpoint(run_id("r"), at_sequence(40))).id;
  const Uuid id_of_41 = need(store->checkpoint(run_id("r"), at_sequence(41))).id;
  const PruneReport report = need(store->prune(run_id("r"), keep(3), PruneMode::remove));
  const std::vector<std::uint64_t> left = {10, 20, 30, 40, 43, 44, 45};
  expect(report.kept == left.size() && report.dropped.size() == 45 - left.size(), "the report does not say what went");
  const auto other = subject.open();
  for (Store* handle : {store.get(), other.get()}) {
    expect(listed_pruned(*handle, "r") == left, "not what is kept is listed");
    for (std::uint64_t number = 1; number <= 45; ++number) {
      if (std::ranges::find(left, number) != left.end()) continue;
      need_error(handle->restore(run_id("r"), at_sequence(number)), Code::checkpoint_pruned);
      need_error(handle->checkpoint(run_id("r"), at_sequence(number)), Code::checkpoint_pruned);
    }
    need_error(handle->restore(run_id("r"), at_sequence(46)), Code::checkpoint_not_found);
    need_error(handle->checkpoint(run_id("r"), at_label(Which::By::step, "step-41")), Code::checkpoint_not_found);
    need_error(handle->checkpoint(run_id("r"), at_uuid(id_of_41)), Code::checkpoint_not_found);
    expect(need(handle->checkpoint(run_id("r"), at_uuid(id_of_40))).sequence == Sequence{40},
           "a kept one is not found by its UUID");
    expect(need(handle->checkpoint(run_id("r"), at_label(Which::By::stage, "a"))).sequence == Sequence{44},
           "the newest of a stage is not found");
    expect(need(handle->checkpoint(run_id("r"), at_label(Which::By::name, "name-10"))).sequence == Sequence{10},
           "a named one is not found");
    const auto page = need(handle->checkpoints(run_id("r"), Sequence{11}, 2));
    expect(page.size() == 2 && page[0].sequence == Sequence{20} && page[1].sequence == Sequence{30},
           "a page counts what is gone");
    expect(need(handle->run(run_id("r"))).latest == Sequence{45}, "the last one is another");
  }
}

void s19_callers_ids_are_answered(StoreUnderTest& subject) {
  std::string checksum;
  {
    const auto store = subject.open();
    fill_to_prune(*writer(*store, "r"), 30);
    checksum = need(store->checkpoint(run_id("r"), at_sequence(12))).checksum;
    need(store->prune(run_id("r"), keep(1), PruneMode::remove));
  }
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  for (const std::uint64_t number : {12ULL, 20ULL, 29ULL}) {
    SaveRequest request = state("");
    const std::string body = pruned_body(number);
    request.body = body;
    request.caller_id = fmt::format("call-{}", number);
    const Saved again = need(run->save(request));
    expect(again.outcome == Saved::Outcome::repeated && again.sequence == Sequence{number},
           "a pruned save was made again");
    if (number == 12) expect(again.checksum == checksum, "a pruned save is answered with another checksum");
    request.body = "\"other\"";
    need_error(run->save(request), Code::caller_id_reused);
  }
}

void s19_dry_run_changes_nothing(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  fill_to_prune(*run, 30);
  const std::string before = picture(*store, "r");
  const PruneReport planned = need(store->prune(run_id("r"), keep(2), PruneMode::dry_run));
  expect(picture(*store, "r") == before && picture(*subject.open(), "r") == before, "a dry run changed something");
  const PruneReport done = need(store->prune(run_id("r"), keep(2), PruneMode::remove));
  expect(numbers(planned.dropped) == numbers(done.dropped) && planned.kept == done.kept,
         "a dry run says something else");
  need_error(store->prune(run_id("missing"), keep(1), PruneMode::remove), Code::run_not_found);
  need_error(store->prune(run_id("missing"), keep(1), PruneMode::dry_run), Code::run_not_found);
}

void s19_never_comes_back(StoreUnderTest& subject) {
  {
    const auto store = subject.open();
    const auto run = writer(*store, "r");
    fill_to_prune(*run, 25);
    need(subject.open()->prune(run_id("r"), keep(4), PruneMode::remove));
    fill_to_prune(*run, 5);
  }
  for (int turn = 0; turn < 3; ++turn) {
    const auto store = subject.open();
    const auto run = writer(*store, "r");
    fill_to_prune(*run, 12);
    const std::vector<std::uint64_t> all = listed_pruned(*store, "r");
    expect(all.size() >= 4 && all[0] == 10 && all[1] == 20 && all[2] == 22, "what was pruned is listed again");
    need_error(store->restore(run_id("r"), at_sequence(15)), Code::checkpoint_pruned);
  }
}

// --- S20

void s20_kept_stays(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  fill_to_prune(*writer(*store, "other"), 20);
  fill_to_prune(*run, 53);
  const std::string other_before = picture(*store, "other");
  const std::string events = pruned_events(*store, "r");
  std::map<std::uint64_t, std::pair<CheckpointInfo, std::string>> before;
  for (std::uint64_t number = 1; number <= 53; ++number) {
    const Restored restored = need(store->restore(run_id("r"), at_sequence(number)));
    before[number] = {restored.info, restored.state};
  }
  const RetentionSettings limits[] = {keep(20), {.keep = {}, .keep_days = {}, .keep_per_stage = 4}, keep(5), keep(1)};
  for (const RetentionSettings& settings : limits) {
    need(store->prune(run_id("r"), settings, PruneMode::remove));
    const auto fresh = subject.open();
    for (Store* handle : {store.get(), fresh.get()}) {
      for (const std::uint64_t number : listed_pruned(*handle, "r")) {
        const Restored restored = need(handle->restore(run_id("r"), at_sequence(number)));
        expect(restored.state == before[number].second, "the state of a kept checkpoint has changed");
        const CheckpointInfo& was = before[number].first;
        const CheckpointInfo& is = restored.info;
        expect(is.id == was.id && is.created == was.created && is.name == was.name && is.stage == was.stage &&
                   is.step == was.step && is.caller_id == was.caller_id && is.parent == was.parent &&
                   is.checksum == was.checksum && is.state_bytes == was.state_bytes,
               "what is known of a kept checkpoint has changed");
      }
      expect(pruned_events(*handle, "r") == events, "events were pruned");
      expect(picture(*handle, "other") == other_before, "another run was pruned");
      expect(!need(handle->check({}, Repair::no)).damaged(), "the check finds damage after pruning");
    }
  }
  expect(listed_pruned(*store, "r") == std::vector<std::uint64_t>({10, 20, 30, 40, 50, 53}),
         "the wrong ones were kept");
}

void s20_saving_goes_on(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  std::uint64_t latest = 0;
  for (int turn = 0; turn < 8; ++turn) {
    fill_to_prune(*run, 9);
    latest += 9;
    need(subject.open()->prune(run_id("r"), keep(2), PruneMode::remove));
    SaveRequest grown = patch("{\"turn\": 1}");
    grown.duplicates = Duplicates::write;
    expect(need(run->save(grown)).sequence.value == ++latest, "a number was used again, or left out");
    expect(need(subject.open()->run(run_id("r"))).latest.value == latest, "the last save is not seen");
  }
  expect(!need(store->check({}, Repair::no)).damaged(), "the check finds damage");
}

void s20_again_changes_nothing(StoreUnderTest& subject) {
  const auto store = subject.open();
  fill_to_prune(*writer(*store, "r"), 34);
  need(store->prune(run_id("r"), keep(6), PruneMode::remove));
  const std::string before = picture(*store, "r");
  for (int turn = 0; turn < 2; ++turn) {
    const PruneReport again = need(subject.open()->prune(run_id("r"), keep(6), PruneMode::remove));
    expect(again.dropped.empty() && again.kept == 8, "pruning again prunes more");
    expect(picture(*store, "r") == before, "pruning again changes something");
  }
  expect(need(store->prune(run_id("r"), {}, PruneMode::remove)).dropped.empty(), "without a limit something goes");
}

}  // namespace

std::vector<ContractTest> pruning_tests() {
  return {
      {"S19_WhatIsPrunedIsGoneByItsNumberAndByEveryLabel", s19_pruned_is_gone},
      {"S19_CallersIdsOfPrunedSavesAreStillAnswered", s19_callers_ids_are_answered},
      {"S19_ADryRunSaysTheSameAndChangesNothing", s19_dry_run_changes_nothing},
      {"S19_WhatIsPrunedNeverComesBack", s19_never_comes_back},
      {"S20_WhatIsKeptStaysAsItWas", s20_kept_stays},
      {"S20_SavingGoesOnWithTheNextNumber", s20_saving_goes_on},
      {"S20_PruningAgainChangesNothing", s20_again_changes_nothing},
  };
}

}  // namespace pawl::testing::contract
