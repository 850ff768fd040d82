// S1..S9: saving.
#include <algorithm>
#include <mutex>
#include <thread>

#include "domain/event_types.hpp"
#include "testing/store_contract_checks.hpp"
#include "text/state_patch.hpp"

namespace pawl::testing::contract {
namespace {

// --- S1

constexpr std::string_view kAwkwardStates[] = {
    "{}",
    " {\n\t\"b\" : 1.0,\r\n \"a\":[ 1e2 , -0, 0.10 ] }\n\n",
    R"({"z":"\u00e4\ud83d\ude00\/","a":"ä😀/","":null,"n":12345678901234567})",
    "[]",
    "\"text\"",
    "17",
    "null",
    R"({"$append":[1],"x":{"$append":2}})",
};

void s01_awkward_bytes(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  for (const std::string_view body : kAwkwardStates) {
    const Saved saved = need(run->save(state(body)));
    expect(need(store->restore(run_id("r"), at_sequence(saved.sequence.value))).state == body, "restored other bytes");
  }
}

void s01_any_handle(StoreUnderTest& subject) {
  const std::string_view body = "{\"a\": 1}\n";
  auto first = subject.open();
  const auto beside = subject.open();
  {
    const auto run = writer(*first, "r");
    need(run->save(state(body)));
    expect(need(beside->restore(run_id("r"), {})).state == body, "a handle opened before the save sees other bytes");
    expect(need(subject.open()->restore(run_id("r"), {})).state == body, "a handle beside the writer sees other bytes");
  }
  first.reset();
  expect(need(subject.open()->restore(run_id("r"), {})).state == body, "a handle opened later sees other bytes");
}

void s01_large_growing(StoreUnderTest& subject) {
  const auto store = subject.open();
  std::string messages;
  std::vector<std::string> bodies;
  {
    const auto run = writer(*store, "r");
    for (int i = 0; i < 12; ++i) {
      messages += fmt::format("{}\"{}\"", i == 0 ? "" : ", ",
                              std::string(static_cast<std::size_t>(9000 + i), static_cast<char>('a' + i)));
      bodies.push_back("{\"messages\": [" + messages + "], \"turn\": " + std::to_string(i) + "}\n");
      need(run->save(state(bodies.back())));
    }
  }
  const auto later = subject.open();
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    expect(need(later->restore(run_id("r"), at_sequence(i + 1))).state == bodies[i], "a large state came back changed");
  }
}

// --- S2

void s02_one_two_three(StoreUnderTest& subject) {
  auto store = subject.open();
  {
    const auto run = writer(*store, "r");
    for (std::uint64_t i = 1; i <= 3; ++i) {
      expect(need(run->save(state(fmt::format("{}", i)))).sequence == Sequence{i}, "sequences are not 1, 2, 3");
    }
  }
  store = subject.open();
  expect(need(writer(*store, "r")->save(state("4"))).sequence == Sequence{4}, "a new handle does not go on counting");
  expect(need(writer(*store, "other")->save(state("1"))).sequence == Sequence{1}, "another run does not start at 1");
}

void s02_eight_threads_one_run(StoreUnderTest& subject) {
  constexpr int kThreads = 8;
  constexpr int kSaves = 20;
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, std::string>> saved;
  std::vector<std::string> wrong;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::uint64_t last = 0;
      for (int i = 0; i < kSaves; ++i) {
        const std::string body = fmt::format("{{\"thread\":{},\"i\":{}}}", thread, i);
        const Result<Saved> result = run->save(state(body));
        const std::scoped_lock lock(mutex);
        if (!result) return wrong.push_back(describe(result.error()));
        if (result->sequence.value <= last) wrong.emplace_back("a later save got an earlier sequence");
        last = result->sequence.value;
        saved.emplace_back(last, body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(wrong.empty(), wrong.empty() ? "" : wrong.front());
  std::ranges::sort(saved);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    expect(saved[i].first == i + 1, "a sequence is missing or was given twice");
    expect(need(store->restore(run_id("r"), at_sequence(i + 1))).state == saved[i].second,
           "a sequence holds another save");
  }
}

// --- S3

void s03_earlier_states(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  std::vector<Restored> as_saved;
  for (int i = 0; i < 20; ++i) {
    const std::string body =
        fmt::format("{{\"i\":{},\"pad\":\"{}\"}}", i, std::string(static_cast<std::size_t>(i * 7 % 50), 'x'));
    SaveRequest request = state(body);
    request.name = fmt::format("n{}", i);
    request.metadata = fmt::format("{{\"m\":{}}}", i);
    request.kind = i % 2 == 0 ? Kind::step_start : Kind::step_complete;
    const Saved saved = need(run->save(request));
    as_saved.push_back(need(store->restore(run_id("r"), at_sequence(saved.sequence.value))));
    expect(as_saved.back().state == body, "the state just saved differs");
  }
  for (const Restored& before : as_saved) {
    const Restored now = need(store->restore(run_id("r"), at_sequence(before.info.sequence.value)));
    expect(now.state == before.state, "an earlier state changed");
    expect(now.info.name == before.info.name && now.info.metadata == before.info.metadata &&
               now.info.kind == before.info.kind && now.info.id == before.info.id &&
               now.info.parent == before.info.parent,
           "an earlier checkpoint's details changed");
    expect(before.info.parent.value + 1 == before.info.sequence.value, "the parent is not the save before");
  }
}

// --- S4

void s04_equal_is_answered(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  SaveRequest request = state(R"({"a":1})");
  request.stage = "s";
  request.metadata = R"({"m":1})";
  const Saved first = need(run->save(request));
  const std::string before = picture(*store, "r");
  const Saved again = need(run->save(request));
  expect(again.outcome == Saved::Outcome::unchanged, "an equal state was not answered as unchanged");
  expect(again.sequence == first.sequence && again.id == first.id && again.checksum == first.checksum,
         "unchanged names another checkpoint");
  expect(picture(*store, "r") == before, "an unchanged save wrote something");
  request.duplicates = Duplicates::write;
  const Saved forced = need(run->save(request));
  expect(forced.outcome == Saved::Outcome::written && forced.sequence == Sequence{2},
         "Duplicates::write did not write");
}

void s04_later_handle_answers(StoreUnderTest& subject) {
  SaveRequest request = state(R"({"a": 1})");
  request.kind = Kind::step_complete;
  request.name = "n";
  request.stage = "s";
  request.step = "t";
  request.metadata = R"({"m": [1, 2], "e": 1E+2})";
  need(writer(*subject.open(), "r")->save(request));
  const auto store = subject.open();
  expect(need(writer(*store, "r")->save(request)).outcome == Saved::Outcome::unchanged,
         "a later handle does not recognise an equal save");
  expect(need(store->run(run_id("r"))).latest == Sequence{1}, "a later handle wrote an equal save");
}

void s04_any_difference_is_written(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  const SaveRequest same = state("{}");
  using Change = void (*)(SaveRequest&);
  constexpr Change kChanges[] = {
      [](SaveRequest& r) { r.body = "{} "; },
      [](SaveRequest& r) { r.kind = Kind::barrier; },
      [](SaveRequest& r) { r.status = Status::completed; },
      [](SaveRequest& r) { r.name = "n"; },
      [](SaveRequest& r) { r.stage = "s"; },
      [](SaveRequest& r) { r.step = "s"; },
      [](SaveRequest& r) { r.also.push_back({.kind = Kind::step_complete, .step = "s"}); },
      [](SaveRequest& r) { r.metadata = "{}"; },
      [](SaveRequest& r) { r.events.push_back({.type = "e", .data = "{}"}); },
  };
  for (const Change change : kChanges) {
    SaveRequest base = same;
    base.duplicates = Duplicates::write;
    need(run->save(base));
    SaveRequest request = same;
    change(request);
    expect(need(run->save(request)).outcome == Saved::Outcome::written, "a difference was answered as unchanged");
  }
}

// --- S5

void s05_conflict(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  const auto expecting = [](std::string_view body, std::uint64_t parent) {
    SaveRequest request = state(body);
    request.expected_parent = Sequence{parent};
    return request;
  };
  need_error(run->save(expecting("1", 1)), Code::parent_conflict);
  need_error(subject.open()->run(run_id("r")), Code::run_not_found);
  expect(need(run->save(expecting("1", 0))).sequence == Sequence{1}, "expecting none on a new run failed");
  const std::string before = picture(*store, "r");
  need_error(run->save(expecting("2", 0)), Code::parent_conflict);
  need_error(run->save(expecting("2", 2)), Code::parent_conflict);
  need_error(run->save(expecting("1", 7)), Code::parent_conflict);
  expect(picture(*store, "r") == before, "a conflicting save wrote something");
  expect(need(run->save(expecting("2", 1))).sequence == Sequence{2}, "the right expectation failed");
}

// --- S6

SaveRequest with_id(SaveRequest request, std::string id) {
  request.caller_id = std::move(id);
  return request;
}

void s06_repeated_is_answered(StoreUnderTest& subject) {
  auto store = subject.open();
  auto run = writer(*store, "r");
  const Saved first = need(run->save(with_id(state("1"), "a")));
  need(run->save(with_id(state("2"), "b")));
  need(run->save(state("3")));
  need(run->save(with_id(patch(R"({"x":1})"), "p")));
  run.reset();
  store = subject.open();
  run = writer(*store, "r");
  need(run->save(state("5")));
  const std::string before = picture(*store, "r");
  SaveRequest retry = with_id(state("1"), "a");
  retry.expected_parent = Sequence{0};  // as in the first attempt: it is answered as a repeat, without a conflict
  const Saved again = need(run->save(retry));
  expect(again.outcome == Saved::Outcome::repeated, "a repeated save was not recognised");
  expect(again.sequence == first.sequence && again.id == first.id && again.checksum == first.checksum,
         "a repeated save is answered with another checkpoint");
  expect(need(run->save(with_id(patch(R"({"x":1})"), "p"))).sequence == Sequence{4},
         "a repeated patch was not recognised");
  expect(picture(*store, "r") == before, "a repeated save wrote something");
  expect(need(writer(*store, "other")->save(with_id(state("1"), "a"))).outcome == Saved::Outcome::written,
         "a caller's id is not the run's own");
}

void s06_reused_id_fails(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  need(run->save(with_id(state("{}"), "a")));
  need(run->save(state("2")));
  const std::string before = picture(*store, "r");
  need_error(run->save(with_id(state(R"({"b":1})"), "a")), Code::caller_id_reused);
  need_error(run->save(with_id(patch("{}"), "a")), Code::caller_id_reused);
  SaveRequest other_kind = with_id(state("{}"), "a");
  other_kind.kind = Kind::barrier;
  need_error(run->save(other_kind), Code::caller_id_reused);
  expect(picture(*store, "r") == before, "a refused save wrote something");
}

SaveRequest rollback_to(std::string_view state_then, int sequence) {
  SaveRequest request = state(state_then);
  request.duplicates = Duplicates::write;
  request.events.push_back({event_type::kRolledBack, fmt::format(R"({{"to":{}}})", sequence)});
  return request;
}

void s06_rollback_frees_ids(StoreUnderTest& subject) {
  for (const bool reopen : {false, true}) {
    const std::string name = reopen ? "reopened" : "r";
    auto store = subject.open();
    auto run = writer(*store, name);
    need(run->save(with_id(state("1"), "a")));
    need(run->save(with_id(state("2"), "b")));
    need(run->save(with_id(state("3"), "c")));
    need(run->save(rollback_to("1", 1)));
    if (reopen) {
      run.reset();
      store = subject.open();
      run = writer(*store, name);
    }
    expect(need(run->save(with_id(state("1"), "a"))).outcome == Saved::Outcome::repeated,
           "a rollback freed the id of what it went back to");
    const Saved again = need(run->save(with_id(state("2"), "b")));
    expect(again.outcome == Saved::Outcome::written && again.sequence == Sequence{5},
           "an id that a rollback freed was answered");
    expect(need(run->save(with_id(state("4"), "c"))).outcome == Saved::Outcome::written,
           "a freed id can't have another body");
    run.reset();
    store = subject.open();
    run = writer(*store, name);
    const Saved once_more = need(run->save(with_id(state("2"), "b")));
    expect(once_more.outcome == Saved::Outcome::repeated && once_more.sequence == Sequence{5},
           "the newest save with an id is not the one that is answered");
  }
}

// --- S7

void s07_patch_is_applied(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  constexpr std::string_view kPatches[] = {
      R"({"a":{"b":1},"list":[1]})",
      R"({"a":{"c":"x"},"list":{"$append":[2,3]}})",
      R"({"a":{"b":null}})",
      R"({"list":[9]})",
  };
  std::string expected = "{}";
  for (const std::string_view body : kPatches) {
    expected = need(apply_patch(expected, body));
    need(run->save(patch(body)));
    expect(need(store->restore(run_id("r"), {})).state == expected, "a patch led to another state");
  }
}

void s07_inapplicable_patch_fails(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  need(run->save(state(R"({"a":1})")));
  const std::string before = picture(*store, "r");
  need_error(run->save(patch(R"({"a":{"$append":[2]}})")), Code::invalid_patch);
  expect(picture(*store, "r") == before, "an inapplicable patch wrote something");
}

// --- S8

void s08_failure_changes_nothing(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  SaveRequest conflicting = state("7");
  conflicting.expected_parent = Sequence{99};
  conflicting.events.push_back({.type = "e", .data = "{}"});
  need_error(run->save(conflicting), Code::parent_conflict);
  expect(need(run->save(with_id(state("[1]"), "a"))).sequence == Sequence{1}, "a failed first save used a sequence");
  const std::string before = picture(*store, "r");
  need_error(run->save(conflicting), Code::parent_conflict);
  need_error(run->save(with_id(state("8"), "a")), Code::caller_id_reused);
  expect(picture(*store, "r") == before, "a failed save is visible");
  expect(picture(*subject.open(), "r") == before, "a failed save is visible to another handle");
  expect(need(run->save(state("9"))).sequence == Sequence{2}, "a failed save used a sequence");
}

// --- S9

void s09_events(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto run = writer(*store, "r");
  const auto with_events = [](std::string_view body, std::vector<std::string> types) {
    SaveRequest request = state(body);
    for (std::string& type : types)
      request.events.push_back({.type = type, .data = fmt::format("{{\"t\":\"{}\"}}", type)});
    return request;
  };
  need(run->save(with_events("1", {"a", "b"})));
  need(run->save(state("2")));
  need(run->save(with_events("2", {"c"})));
  const std::vector<Event> events = need(subject.open()->events(run_id("r"), 0, 100));
  expect(events.size() == 3, "not all events are there");
  constexpr std::string_view kTypes[] = {"a", "b", "c"};
  constexpr std::uint64_t kSequences[] = {1, 1, 3};
  for (std::size_t i = 0; i < events.size(); ++i) {
    expect(events[i].number == i + 1, "events are not numbered from 1");
    expect(events[i].type == kTypes[i] && events[i].data == fmt::format("{{\"t\":\"{}\"}}", kTypes[i]),
           "events are out of order");
    expect(events[i].sequence == Sequence{kSequences[i]}, "an event has another save's sequence");
  }
  const std::vector<Event> middle = need(store->events(run_id("r"), 1, 1));
  expect(middle.size() == 1 && middle[0].number == 2, "after and limit are not kept for events");
}

}  // namespace

std::vector<ContractTest> saving_tests() {
  return {
      {"S01_BytesComeBackExactly", s01_awkward_bytes},
      {"S01_AnyHandleGetsTheSameBytes", s01_any_handle},
      {"S01_LargeGrowingStatesComeBackExactly", s01_large_growing},
      {"S02_SequencesCountFromOneAcrossHandles", s02_one_two_three},
      {"S02_EightThreadsOnOneRunGetEachSequenceOnce", s02_eight_threads_one_run},
      {"S03_EarlierCheckpointsStayAsTheyWereSaved", s03_earlier_states},
      {"S04_EqualStateIsAnsweredUnlessForced", s04_equal_is_answered},
      {"S04_EqualStateIsAnsweredByALaterHandle", s04_later_handle_answers},
      {"S04_AnyDifferenceIsWritten", s04_any_difference_is_written},
      {"S05_ConflictingExpectedParentFailsAndWritesNothing", s05_conflict},
      {"S06_RepeatedCallerIdIsAnsweredAndWritesNothing", s06_repeated_is_answered},
      {"S06_CallerIdWithAnotherSaveFails", s06_reused_id_fails},
      {"S06_RollbackFreesTheIdsOfLaterSaves", s06_rollback_frees_ids},
      {"S07_PatchIsAppliedToTheLastState", s07_patch_is_applied},
      {"S07_InapplicablePatchFailsAndWritesNothing", s07_inapplicable_patch_fails},
      {"S08_FailedSaveIsInvisibleAndUsesNoSequence", s08_failure_changes_nothing},
      {"S09_EventsKeepOrderNumberAndSequence", s09_events},
  };
}

}  // namespace pawl::testing::contract
