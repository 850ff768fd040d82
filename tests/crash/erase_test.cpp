// Erasing and removing with kill -9, power loss and failing calls at every op. A run is either complete or erased. The
// next process finishes an interrupted erasure, and then nothing is left, neither in the page cache nor on the disk.
#include <gtest/gtest.h>

#include <iostream>
#include <tuple>

#include "testing/checking_file_system.hpp"
#include "testing/filesystem_under_test.hpp"
#include "tests/crash/erase_world.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kSchedules = 400;

/// Odd seeds use unencrypted stores, even seeds encrypted ones.
class EraseCrash : public ::testing::TestWithParam<std::tuple<std::uint64_t, Remains>> {};

TEST_P(EraseCrash, AtEveryOpTheRunIsWholeOrErasedAndIsFinishedLater) {
  EraseWorld world(std::get<0>(GetParam()), {}, std::get<1>(GetParam()));
  world.fill();
  ASSERT_FALSE(world.violation()) << *world.violation();
  ASSERT_NE(world.find_remains(), "") << "nothing is there that could be erased";
  const auto before = world.disk_copy();
  const std::uint64_t ops = world.ops_of_erasure();
  for (std::uint64_t op = 1; op <= ops; ++op) {
    const std::pair<Cut, Loss> ways[] = {{Cut::kill, Loss::keep_all},
                                         {Cut::power, Loss::drop_all},
                                         {Cut::power, Loss::random},
                                         {Cut::power, Loss::keep_all}};
    for (const auto& [cut, loss] : ways) {
      world.use(before->copy());
      world.erase(cut, op, loss);
      world.verify("after the cut");
      world.finish(static_cast<FinishBy>(op % 3));
      world.verify_finished("when it is finished");
      world.power_loss(Loss::drop_all);
      world.verify_finished("on the disk");
      ASSERT_FALSE(world.violation()) << "op " << op << " of " << ops << ", loss " << static_cast<int>(loss) << ": "
                                      << *world.violation();
    }
  }
  std::cout << fmt::format("{} ops\n", ops);
}

