#include "engine/cached_results.hpp"

#include <gtest/gtest.h>

#include "domain/event_types.hpp"
#include "domain/run_state.hpp"
#include "engine/save.hpp"
#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kCachedBytesMax = 100'000;
constexpr Milliseconds kHour{3'600'000};

class CachedResults : public ::testing::Test {
 protected:
  /// Saves a run in which `lint` has completed, and puts its result under "key".
  void complete(const std::string& run, const Json& data, const Json& inline_output = {}) {
    RunState state;
    StepRecord record;
    record.status = StepStatus::completed;
    record.output = inline_output;
    state.steps.emplace_back("lint", record);
    Json value = state.to_json();
    value["events"] = 1;
    const std::string text = compact(value);
    SaveRequest request;
    request.body = text;
    request.events.push_back({event_type::kStepCompleted, compact(data)});
    const RunId id = *RunId::parse(run);
    const auto writer = store_->open_run(id, {});
    const auto saved = checked_save(**writer, request, kCachedBytesMax);
    ASSERT_TRUE(saved.has_value());
    put_ = {.run = id, .uuid = (*writer)->info().uuid, .sequence = saved->sequence, .event = 1, .at = now()};
    ASSERT_TRUE(cache_->put(hash_, put_).has_value());
  }
  [[nodiscard]] Timestamp now() { return memory_.clock().now(); }
  [[nodiscard]] std::optional<CacheHit> find(std::optional<Milliseconds> ttl = {}) {
    return find_cached(*store_, *cache_, "key", now(), ttl);
  }
  [[nodiscard]] Json completed(Json more = Json::object()) const {
    more["step"] = "lint";
    more["cache_key"] = hash_;
    return more;
  }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
  std::unique_ptr<ResultCache> cache_ = store_->result_cache();
  const std::string hash_ = cache_key_hash("key");
  CachedResult put_ = {.run = *RunId::parse("none")};
};

TEST_F(CachedResults, AnOutputOfTheEventIsFoundWithItsAddress) {
  complete("r", completed({{"output", {1, 2}}}));
  const auto hit = find();
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->output, Json({1, 2}));
  EXPECT_EQ(hit->address(), "r@1");
  EXPECT_FALSE(find_cached(*store_, *cache_, "another key", now(), {}));
}

TEST_F(CachedResults, ASmallOutputIsFoundInTheState) {
  complete("r", completed(), "small");
  const auto hit = find();
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->output, Json("small"));
}

TEST_F(CachedResults, AnOldResultIsMissingAndANewOneReplacesIt) {
  complete("r", completed({{"output", 1}}));
  memory_.clock().advance(3'600'000'000);
  EXPECT_TRUE(find(kHour));
  memory_.clock().advance(1'000);
  EXPECT_FALSE(find(kHour));
  EXPECT_TRUE(find()) << "without a limit it is still there";
  complete("s", completed({{"output", 2}}));
  EXPECT_EQ(find(kHour)->address(), "s@1");
}

TEST_F(CachedResults, AnEventOfAnotherKeyOrTypeIsNotBelieved) {
  complete("r", {{"step", "lint"}, {"cache_key", cache_key_hash("other")}, {"output", 1}});
  EXPECT_FALSE(find());
  complete("s", {{"step", "lint"}, {"output", 1}});
  EXPECT_FALSE(find());
  EXPECT_FALSE(*cache_->find(hash_)) << "it can never be used";
}

TEST_F(CachedResults, AnotherRunWithTheSameNameIsNotBelieved) {
  complete("r", completed({{"output", 1}}));
  put_.uuid.bytes[0] ^= 1;
  ASSERT_TRUE(cache_->put(hash_, put_).has_value());
  EXPECT_FALSE(find());
}

TEST_F(CachedResults, AWrongNumberIsNotBelieved) {
  complete("r", completed({{"output", 1}}));
  CachedResult wrong = put_;
  wrong.event = 7;
  ASSERT_TRUE(cache_->put(hash_, wrong).has_value());
  EXPECT_FALSE(find());
  wrong = put_;
  wrong.sequence = Sequence{9};
  ASSERT_TRUE(cache_->put(hash_, wrong).has_value());
  EXPECT_FALSE(find());
}

TEST_F(CachedResults, AnErasedRunIsMissing) {
  complete("r", completed({{"output", 1}}));
  ASSERT_TRUE(store_->erase(put_.run, {.reason = "asked"}).has_value());
  EXPECT_FALSE(find());
}

TEST_F(CachedResults, APrunedCheckpointIsMissing) {
  complete("r", completed({{"output", 1}}));
  {
    const auto writer = store_->open_run(put_.run, {});
    for (int i = 0; i < 3; ++i) {
      SaveRequest request;
      request.body = "{}";
      request.duplicates = Duplicates::write;
      ASSERT_TRUE((*writer)->save(request).has_value());
    }
  }
  RetentionSettings settings;
  settings.keep = 1;
  const auto pruned = store_->prune(put_.run, settings, PruneMode::remove);
  ASSERT_TRUE(pruned.has_value());
  ASSERT_FALSE(pruned->dropped.empty());
  EXPECT_FALSE(find());
}

}  // namespace
}  // namespace pawl::testing
