// The environment of a store: other writers, full disks, missing permissions, and the cost of a save.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/e2e/fixture.hpp"

namespace pawl::e2e {
namespace {

using Storage = E2e;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Returns where the system call starts in an strace line, after the pid; npos for other lines.
bool is_call(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name + "(");
  return at != std::string::npos && line.find("= 0") != std::string::npos;
}

TEST_F(Storage, AOneShotSaveOfAnExistingRunFlushesOnceAndBeforeItPrints) {
  ASSERT_EQ(save("r", "{\"n\": 1}").status, 0);
  for (int i = 2; i <= 4; ++i) {
    Command traced = command({"-f", "-e", "trace=fsync,fdatasync,syncfs,sync,sync_file_range,msync,write", "-o",
                              path("trace").string(), PAWL_PROGRAM, "save", "r"},
                             "{\"n\": " + std::to_string(i) + "}");
    traced.program = "/usr/bin/strace";
    // LeakSanitizer does not work under ptrace.
    traced.environment["ASAN_OPTIONS"] = "detect_leaks=0";
    const Finished finished = run(traced);
    ASSERT_EQ(finished.out, "r@" + std::to_string(i) + "\n")
        << "strace is needed and may have been refused (`make test` installs it; containers need ptrace):\n"
        << finished.err;
    const std::vector<std::string> calls = lines_of(read_bytes(path("trace")));
    int flushes = 0;
    int flushes_when_printed = -1;
    for (const std::string& call : calls) {
      if (call.find("write(1, \"r@") != std::string::npos) flushes_when_printed = flushes;
      for (const char* name : {"fsync", "fdatasync", "syncfs", "sync_file_range", "msync"})
        flushes += is_call(call, name);
    }
    EXPECT_EQ(flushes, 1) << read_bytes(path("trace"));
    EXPECT_EQ(flushes_when_printed, 1) << "RUN@SEQ is printed once it is durable:\n" << read_bytes(path("trace"));
  }
}

TEST_F(Storage, AFullStandardOutputIsTroubleAndTheCheckpointStays) {
  Command call = command({"save", "r"}, "1");
  call.out_path = "/dev/full";
  const Finished saved = run(call);
  EXPECT_EQ(saved.status, 5);
  EXPECT_TRUE(contains(saved.err, "the checkpoint is durable: r@1"));
  EXPECT_EQ(ok({"restore", "r"}), "1");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"restore", "r"}, {"list"}, {"show", "r"}, {"--help"}}) {
    Command reading = command(args);
    reading.out_path = "/dev/full";
    const Finished read = run(reading);
    EXPECT_EQ(read.status, 5) << args.front();
    EXPECT_TRUE(contains(read.err, "PAWL-0501"));
  }
}

TEST_F(Storage, ASecondWriterIsToldWhoTheFirstIs) {
  ASSERT_EQ(save("r", "1").status, 0);
  Background holder(Command{.program = PAWL_HOLDER, .args = {store(), "r"}});
  ASSERT_EQ(holder.read_line(), "ready");
  const Finished refused = save("r", "2");
  expect_error(refused, 4, "PAWL-0201");
  EXPECT_TRUE(contains(refused.err, std::to_string(holder.pid())));
  EXPECT_EQ(ok({"restore", "r"}), "1") << "reading needs no lock";
  EXPECT_EQ(json({"list"}).size(), 1U);
  EXPECT_EQ(pawl({"fsck"}).status, 0);
  EXPECT_EQ(ok({"save", "another"}, "1"), "another@1\n") << "other runs are free";
  EXPECT_EQ(holder.finish(), 0);
  EXPECT_EQ(ok({"save", "r"}, "2"), "r@2\n");
}

TEST_F(Storage, AKilledWriterHoldsNothing) {
  ASSERT_EQ(save("r", "1").status, 0);
  Background holder(Command{.program = PAWL_HOLDER, .args = {store(), "r"}});
  ASSERT_EQ(holder.read_line(), "ready");
  EXPECT_EQ(holder.kill(), 128 + 9);
  EXPECT_EQ(ok({"save", "r"}, "2"), "r@2\n");
  EXPECT_EQ(ok({"restore", "r@1"}), "1");
  EXPECT_EQ(pawl({"fsck"}).status, 0);
}

TEST_F(Storage, AFolderThatMayNotBeWrittenIsTrouble) {
  std::filesystem::create_directory(path("locked"));
  ::chmod(path("locked").c_str(), 0555);
  Command call = command({"save", "r", "--store", path("locked/store").string()}, "1");
  call.unprivileged = true;
  expect_error(run(call), 5, "PAWL-0502");
  EXPECT_FALSE(std::filesystem::exists(path("locked/store")));
  ::chmod(path("locked").c_str(), 0755);
}

