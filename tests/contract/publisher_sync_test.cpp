// What a publisher does if a run is removed while its files are being synced.
#include <gtest/gtest.h>

#include "adapters/filesystem/publisher.hpp"
#include "testing/manual_environment.hpp"
#include "testing/sim_file_system.hpp"

namespace pawl {
namespace {

class PublisherSync : public ::testing::Test {
 protected:
  PublisherSync() { EXPECT_TRUE(disk_files_.make_folder("runs")); }
  Result<bool> publish(std::string_view run) {
    RunBatch batch;
    batch.run = "a record\n";
    return publisher_.publish(run, batch, Publish::settled);
  }

  testing::SimDisk disk_{1};
  testing::SimFileSystem disk_files_{disk_};
  testing::ManualClock clock_;
  testing::SeededRandom random_{1};
  Publisher publisher_{disk_files_, Environment{&clock_, &random_, testing::sim_owner(disk_.boot_id(), 1)}, {}};
};

TEST_F(PublisherSync, PassesOverTheFolderOfARunThatWasRemovedMeanwhile) {
  ASSERT_TRUE(publish("a"));
  ASSERT_TRUE(publish("b"));
  for (const char* file : {"runs/b/run.json", "runs/b/lock", "runs/b/checkpoints", "runs/b/audit", "runs/b"})
    ASSERT_TRUE(disk_files_.remove(file)) << file;
  const auto synced = publisher_.sync();
  EXPECT_TRUE(synced) << synced.error().message;
  EXPECT_EQ(disk_files_.read_file("runs/a/run.json").value(), "a record\n");
}

TEST_F(PublisherSync, ReportsAFolderThatExistsAndCanNotBeSynced) {
  ASSERT_TRUE(publish("a"));
  disk_files_.inject({.what = testing::Fault::sync_fails, .nth = 1, .persistent = true});
  EXPECT_FALSE(publisher_.sync());
}

}  // namespace
}  // namespace pawl
