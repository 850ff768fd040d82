#include "adapters/posix/posix_file_system.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "adapters/posix/posix_error.hpp"

namespace pawl {
namespace {

class PosixFileSystemTest : public ::testing::Test {
 protected:
  PosixFileSystemTest() {
    std::string path = (std::filesystem::temp_directory_path() / "pawl_posix_XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    auto opened = PosixFileSystem::open(root_);
    EXPECT_TRUE(opened.has_value());
    fs_ = std::move(*opened);
  }
  ~PosixFileSystemTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<File> open(std::string_view path, OpenMode mode) {
    auto file = fs_->open(path, mode);
    EXPECT_TRUE(file.has_value()) << describe(file.error());
    return std::move(*file);
  }
  void put(std::string_view path, std::string_view bytes) {
    ASSERT_TRUE(open(path, OpenMode::create_empty)->write_at(0, bytes).has_value());
  }

  std::string root_;
  std::unique_ptr<PosixFileSystem> fs_;
};

/// Runs `body` in a forked child. Returns its exit status, or 128 + the signal that killed it.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Converts an error code to an exit status of a child; 0 means success. Codes don't fit into a byte, so the expected
/// ones are numbered here.
template <class T>
int told_code(const Result<T>& result) {
  if (result) return 0;
  if (result.error().code == Code::permission_denied && result.error().os_error == EACCES) return 10;
  return 99;
}

TEST_F(PosixFileSystemTest, OpeningARootThatIsNotThereIsStoreNotFound) {
  const auto opened = PosixFileSystem::open(root_ + "/nothing");
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::store_not_found);
  EXPECT_EQ(opened.error().os_error, ENOENT);
  EXPECT_EQ(opened.error().where, root_ + "/nothing");
}

TEST_F(PosixFileSystemTest, ALargeFilesContentIsMappedAndOutlivesItsName) {
  const std::string large(300'000, 'x');
  put("large", large);
  put("small", "abc");
  put("empty", "");
  const auto files = PosixFileSystem::open(root_, 4096);
  ASSERT_TRUE(files.has_value());
  const auto content = (*files)->content("large", 1U << 20);
  ASSERT_TRUE(content.has_value());
  EXPECT_TRUE((*files)->remove("large").has_value());
  EXPECT_EQ(content->bytes, large);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(content->bytes.data()) % 4096, 0U) << "mapped, not copied";
  EXPECT_EQ((*files)->content("small", 10)->bytes, "abc");
  EXPECT_EQ((*files)->content("empty", 10)->bytes, "");
  EXPECT_EQ((*files)->content("small", 2).error().code, Code::store_damaged);
  EXPECT_EQ((*files)->content("large", 10).error().code, Code::input_unreadable);
}

TEST_F(PosixFileSystemTest, MakeRootMakesTheLastPartOnlyAndIsFineWithAnExistingOne) {
  EXPECT_TRUE(make_root(root_ + "/store/").has_value());
  EXPECT_TRUE(make_root(root_ + "/store").has_value());
  EXPECT_TRUE(PosixFileSystem::open(root_ + "/store").has_value());
  const auto deep = make_root(root_ + "/a/b");
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(deep.error().code, Code::store_not_found);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/a"));
}

TEST_F(PosixFileSystemTest, MakeRootRefusesAFileInItsPlace) {
  put("file", "x");
  const auto made = make_root(root_ + "/file");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().os_error, ENOTDIR);
  EXPECT_NE(made.error().hint.find("expected a folder, found a file"), std::string::npos);
}

TEST_F(PosixFileSystemTest, StaysInItsRootWhenThatIsRenamed) {
  const std::string moved = root_ + "_moved";
  put("a", "1");
  std::filesystem::rename(root_, moved);
  EXPECT_EQ(fs_->read_file("a").value(), "1");
  std::filesystem::rename(moved, root_);
}

TEST_F(PosixFileSystemTest, LinksAreNotFollowed) {
  put("target", "secret");
  std::filesystem::create_symlink("target", root_ + "/link");
  const auto opened = fs_->open("link", OpenMode::write);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Code::store_damaged);
  EXPECT_EQ(opened.error().os_error, ELOOP);
  EXPECT_FALSE(fs_->open("link", OpenMode::create_empty).has_value());
  EXPECT_EQ(fs_->read_file("target").value(), "secret");
  EXPECT_TRUE(fs_->exists("link").value());
}