TEST_F(Storage, AReadOnlyStoreCanBeReadAndNotWritten) {
  ASSERT_EQ(save("r", "{\"kept\": 1}").status, 0);
  using std::filesystem::perms;
  constexpr perms kReadable = perms::owner_read | perms::group_read | perms::others_read;
  constexpr perms kEntered = perms::owner_exec | perms::group_exec | perms::others_exec;
  std::vector<std::filesystem::path> folders = {store()};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store())) {
    if (entry.is_directory())
      folders.push_back(entry.path());
    else
      std::filesystem::permissions(entry.path(), kReadable);
  }
  for (const auto& folder : folders) std::filesystem::permissions(folder, kReadable | kEntered);
  Command call = command({"save", "r"}, "2");
  call.unprivileged = true;
  expect_error(run(call), 5, "PAWL-0502");
  call.args = {"save", "fresh"};
  expect_error(run(call), 5, "PAWL-0502");
  call.args = {"restore", "r"};
  EXPECT_EQ(run(call).out, "{\"kept\": 1}");
  call.args = {"show", "r"};
  EXPECT_EQ(run(call).status, 0);
  call.args = {"list"};
  const Finished listed = run(call);
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_TRUE(contains(listed.out, "\nr "));
  for (const auto& folder : folders) std::filesystem::permissions(folder, perms::owner_all);
}

/// Limits the space for the store: a small disk if mounting is allowed, otherwise a limit on file sizes.
class FullDisk : public E2e {
 protected:
  FullDisk() {
    std::filesystem::create_directory(path("disk"));
    mounted_ = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("pawl", path("disk").c_str(), "tmpfs", 0, "size=6m") == 0;
  }
  ~FullDisk() override {
    if (mounted_) ::umount2(path("disk").c_str(), MNT_DETACH);
  }
  [[nodiscard]] Finished on_disk(std::vector<std::string> args, std::string input = "", rlim_t bytes_max = 0) const {
    Command call = command(std::move(args), std::move(input));
    call.environment["PAWL_STORE"] = path("disk/store").string();
    if (bytes_max != 0) call.file_bytes_max = bytes_max;
    return run(call);
  }
  [[nodiscard]] static std::string state(int number) {
    return fmt::format("{{\"text\": {}}}\n", noise(static_cast<std::uint64_t>(number), 150'000));
  }
  bool mounted_ = false;
};

TEST_F(FullDisk, SavesFailAsStorageTroubleAndNothingIsLost) {
  RecordProperty("disk", mounted_ ? "tmpfs of 6 MB" : "RLIMIT_FSIZE");
  write_bytes(path("disk/ballast"), std::string(500'000, 'b'));
  const rlim_t limit = mounted_ ? 0 : 300'000;
  int saved = 0;
  Finished failed;
  for (int i = 1; i <= 400; ++i) {
    failed = on_disk({"save", "r"}, state(i), i <= 5 ? 0 : limit);
    if (failed.status != 0) break;
    ASSERT_EQ(failed.out, "r@" + std::to_string(i) + "\n");
    saved = i;
  }
  ASSERT_GT(saved, 0);
  expect_error(failed, 5, mounted_ ? "PAWL-0501" : "PAWL-0504");
  expect_error(on_disk({"save", "fresh"}, state(9999), limit), 5, mounted_ ? "PAWL-0501" : "PAWL-0504");
  const auto everything_is_there = [&] {
    for (int i = 1; i <= saved; ++i) {
      ASSERT_TRUE(on_disk({"restore", "r@" + std::to_string(i)}).out == state(i)) << i;
    }
  };
  everything_is_there();
  // A readable file may be truncated while the journal still contains the rest.
  EXPECT_FALSE(contains(on_disk({"fsck", "--json"}).out, R"("severity":"damage")"));
  EXPECT_EQ(on_disk({"restore", "r"}).out, state(saved)) << "what failed is not there";
  EXPECT_EQ(on_disk({"list"}).status, 0);

  std::filesystem::remove(path("disk/ballast"));
  EXPECT_EQ(on_disk({"save", "r"}, "\"there is space again\"").out, "r@" + std::to_string(saved + 1) + "\n");
  EXPECT_EQ(on_disk({"restore", "r"}).out, "\"there is space again\"");
  everything_is_there();
  const bool grown = !mounted_ || ::mount("pawl", path("disk").c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0;
  ASSERT_TRUE(grown);
  EXPECT_EQ(on_disk({"fsck", "--repair"}).status, 0);
  EXPECT_EQ(on_disk({"fsck"}).status, 0) << on_disk({"fsck"}).out;
}

TEST_F(FullDisk, AStoreThatCannotBeMadeIsStorageTrouble) {
  Finished failed;
  if (mounted_) {
    write_bytes(path("disk/ballast"), std::string(6U << 20, 'b'));
    failed = on_disk({"save", "r"}, "1");
  } else {
    failed = on_disk({"save", "r"}, "1", 1000);
  }
  expect_error(failed, 5, mounted_ ? "PAWL-0501" : "PAWL-0504");
  std::filesystem::remove(path("disk/ballast"));
  EXPECT_EQ(on_disk({"save", "r"}, "1").out, "r@1\n") << "a half-made store is finished by the next save";
  EXPECT_EQ(on_disk({"fsck"}).status, 0);
}

TEST_F(Storage, ALimitOnTheSizeOfFilesIsStorageTrouble) {
  ASSERT_EQ(save("r", "1").status, 0);
  Command call = command({"save", "r"}, noise(1, 100'000));
  call.file_bytes_max = 4096;
  expect_error(run(call), 5, "PAWL-0504");
  EXPECT_EQ(ok({"restore", "r"}), "1");
  EXPECT_EQ(ok({"save", "r"}, "2"), "r@2\n");
  EXPECT_EQ(ok({"restore", "r@1"}), "1");
  EXPECT_EQ(pawl({"fsck"}).status, 0) << pawl({"fsck"}).out;
}

}  // namespace
}  // namespace pawl::e2e
