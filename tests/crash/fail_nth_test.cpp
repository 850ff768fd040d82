// Fail the Nth call: every call of every operation fails, once or from then on, in every possible way. No
// acknowledgement may be false and no acknowledged save lost, and the next process to open the store sees only what is
// on the disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl::testing {
namespace {

RunId failing_run(std::string_view name) { return *RunId::parse(name); }

std::string big(char letter) { return "\"" + std::string(3000, letter) + "\""; }

/// A machine with a store that contains two saves, one of them in the journal of a dead process.
class Machine {
 public:
  explicit Machine(std::uint64_t seed) : disk_(seed), random_(seed) {}

  std::unique_ptr<FilesystemStore> open(SimFileSystem& files) {
    auto store =
        FilesystemStore::open(files, {&clock_, &random_, sim_owner(disk_.boot_id(), ++pids_)}, small_options());
    return store ? std::move(*store) : nullptr;
  }
  void prepare() {
    SimFileSystem files(disk_);
    const auto store = open(files);
    const auto writer = store->open_run(failing_run("old"), {});
    acknowledge("old", (*writer)->save({.body = "[1]"}), "[1]");
    acknowledge("old", (*writer)->save({.body = big('a')}), big('a'));
    files.kill();
  }
  void acknowledge(const std::string& run, const Result<Saved>& saved, const std::string& state) {
    attempted_.insert({run, state});
    if (saved) promised_[{run, saved->sequence.value}] = state;
  }
  /// From now on, everything of this run except `named` and the latest may be pruned. A failed save may be the latest.
  void allow_pruning(const std::string& run, std::uint64_t named) {
    for (const auto& [key, state] : promised_) {
      if (key.first == run && key.second != named) may_be_pruned_.insert(key);
    }
  }
  /// Returns whether this checkpoint was pruned, and was allowed to be.
  bool was_pruned(Store& reader, const std::pair<std::string, std::uint64_t>& key, const Error& error) {
    if (error.code != Code::checkpoint_pruned || !may_be_pruned_.contains(key)) return false;
    const auto latest = reader.restore(failing_run(key.first), {});
    return latest && latest->info.sequence.value > key.second;
  }
  void acknowledge(const Result<std::string>& posted, const std::string& body) {
    if (posted) messages_[*posted] = body;
  }
  /// Checks that everything promised exists, and nothing that was never saved. Returns a violation or an empty string.
  std::string verify() {
    SimFileSystem files(disk_);
    const auto reader = open(files);
    if (!reader) return "the store can't be opened";
    for (const auto& [key, state] : promised_) {
      Which which{.by = Which::By::sequence, .sequence = {key.second}};
      const auto restored = reader->restore(failing_run(key.first), which);
      if (!restored && was_pruned(*reader, key, restored.error())) continue;
      if (!restored) return fmt::format("{}@{} is lost: {}", key.first, key.second, describe(restored.error()));
      if (restored->state != state) return fmt::format("{}@{} has changed", key.first, key.second);
    }
    if (!messages_.empty()) {
      const auto listed = reader->inbox(failing_run("old"));
      if (!listed) return fmt::format("the messages can't be listed: {}", describe(listed.error()));
      for (const auto& [id, body] : messages_) {
        const auto found = std::ranges::find(*listed, id, &Message::id);
        if (found == listed->end() || found->body != body) return fmt::format("message {} is lost", body);
      }
    }
    for (const std::string run : {"old", "new"}) {
      const auto latest = reader->restore(failing_run(run), {});
      if (!latest && latest.error().code != Code::run_not_found) return describe(latest.error());
      if (latest && !attempted_.contains({run, latest->state}))
        return fmt::format("{} holds what was never saved", run);
      if (latest) promised_[{run, latest->info.sequence.value}] = latest->state;
    }
    return {};
  }
  /// A healthy process continues, and what it acknowledges survives a power loss.
  std::string go_on() {
    {
      SimFileSystem files(disk_);
      const auto store = open(files);
      if (!store) return "the store can't be opened afterwards";
      for (const std::string run : {"old", "new"}) {
        const auto writer = store->open_run(failing_run(run), {});
        if (!writer) return fmt::format("{} can't be opened afterwards: {}", run, describe(writer.error()));
        const std::string state = fmt::format("[\"after\",\"{}\"]", run);
        const auto saved = (*writer)->save({.body = state, .duplicates = Duplicates::write});
        if (!saved) return fmt::format("{} can't be saved afterwards: {}", run, describe(saved.error()));
        acknowledge(run, saved, state);
      }
      if (const auto settled = store->settle_all(); !settled) return describe(settled.error());
    }
    disk_.power_loss(Loss::drop_all);
    return verify();
  }