TEST_F(PosixFileSystemTest, AFifoInAFilesPlaceIsRefusedWithoutBlocking) {
  ASSERT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  EXPECT_FALSE(fs_->open("fifo", OpenMode::read).has_value());
}

TEST_F(PosixFileSystemTest, APathOutOfTheRootIsADefect) {
  // The child opens the folder again: what its parent opened is refused there.
  const auto look = [&](const char* path) { static_cast<void>((*PosixFileSystem::open(root_))->exists(path)); };
  EXPECT_DEATH(look("../x"), "is_inside");
  EXPECT_DEATH(look("/etc"), "is_inside");
  EXPECT_DEATH(look("a/.."), "is_inside");
}

TEST_F(PosixFileSystemTest, LargeReadsEndAtTheEndOfTheFile) {
  const std::string bytes(3 << 20, 'x');
  put("big", bytes);
  auto file = open("big", OpenMode::read);
  EXPECT_EQ(file->read_at(0, 1ULL << 40).value().size(), bytes.size());
  EXPECT_EQ(file->read_at(bytes.size() - 5, 1ULL << 40).value(), "xxxxx");
  EXPECT_EQ(file->read_at(bytes.size() + 5, 1ULL << 40).value(), "");
}

TEST_F(PosixFileSystemTest, FilesAreNotInheritedByPrograms) {
  auto file = open("a", OpenMode::create);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry, error);
    if (error || !target.string().starts_with(root_)) continue;
    const int flags = ::fcntl(std::stoi(entry.path().filename()), F_GETFD);
    EXPECT_NE(flags & FD_CLOEXEC, 0) << target;
  }
  ASSERT_TRUE(file->try_lock(0).value());
  // The shell must not inherit our descriptors, because they would keep the lock.
  const std::string command = "ls -l /proc/self/fd | grep -q '" + root_ + "'";
  EXPECT_NE(std::system(command.c_str()), 0);
}

TEST_F(PosixFileSystemTest, ALockIsReleasedWhenItsProcessIsKilled) {
  auto file = open("lock", OpenMode::create);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto files = PosixFileSystem::open(root_);
    auto mine = (*files)->open("lock", OpenMode::write);
    const bool locked = mine && (*mine)->try_lock(7).value_or(false);
    const char answer = locked ? 'y' : 'n';
    static_cast<void>(!::write(ready[1], &answer, 1));
    for (;;) ::pause();
  }
  char answer = '?';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_TRUE(file->locked_elsewhere(7).value());
  EXPECT_FALSE(file->try_lock(7).value());
  EXPECT_TRUE(file->try_lock(8).value());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(file->locked_elsewhere(7).value());
  EXPECT_TRUE(file->try_lock(7).value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(PosixFileSystemTest, AFileOpenedForReadingCanProbeALockButNotTakeIt) {
  auto writer = open("lock", OpenMode::create);
  auto reader = open("lock", OpenMode::read);
  EXPECT_FALSE(reader->locked_elsewhere(0).value());
  ASSERT_TRUE(writer->try_lock(0).value());
  EXPECT_TRUE(reader->locked_elsewhere(0).value());
  EXPECT_FALSE(writer->locked_elsewhere(0).value());
  EXPECT_FALSE(reader->try_lock(1).has_value());
}

// Permission bits don't apply to root, so the child becomes "nobody" if it is root.
TEST_F(PosixFileSystemTest, AFolderWithoutWritePermissionIsPermissionDenied) {
  ASSERT_TRUE(fs_->make_folder("locked").value());
  put("locked/old", "1");
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod((root_ + "/locked/old").c_str(), 0444), 0);
  ASSERT_EQ(::chmod((root_ + "/locked").c_str(), 0555), 0);
  const auto as_nobody = [&](const std::function<int(PosixFileSystem&)>& body) {
    return in_child([&] {
      const auto files = PosixFileSystem::open(root_);
      return ::getuid() == 0 && ::setuid(65534) != 0 ? 98 : body(**files);
    });
  };
  EXPECT_EQ(as_nobody([&](PosixFileSystem& files) { return told_code(files.open("locked/new", OpenMode::create)); }),
            10);
  EXPECT_EQ(as_nobody([&](PosixFileSystem& files) { return told_code(files.open("locked/old", OpenMode::write)); }),
            10);
  EXPECT_EQ(as_nobody([&](PosixFileSystem& files) { return told_code(files.open("locked/old", OpenMode::read)); }), 0);
  EXPECT_EQ(as_nobody([&](PosixFileSystem& files) { return told_code(files.rename("locked/old", "locked/new")); }), 10);
  EXPECT_EQ(as_nobody([&](PosixFileSystem& files) { return told_code(files.remove("locked/old")); }), 10);
  EXPECT_EQ(as_nobody([&](PosixFileSystem& files) { return told_code(files.make_folder("locked/folder")); }), 10);
  ASSERT_EQ(::chmod((root_ + "/locked").c_str(), 0755), 0);
  EXPECT_EQ(fs_->read_file("locked/old").value(), "1");
}