TEST_P(EraseCrash, AfterAnyFailingCallItIsFinishedByTheNextErase) {
  EraseWorld world(std::get<0>(GetParam()), {}, std::get<1>(GetParam()));
  world.fill();
  const auto before = world.disk_copy();
  for (const Fault::What what : {Fault::eio, Fault::enospc, Fault::sync_fails}) {
    for (std::uint64_t nth = 1;; ++nth) {
      world.use(before->copy());
      const bool reached = world.erase_with_fault({.what = what, .nth = nth, .persistent = false});
      world.verify("after the failure");
      world.finish(FinishBy::erase);
      world.verify_finished("when it is finished");
      world.power_loss(Loss::drop_all);
      world.verify_finished("on the disk");
      ASSERT_FALSE(world.violation()) << "fault " << static_cast<int>(what) << " at call " << nth << ": "
                                      << *world.violation();
      if (!reached) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Store, EraseCrash,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values(Remains::trail, Remains::tombstone)));

TEST(EraseSchedules, NothingIsLeftAndNothingElseIsLost) {
  for (std::uint64_t seed = 1; seed <= kSchedules; ++seed) {
    EraseWorld world(seed, {}, seed % 3 == 0 ? Remains::tombstone : Remains::trail);
    const auto violation = world.run();
    ASSERT_FALSE(violation) << "seed " << seed << ": " << *violation;
  }
}

/// An eraser makes a note, and then the mark. If another process removed the note in between, and the eraser was killed
/// later, nobody would know that the erasure must be finished.
TEST(EraseNotes, StayWhileSomebodyHoldsTheRun) {
  SimDisk disk(7);
  SimFileSystem one(disk);
  SimFileSystem two(disk);
  ManualClock clock;
  SeededRandom random(7);
  const auto open = [&](SimFileSystem& files, std::uint64_t pid) {
    return FilesystemStore::open(files, {&clock, &random, sim_owner(disk.boot_id(), pid)},
                                 packed_options(small_options(), StateFormat::json))
        .value();
  };
  const auto eraser = open(one, 1);
  auto held = eraser->open_run(*RunId::parse("r"), {});
  ASSERT_TRUE(held.has_value());
  ASSERT_TRUE((*held)->save({.body = "{}"}).has_value());
  ASSERT_TRUE(one.make_folder("erasing").has_value());
  ASSERT_TRUE(one.open("erasing/r", OpenMode::create).has_value());
  const auto let_other_finish = [&](const char* run) {
    const auto other = open(two, 2);  // finishes erasures when it begins to write, and when it closes
    ASSERT_TRUE((*other->open_run(*RunId::parse(run), {}))->save({.body = "{}"}).has_value());
  };
  let_other_finish("a");
  EXPECT_TRUE(one.exists("erasing/r").value());
  held->reset();
  let_other_finish("b");
  EXPECT_FALSE(one.exists("erasing/r").value()) << "nobody holds the run, and it has no mark";
}

/// Overwritten files are synced before they are removed; otherwise the kernel may drop the zeros with the file.
class EraseOrder : public ::testing::TestWithParam<Remains> {};

TEST_P(EraseOrder, ZerosAreDurableBeforeANameGoes) {
  SimDisk disk(5);
  SimFileSystem sim(disk);
  CheckingFileSystem files(sim);
  ManualClock clock;
  SeededRandom random(5);
  const Environment environment{&clock, &random, sim_owner(disk.boot_id(), 1)};
  auto store = FilesystemStore::open(files, environment, packed_options(small_options(), StateFormat::json));
  ASSERT_TRUE(store.has_value());
  {
    const auto writer = (*store)->open_run(*RunId::parse("r"), {});
    ASSERT_TRUE(writer.has_value());
    for (int i = 0; i < 30; ++i) {
      SaveRequest request;
      const std::string body =
          fmt::format("{{\"n\":{},\"pad\":\"{}\"}}", i, std::string(static_cast<std::size_t>(i) * 120, 'p'));
      request.body = body;
      ASSERT_TRUE((*writer)->save(request).has_value());
    }
  }
  ASSERT_TRUE((*store)->settle_all().has_value());
  files.clear();
  ASSERT_TRUE((*store)
                  ->erase(*RunId::parse("r"), {.reason = "x", .by = {}, .cascade = Cascade::no, .remains = GetParam()})
                  .has_value());
  std::set<std::string> wiped;
  std::size_t removed = 0;
  bool marked = false;
  for (const LoggedOp& op : files.changes()) {
    if (op.what == LoggedOp::What::sync_folder && op.point == SyncPoint::erased_mark_name && op.path == "runs/r")
      marked = true;
    if (op.what == LoggedOp::What::sync && op.point == SyncPoint::erased_bytes) wiped.insert(op.path);
    if (op.what == LoggedOp::What::sync_all && op.point == SyncPoint::erased_bytes)
      FAIL() << "the test looks at single syncs";
    const bool destroys = op.what == LoggedOp::What::write && op.path.starts_with("runs/r/checkpoints");
    EXPECT_TRUE(marked || !destroys) << "destroyed before the mark is durable: " << op.text();
    const bool file =
        op.path.ends_with(".json") || op.path.ends_with(".jsonl") || op.path.find("/blobs/") != std::string::npos;
    if (op.what != LoggedOp::What::remove || !op.path.starts_with("runs/r/") || !file) continue;
    EXPECT_TRUE(wiped.contains(op.path)) << op.text();
    ++removed;
  }
  EXPECT_GT(removed, 5U);
}

INSTANTIATE_TEST_SUITE_P(Store, EraseOrder, ::testing::Values(Remains::trail, Remains::tombstone));

}  // namespace
}  // namespace pawl::testing
