// A store that is used in a forked child. The child shares open files and locks with its parent, so it must be refused
// before it writes anything, and it must not wait for threads that exist only in the parent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "adapters/filesystem/filesystem_store.hpp"
#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_file_system.hpp"

namespace pawl {
namespace {

constexpr unsigned kHangSeconds = 60;

class UsedAfterFork : public ::testing::TestWithParam<Background> {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-fork-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::unique_ptr<FilesystemStore> open() const {
    auto files = PosixFileSystem::open(root_);
    if (!files) return nullptr;
    auto store =
        FilesystemStore::open(std::move(*files), system_environment(), FilesystemOptions{.background = GetParam()});
    return store ? std::move(*store) : nullptr;
  }
  static RunId id(const std::string& text) { return *RunId::parse(text); }

  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(Background, UsedAfterFork, ::testing::Values(Background::none, Background::thread),
                         [](const auto& which) { return which.param == Background::none ? "none" : "thread"; });

/// Runs `work` in a child and returns its exit status: the number of the first check that failed, or 0. A child that
/// hangs is ended by an alarm.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kHangSeconds);
    ::_exit(work());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

template <class T>
bool is_refused(const Result<T>& result) {
  return !result && result.error().code == Code::used_after_fork;
}

/// Returns the number of the first operation that was not refused, or 0.
int first_allowed(FilesystemStore& store, RunWriter& writer, const RunId& run) {
  const SaveRequest request{.body = R"({"by":"child"})"};
  if (!is_refused(writer.save(request))) return 1;
  if (!is_refused(writer.flush())) return 2;
  if (!is_refused(store.open_run(*RunId::parse("other"), {}))) return 3;
  if (!is_refused(store.restore(run, {}))) return 4;
  if (!is_refused(store.runs(10))) return 5;
  if (!is_refused(store.post(run, "{}"))) return 6;
  if (!is_refused(store.inbox(run))) return 7;
  if (!is_refused(store.prune(run, {}, PruneMode::remove))) return 8;
  if (!is_refused(store.erase(run, {}))) return 9;
  if (!is_refused(store.fork(run, Sequence{1}, *RunId::parse("fork"), {}))) return 10;
  if (!is_refused(store.check({}, Repair::yes))) return 11;
  if (!is_refused(store.settle_all())) return 12;
  if (!is_refused(store.publish_lazily())) return 13;
  if (!is_refused(store.events(run, 0, 10))) return 14;
  if (!is_refused(store.audit(run, 0, 10))) return 15;
  if (!is_refused(store.owner(run))) return 16;
  if (!is_refused(store.rebuild_catalogue())) return 17;
  return 0;
}

TEST_P(UsedAfterFork, NothingIsReadOrWritten) {
  auto store = open();
  ASSERT_NE(store, nullptr);
  const RunId run = id("shared");
  auto writer = store->open_run(run, {});
  ASSERT_TRUE(writer);
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE((*writer)->save({.body = fmt::format(R"({{"n":{}}})", i)}));
  EXPECT_EQ(in_child([&] {
              const int allowed = first_allowed(*store, **writer, run);
              writer->reset();
              store.reset();
              return allowed;
            }),
            0);
  // The parent is not disturbed, and still holds the run.
  for (int i = 4; i <= 6; ++i) ASSERT_TRUE((*writer)->save({.body = fmt::format(R"({{"n":{}}})", i)}));
  EXPECT_EQ(in_child([&] {
              const auto again = open();
              const auto second = again->open_run(id("shared"), {});
              if (second || second.error().code != Code::run_busy) return 1;
              const auto own = again->open_run(id("own"), {});
              return own && (*own)->save({.body = "1"}) ? 0 : 2;
            }),
            0);
  writer->reset();
  store.reset();
  const auto after = open();
  for (std::uint64_t i = 1; i <= 6; ++i) {
    const auto restored = after->restore(run, {.by = Which::By::sequence, .sequence = Sequence{i}});
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->state, fmt::format(R"({{"n":{}}})", i));
  }
  EXPECT_TRUE(after->restore(id("own"), {}));
  const auto report = after->check({}, Repair::no);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty());
}

TEST_P(UsedAfterFork, AChildNeverHangsWhileThreadsOfItsParentSave) {
  constexpr int kThreads = 8;
  constexpr int kChildren = 30;
  auto store = open();
  std::vector<std::unique_ptr<RunWriter>> writers;
  for (int i = 0; i < kThreads; ++i) writers.push_back(*store->open_run(id(fmt::format("run-{}", i)), {}));
  std::atomic<bool> stop = false;
  std::vector<std::uint64_t> saved(kThreads, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      while (!stop) {
        if (writers[i]->save({.body = fmt::format("{}", saved[i] + 1)})) ++saved[i];
      }
    });
  }
  for (int child = 0; child < kChildren; ++child) {
    EXPECT_EQ(in_child([&] {
                const int allowed = first_allowed(*store, *writers[0], id("run-0"));
                writers.clear();
                store.reset();
                return allowed;
              }),
              0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  writers.clear();
  store.reset();
  const auto after = open();
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto restored = after->restore(id(fmt::format("run-{}", i)), {});
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->info.sequence.value, saved[i]);
    EXPECT_EQ(restored->state, std::to_string(saved[i]));
  }
}

}  // namespace
}  // namespace pawl