  SimDisk disk_;
  ManualClock clock_;
  SeededRandom random_;

 private:
  std::map<std::pair<std::string, std::uint64_t>, std::string> promised_;
  std::set<std::pair<std::string, std::string>> attempted_;
  std::set<std::pair<std::string, std::uint64_t>> may_be_pruned_;
  std::map<std::string, std::string> messages_;  // to the old run
  std::uint64_t pids_ = 10;
};

/// What the process with the fault does. All its calls may fail, but what it acknowledges must be true.
using Scenario = std::function<void(Machine&, SimFileSystem&)>;

void save_some(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  for (const std::string run : {"new", "old"}) {
    const auto writer = store->open_run(failing_run(run), {});
    if (!writer) continue;
    for (const std::string& state : {std::string("[1,2]"), std::string("[1,2,3]"), big('b'), std::string("{\n}")}) {
      const auto saved = (*writer)->save({.body = state, .duplicates = Duplicates::write, .events = {{"note", "{}"}}});
      machine.acknowledge(run, saved, state);
    }
  }
}

void save_changes(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  const auto writer = store->open_run(failing_run("old"), {});
  if (!writer) return;
  std::string state = big('a');
  for (int i = 0; i < 12; ++i) {
    SaveRequest request;
    request.expected_parent = (*writer)->info().latest;
    request.events = {{"note", "{}"}};
    const std::string inserted(i % 4 == 3 ? 400U : 5U, static_cast<char>('b' + i));
    // Every fourth time, the difference is about as large as the state, which is then saved as a whole.
    const std::vector<Splice> change = {i % 4 == 3   ? Splice{1, state.size() - 2, inserted}
                                        : i % 2 == 0 ? Splice{1, 1, inserted}
                                                     : Splice{state.size() / 2, 1, inserted}};
    std::string next = *apply_splices(state, change);
    const auto saved = (*writer)->save_change(request, change);
    machine.acknowledge("old", saved, next);
    if (!saved) return;
    state = std::move(next);
  }
}

void save_and_settle(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  {
    const auto writer = store->open_run(failing_run("old"), {});
    if (writer) machine.acknowledge("old", (*writer)->save({.body = "[7]"}), "[7]");
  }
  static_cast<void>(store->publish_lazily());
  static_cast<void>(store->settle_all());
  const auto writer = store->open_run(failing_run("new"), {});
  if (writer) machine.acknowledge("new", (*writer)->save({.body = "[8]"}), "[8]");
}

void rotate_often(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  const auto writer = store->open_run(failing_run("new"), {});
  if (!writer) return;
  for (int i = 0; i < 40; ++i) {
    const std::string state = fmt::format("[{},\"{}\"]", i, std::string(1500, static_cast<char>('a' + i % 26)));
    machine.acknowledge("new", (*writer)->save({.body = state}), state);
  }
}

void read_and_repair(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  static_cast<void>(store->restore(failing_run("old"), {}));
  static_cast<void>(store->runs(10));
  static_cast<void>(store->checkpoints(failing_run("old"), {}, 10));
  static_cast<void>(store->check({}, Repair::yes));
}

void post_and_take(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  for (const char* body : {"1", "[2]", "{}"}) machine.acknowledge(store->post(failing_run("old"), body), body);
  if (const auto taken = store->post(failing_run("old"), "\"to be taken\""))
    static_cast<void>(store->take(failing_run("old"), *taken));
  static_cast<void>(store->inbox(failing_run("old")));
  static_cast<void>(store->owner(failing_run("old")));
}

void save_and_prune(Machine& machine, SimFileSystem& files) {
  const auto store = machine.open(files);
  if (!store) return;
  std::uint64_t named = 0;
  {
    const auto writer = store->open_run(failing_run("old"), {});
    if (!writer) return;
    for (int i = 0; i < 26; ++i) {
      const std::string state =
          i % 9 == 5 ? big(static_cast<char>('a' + i)) : fmt::format("[\"{}\",{}]", std::string(60, 'x'), i);
      SaveRequest request;
      request.body = state;
      request.duplicates = Duplicates::write;
      if (i == 8) request.name = "kept";
      if (i % 4 == 0) request.caller_id = fmt::format("call-{}", i);
      const auto saved = (*writer)->save(request);
      machine.acknowledge("old", saved, state);
      if (saved && i == 8) named = saved->sequence.value;
    }
  }
  static_cast<void>(store->publish_lazily());
  machine.allow_pruning("old", named);
  for (const std::uint64_t keep : {5ULL, 1ULL}) {
    static_cast<void>(
        store->prune(failing_run("old"), {.keep = keep, .keep_days = {}, .keep_per_stage = {}}, PruneMode::remove));
  }
  static_cast<void>(store->settle_all());
}

std::uint64_t fail_each_call(const Scenario& scenario, Fault::What what, bool persistent) {
  std::uint64_t fired = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    Machine machine(nth);
    machine.prepare();
    bool fires = false;
    {
      SimFileSystem files(machine.disk_);
      files.inject({what, nth, persistent});
      scenario(machine, files);
      fires = files.faults_fired() > 0;
      // The process is killed in half of the cases and exits cleanly in the others.
      if (nth % 2 == 0) files.kill();
    }
    const std::string where =
        fmt::format("call {} ({}, {})", nth, static_cast<int>(what), persistent ? "persistent" : "transient");
    EXPECT_EQ(machine.verify(), "") << where << ", same boot";
    machine.disk_.power_loss(nth % 3 == 0 ? Loss::drop_all : Loss::random);
    EXPECT_EQ(machine.verify(), "") << where << ", after power loss";
    EXPECT_EQ(machine.go_on(), "") << where << ", going on";
    if (!fires || ::testing::Test::HasFailure()) return fired;
    ++fired;
  }
}