TEST_F(PosixFileSystemTest, AFileSizeLimitIsAFailedWriteWithThePartThatFitted) {
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 98;
    const auto files = PosixFileSystem::open(root_);
    auto file = (*files)->open("limited", OpenMode::create);
    if (!file) return 97;
    const auto written = (*file)->write_at(0, std::string(4000, 'x'));
    return !written && written.error().code == Code::write_failed && written.error().os_error == EFBIG ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fs_->read_file("limited").value().size(), 1000U);
}

TEST_F(PosixFileSystemTest, AFailingSyncIsOutcomeUnknown) {
  const auto synced = fs_->sync_folder("nothing", SyncPoint::blob_name);
  ASSERT_FALSE(synced.has_value());
  EXPECT_EQ(synced.error().code, Code::outcome_unknown);
  // No disk fails on request, but the kernel refuses to sync this kind of descriptor.
  PosixFile unsyncable(PosixFd(::open("/dev/null", O_RDWR | O_CLOEXEC)), "/dev/null",
                       std::make_shared<PosixSyncCounts>());
  const auto file_synced = unsyncable.sync(SyncPoint::blob);
  ASSERT_FALSE(file_synced.has_value());
  EXPECT_EQ(file_synced.error().code, Code::outcome_unknown);
}

TEST_F(PosixFileSystemTest, AFullDiskIsDiskFullWithAHint) {
  PosixFile full(PosixFd(::open("/dev/full", O_RDWR | O_CLOEXEC)), "/dev/full", std::make_shared<PosixSyncCounts>());
  const auto written = full.write_at(0, "x");
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::disk_full);
  EXPECT_EQ(written.error().message, "cannot write: No space left on device");
  EXPECT_EQ(written.error().where, "/dev/full");
  EXPECT_EQ(written.error().os_error, ENOSPC);
  EXPECT_FALSE(written.error().hint.empty());
}

TEST_F(PosixFileSystemTest, SyncsAreCountedByReason) {
  auto file = open("a", OpenMode::create);
  ASSERT_TRUE(file->sync(SyncPoint::journal_batch).has_value());
  ASSERT_TRUE(file->sync(SyncPoint::journal_batch).has_value());
  ASSERT_TRUE(fs_->sync_folder("", SyncPoint::side_name).has_value());
  ASSERT_TRUE(fs_->sync_all(SyncPoint::published_all).has_value());
  auto counts = fs_->sync_counts();
  EXPECT_EQ(counts[static_cast<std::size_t>(SyncPoint::journal_batch)], 2U);
  EXPECT_EQ(counts[static_cast<std::size_t>(SyncPoint::side_name)], 1U);
  EXPECT_EQ(counts[static_cast<std::size_t>(SyncPoint::published_all)], 1U);
  EXPECT_EQ(counts[static_cast<std::size_t>(SyncPoint::blob)], 0U);
}

