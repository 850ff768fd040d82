// The contract of the ResultCache port, and what its files must withstand.
#include "ports/result_cache.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "adapters/filesystem/filesystem_result_cache.hpp"
#include "testing/filesystem_under_test.hpp"
#include "testing/manual_environment.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

CachedResult result_of(std::string_view run, std::int64_t at_us = 1'768'141'800'000'000) {
  return {
      .run = *RunId::parse(run), .uuid = Uuid{{1, 2, 3}}, .sequence = Sequence{4}, .event = 5, .at = Timestamp{at_us}};
}

std::string key_of(std::size_t number) { return fmt::format("{:064x}", number); }

bool are_equal(const CachedResult& a, const CachedResult& b) {
  return a.run == b.run && a.uuid == b.uuid && a.sequence == b.sequence && a.event == b.event && a.at == b.at;
}

void check_contract(ResultCache& cache, ResultCache& other) {
  EXPECT_FALSE(*cache.find(key_of(1)));
  ASSERT_TRUE(cache.put(key_of(1), result_of("one")).has_value());
  ASSERT_TRUE(other.find(key_of(1))->has_value());
  EXPECT_TRUE(are_equal(**other.find(key_of(1)), result_of("one")));
  EXPECT_FALSE(*cache.find(key_of(2)));
  ASSERT_TRUE(other.put(key_of(1), result_of("two")).has_value());
  EXPECT_EQ((**cache.find(key_of(1))).run.text(), "two");
  ASSERT_TRUE(cache.forget(key_of(1)).has_value());
  ASSERT_TRUE(cache.forget(key_of(1)).has_value());
  EXPECT_FALSE(*other.find(key_of(1)));
}

TEST(ResultCacheContract, Memory) {
  MemoryUnderTest memory;
  const auto store = memory.open();
  check_contract(*store->result_cache(), *memory.open()->result_cache());
}

class FolderResultCache : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& key) const {
    return folder_.path() + "/cache/" + key.substr(0, 2) + "/" + key.substr(2) + ".json";
  }
  [[nodiscard]] std::size_t entries() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() + "/cache"))
      count += entry.is_regular_file() ? 1U : 0U;
    return count;
  }

  TemporaryFolder folder_;
  SeededRandom random_{1};
  std::unique_ptr<FileSystem> files_ = *PosixFileSystem::open(folder_.path());
  std::unique_ptr<ResultCache> cache_ = make_filesystem_result_cache(*files_, random_);
};

TEST_F(FolderResultCache, Contract) { check_contract(*cache_, *make_filesystem_result_cache(*files_, random_)); }

TEST_F(FolderResultCache, ADamagedEntryIsMissingWhateverIsInIt) {
  ASSERT_TRUE(cache_->put(key_of(1), result_of("one")).has_value());
  std::ifstream file(path(key_of(1)), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(path(key_of(1)), std::ios::binary | std::ios::trunc) << damaged;
    const auto found = cache_->find(key_of(1));
    ASSERT_TRUE(found.has_value());
    EXPECT_FALSE(found->has_value()) << at;
  }
  std::ofstream(path(key_of(1)), std::ios::binary | std::ios::trunc) << std::string(10'000, 'x');
  EXPECT_FALSE(*cache_->find(key_of(1)));
}

TEST_F(FolderResultCache, AnEntryThatWasCopiedToAnotherKeyIsMissing) {
  ASSERT_TRUE(cache_->put(key_of(1), result_of("one")).has_value());
  std::filesystem::copy_file(path(key_of(1)), path(key_of(2)));
  EXPECT_FALSE(*cache_->find(key_of(2)));
}

TEST_F(FolderResultCache, AKeyNeverBecomesAnotherPath) {
  EXPECT_FALSE(*cache_->find("../../store.json"));
  EXPECT_FALSE(cache_->put("../x", result_of("one")).has_value());
  EXPECT_TRUE(cache_->forget("../x").has_value());
}

TEST_F(FolderResultCache, TheOldestEntriesAreRemoved) {
  const std::size_t count = kCacheFolderEntriesMax * 2;  // all in one folder
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(cache_->put(key_of(i), result_of("r", static_cast<std::int64_t>(i) * 1'000'000)).has_value());
  EXPECT_LE(entries(), kCacheFolderEntriesMax + 100);
  EXPECT_GE(entries(), kCacheFolderEntriesMax / 2);
  EXPECT_TRUE(*cache_->find(key_of(count - 1)));
  EXPECT_FALSE(*cache_->find(key_of(0)));
}

TEST_F(FolderResultCache, TheStoreCountsItsBytesAndIsIntact) {
  FilesystemUnderTest place(small_options());
  const auto store = place.open();
  ASSERT_TRUE((*store->open_run(*RunId::parse("r"), {}))->save({.body = "1"}).has_value());
  const std::uint64_t before = *store->shared_bytes();
  ASSERT_TRUE(store->result_cache()->put(key_of(1), result_of("r")).has_value());
  const LimitDefinition limit{.name = "api", .per_minute = 60, .parallel = 8};
  ASSERT_TRUE(store->limits()->try_take(std::span(&limit, 1), Timestamp{1}).has_value());
  EXPECT_GT(*store->shared_bytes(), before);
  const auto report = store->check({}, Repair::no);
  ASSERT_TRUE(report.has_value());
  for (const Finding& finding : report->findings) EXPECT_EQ(finding.severity, Finding::Severity::note) << finding.what;
}

}  // namespace
}  // namespace pawl::testing