struct Trouble {
  const char* name;
  Scenario scenario;
};

class FailNth : public ::testing::TestWithParam<std::tuple<Trouble, Fault::What, bool>> {};

TEST_P(FailNth, NeverAcknowledgesFalselyAndLosesNothing) {
  const auto& [trouble, what, persistent] = GetParam();
  const std::uint64_t fired = fail_each_call(trouble.scenario, what, persistent);
  EXPECT_GT(fired, 3U) << "the fault hardly ever fired";
}

std::string name_of(const ::testing::TestParamInfo<FailNth::ParamType>& info) {
  static constexpr const char* kWhat[] = {"enospc", "eio", "short_write", "sync_fails"};
  return fmt::format("{}_{}_{}", std::get<0>(info.param).name, kWhat[std::get<1>(info.param)],
                     std::get<2>(info.param) ? "persistent" : "transient");
}

INSTANTIATE_TEST_SUITE_P(
    Call, FailNth,
    ::testing::Combine(::testing::Values(Trouble{"save", save_some}, Trouble{"change", save_changes},
                                         Trouble{"settle", save_and_settle}, Trouble{"rotate", rotate_often},
                                         Trouble{"repair", read_and_repair}, Trouble{"post", post_and_take},
                                         Trouble{"prune", save_and_prune}),
                       ::testing::Values(Fault::enospc, Fault::eio, Fault::short_write_then_enospc, Fault::sync_fails),
                       ::testing::Bool()),
    name_of);

TEST(FailedSync, MakesTheHandleRefuseWithOutcomeUnknownThenHandleFailed) {
  Machine machine(5);
  machine.prepare();
  SimFileSystem files(machine.disk_);
  const auto store = machine.open(files);
  const auto writer = store->open_run(failing_run("new"), {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->save({.body = "[1]"}));
  files.inject({Fault::sync_fails, files.fallible_calls() + 1, false});
  const auto unknown = (*writer)->save({.body = "[2]", .caller_id = "two"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::outcome_unknown);
  const auto refused = (*writer)->save({.body = "[3]"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::handle_failed);
  const auto other = store->open_run(failing_run("other"), {});
  const auto refused_too = other ? (*other)->save({.body = "[4]"}) : Result<Saved>(std::unexpected(other.error()));
  ASSERT_FALSE(refused_too);
  EXPECT_EQ(refused_too.error().code, Code::handle_failed);
}

TEST(FailedSync, RepeatingTheSaveWithItsIdThroughANewHandleDoesNotDoubleIt) {
  Machine machine(6);
  machine.prepare();
  {
    SimFileSystem files(machine.disk_);
    const auto store = machine.open(files);
    const auto writer = store->open_run(failing_run("new"), {});
    ASSERT_TRUE((*writer)->save({.body = "[1]"}));
    files.inject({Fault::sync_fails, files.fallible_calls() + 1, false});
    ASSERT_FALSE((*writer)->save({.body = "[2]", .caller_id = "two"}));
  }
  SimFileSystem files(machine.disk_);
  const auto store = machine.open(files);
  const auto writer = store->open_run(failing_run("new"), {});
  ASSERT_TRUE(writer);
  const auto again = (*writer)->save({.body = "[2]", .caller_id = "two"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sequence.value, 2U);
  EXPECT_EQ((*writer)->info().latest.value, 2U);
  machine.disk_.power_loss(Loss::drop_all);
  SimFileSystem after(machine.disk_);
  const auto reader = machine.open(after);
  EXPECT_EQ(reader->restore(failing_run("new"), {})->state, "[2]");
}

}  // namespace
}  // namespace pawl::testing