TEST_F(PosixFileSystemTest, TellsTheFilesystemsTypeAndRoom) {
  const auto info = fs_->filesystem_info();
  ASSERT_TRUE(info.has_value());
  EXPECT_FALSE(info->type.empty());
  EXPECT_GT(info->free_bytes, 0U);
  EXPECT_FALSE(info->read_only);
}

TEST(PosixFilesystemInfo, NetworkFilesystemsAreKnownByTheirNumber) {
  EXPECT_EQ(classify_filesystem(0x6969, "nfs4").place, FilesystemPlace::network);
  EXPECT_EQ(classify_filesystem(0xFF534D42, "cifs").place, FilesystemPlace::network);
  EXPECT_EQ(classify_filesystem(0xFE534D42, "smb3").place, FilesystemPlace::network);
  EXPECT_EQ(classify_filesystem(0x01021997, "9p").place, FilesystemPlace::network);
  EXPECT_EQ(classify_filesystem(0x5346414F, "afs").place, FilesystemPlace::network);
  EXPECT_EQ(classify_filesystem(0x00C36400, "ceph").place, FilesystemPlace::network);
  EXPECT_EQ(classify_filesystem(0xEF53, "ext4").place, FilesystemPlace::local);
  EXPECT_EQ(classify_filesystem(0xEF53, "").type, "ext4");
  EXPECT_EQ(classify_filesystem(0x12345, "").type, "0x12345");
}

TEST(PosixFilesystemInfo, WhatIsNotKnownToBeLocalIsUnknown) {
  for (const std::string_view type : {"fuse.sshfs", "fuse.glusterfs", "fuseblk", "fuse.something", "virtiofs", ""})
    EXPECT_EQ(classify_filesystem(0x65735546, type).place, FilesystemPlace::unknown) << type;
  EXPECT_EQ(classify_filesystem(0x12345, "newfs").place, FilesystemPlace::unknown);
  EXPECT_EQ(classify_filesystem(0x12345, "newfs").type, "newfs");
  EXPECT_EQ(classify_filesystem(0x65735546, "fuse.sshfs").type, "fuse.sshfs");
  EXPECT_EQ(classify_filesystem(0x65735546, "").type, "fuse");
}

TEST(PosixFilesystemInfo, TheMountIsFoundByItsDevice) {
  const std::string_view text =
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "broken line\n"
      "40 22 0:35 / /mnt/a\\0400:36 rw shared:2 - fuse.sshfs me@host: rw\n"
      "41 22 0:36 / /mnt/b rw - nfs4 host:/x rw";
  EXPECT_EQ(mount_type_in(text, 254, 0), "ext4");
  EXPECT_EQ(mount_type_in(text, 0, 35), "fuse.sshfs");
  EXPECT_EQ(mount_type_in(text, 0, 36), "nfs4");
  EXPECT_EQ(mount_type_in(text, 9, 9), "");
  EXPECT_EQ(mount_type_in("", 0, 1), "");
}

TEST(PosixError, CodesFollowTheErrnoAndTheCall) {
  const auto code = [](PosixCall call, int os_error) { return posix_error(call, os_error, "x").code; };
  EXPECT_EQ(code(PosixCall::write, EDQUOT), Code::disk_full);
  EXPECT_EQ(code(PosixCall::rename, ENOSPC), Code::disk_full);
  EXPECT_EQ(code(PosixCall::rename, EXDEV), Code::rename_failed);
  EXPECT_EQ(code(PosixCall::open_created, EROFS), Code::permission_denied);
  EXPECT_EQ(code(PosixCall::open_existing, ENOENT), Code::input_unreadable);
  EXPECT_EQ(code(PosixCall::open_created, ENOENT), Code::write_failed);
  EXPECT_EQ(code(PosixCall::read, EIO), Code::read_failed);
  EXPECT_EQ(code(PosixCall::write, EIO), Code::write_failed);
  EXPECT_EQ(code(PosixCall::sync, ENOSPC), Code::outcome_unknown);
}

}  // namespace
}  // namespace pawl
