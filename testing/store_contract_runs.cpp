// S10..S12: runs and their writers.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "testing/store_contract_checks.hpp"

namespace pawl::testing::contract {
namespace {

// --- S10

void s10_second_writer_is_refused(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto other = subject.open();
  auto first = writer(*store, "r");
  need(first->save(state("1")));
  for (Store* second : {store.get(), other.get()}) {
    const std::string busy = need_error(second->open_run(run_id("r"), {}), Code::run_busy);
    expect(busy.find(std::to_string(subject.writer_pid())) != std::string::npos, "run_busy does not name the writer");
  }
  need(first->save(state("2")));  // the refused open had no effect
  first.reset();
  auto next = writer(*other, "r");
  expect(need(next->save(state("3"))).sequence == Sequence{3}, "the next writer does not go on");
  need_error(store->open_run(run_id("r"), {}), Code::run_busy);
}

void s10_unsaved_run_is_held(StoreUnderTest& subject) {
  const auto store = subject.open();
  auto first = writer(*store, "r");
  need_error(subject.open()->open_run(run_id("r"), {}), Code::run_busy);
  first.reset();
  expect(need(writer(*store, "r")->save(state("1"))).sequence == Sequence{1},
         "a run that was opened only can't be opened again");
}

void s10_eight_threads_eight_runs(StoreUnderTest& subject) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kSaves = 15;
  const auto store = subject.open();
  std::mutex mutex;
  std::vector<std::string> wrong;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      try {
        const std::string name = fmt::format("run-{}", thread);
        const auto run = writer(*store, name);
        for (std::uint64_t i = 1; i <= kSaves; ++i) {
          const std::string body = fmt::format("{{\"run\":{},\"i\":{}}}", thread, i);
          expect(need(run->save(state(body))).sequence == Sequence{i}, "another run disturbed the count");
          expect(need(store->restore(run_id(name), {})).state == body, "another run's state was restored");
        }
      } catch (const std::exception& violation) {
        const std::scoped_lock lock(mutex);
        wrong.emplace_back(violation.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(wrong.empty(), wrong.empty() ? "" : wrong.front());
  expect(need(store->runs(100)).size() == kThreads, "not all runs are there");
}

void s10_one_of_eight_threads_wins(StoreUnderTest& subject) {
  constexpr int kThreads = 8;
  const auto store = subject.open();
  std::atomic<int> writers = 0;
  std::atomic<int> refused = 0;
  std::vector<std::unique_ptr<RunWriter>> held(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Result<std::unique_ptr<RunWriter>> opened = store->open_run(*RunId::parse("r"), {});
      if (opened) {
        held[thread] = std::move(*opened);
        ++writers;
      } else if (opened.error().code == Code::run_busy) {
        ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(writers == 1 && refused == kThreads - 1, "not exactly one of eight became the writer");
}

// --- S11

void s11_durability_is_fixed(StoreUnderTest& subject) {
  const auto store = subject.open();
  const auto level = [](Durability durability) {
    RunOptions options;
    options.durability = durability;
    return options;
  };
  expect(writer(*store, "plain")->info().durability == Durability::sync, "sync is not the default");
  for (const Durability made : {Durability::sync, Durability::async, Durability::exit}) {
    const std::string name(to_text(made));
    {
      const auto run = writer(*store, name, level(made));
      need(run->save(state("1")));
      need(run->flush());
    }
    for (const Durability asked : {Durability::sync, Durability::async, Durability::exit}) {
      if (asked == made) {
        expect(writer(*store, name, level(asked))->info().durability == made, "the same level is another one");
      } else {
        need_error(store->open_run(run_id(name), level(asked)), Code::durability_fixed);
      }
    }
    expect(writer(*store, name)->info().durability == made, "without a level the recorded one is not taken");
    expect(need(subject.open()->run(run_id(name))).durability == made, "the level is not recorded");
  }
}

// --- S12

void s12_clock_jumps_back(StoreUnderTest& subject) {
  auto store = subject.open();
  auto run = writer(*store, "r");
  const auto save = [&run](std::string_view body) {
    SaveRequest request = state(body);
    request.events.push_back({.type = "e", .data = "{}"});
    return need(run->save(request));
  };
  save("1");
  subject.clock().advance(5'000'000);
  save("2");
  const Timestamp high = need(store->run(run_id("r"))).updated;
  subject.clock().jump(-60'000'000);
  save("3");
  run.reset();
  store = subject.open();
  run = writer(*store, "r");
  save("4");
  const RunInfo info = need(store->run(run_id("r")));
  expect(info.updated >= high && info.created <= info.updated, "the run's time went back");
  Timestamp last;
  for (const CheckpointInfo& checkpoint : need(store->checkpoints(run_id("r"), {}, 100))) {
    expect(checkpoint.created >= last, "a checkpoint is older than its parent");
    expect(need(store->restore(run_id("r"), at_sequence(checkpoint.sequence.value))).info.created == checkpoint.created,
           "a checkpoint has two times");
    last = checkpoint.created;
  }
  last = {};
  for (const Event& event : need(store->events(run_id("r"), 0, 100))) {
    expect(event.created >= last, "an event is older than the one before");
    last = event.created;
  }
}

}  // namespace

std::vector<ContractTest> run_tests() {
  return {
      {"S10_SecondWriterIsRefusedAndNamesTheFirst", s10_second_writer_is_refused},
      {"S10_ARunWithoutASaveIsHeldToo", s10_unsaved_run_is_held},
      {"S10_EightThreadsOnEightRunsDoNotDisturbEachOther", s10_eight_threads_eight_runs},
      {"S10_OneOfEightThreadsBecomesTheWriter", s10_one_of_eight_threads_wins},
      {"S11_DurabilityIsFixedWhenTheRunIsMade", s11_durability_is_fixed},
      {"S12_TimestampsNeverGoBackWithTheClock", s12_clock_jumps_back},
  };
}

}  // namespace pawl::testing::contract
