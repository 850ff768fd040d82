#include "domain/retention.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl {
namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;
constexpr Timestamp kNow{100 * kDayUs};

struct Row {
  const char* stage;
  const char* name;
  std::int64_t days_old;
};

std::vector<CheckpointInfo> history(const std::vector<Row>& rows) {
  std::vector<CheckpointInfo> all;
  for (const Row& row : rows) {
    CheckpointInfo info;
    info.sequence.value = all.size() + 1;
    info.stage = row.stage;
    info.name = row.name;
    info.created.us = kNow.us - row.days_old * kDayUs;
    all.push_back(info);
  }
  return all;
}

std::vector<std::uint64_t> dropped(const std::vector<CheckpointInfo>& all, const RetentionSettings& settings) {
  RetentionCandidates candidates;
  for (const CheckpointInfo& info : all) candidates.add(info);
  std::vector<std::uint64_t> numbers;
  for (const Sequence sequence : judge_checkpoints(candidates, settings, kNow).dropped)
    numbers.push_back(sequence.value);
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

struct RetentionCase {
  const char* name;
  std::vector<Row> rows;
  RetentionSettings settings;
  Numbers expected;
};

void PrintTo(const RetentionCase& one, std::ostream* out) { *out << one.name; }

class Retention : public ::testing::TestWithParam<RetentionCase> {};

TEST_P(Retention, DropsExactlyThese) {
  EXPECT_EQ(dropped(history(GetParam().rows), GetParam().settings), GetParam().expected);
}

const std::vector<Row> kFive = {{"", "", 9}, {"", "", 8}, {"", "", 5}, {"", "", 2}, {"", "", 1}};
const std::vector<Row> kStaged = {{"a", "", 9}, {"b", "", 8}, {"a", "", 7}, {"", "", 6},
                                  {"a", "", 5}, {"b", "", 4}, {"", "", 3}};

INSTANTIATE_TEST_SUITE_P(
    Of, Retention,
    ::testing::Values(
        RetentionCase{"nothing_without_a_limit", kFive, {}, {}},
        RetentionCase{"nothing_of_an_empty_run", {}, {.keep = 1, .keep_days = {}, .keep_per_stage = {}}, {}},
        RetentionCase{"beyond_the_newest", kFive, {.keep = 2, .keep_days = {}, .keep_per_stage = {}}, {1, 2, 3}},
        RetentionCase{"nothing_where_there_are_fewer", kFive, {.keep = 5, .keep_days = {}, .keep_per_stage = {}}, {}},
        RetentionCase{
            "never_the_last_by_count", kFive, {.keep = 0, .keep_days = {}, .keep_per_stage = {}}, {1, 2, 3, 4}},
        RetentionCase{"older_ones", kFive, {.keep = {}, .keep_days = 5, .keep_per_stage = {}}, {1, 2}},
        RetentionCase{"never_the_last_by_age", kFive, {.keep = {}, .keep_days = 0, .keep_per_stage = {}}, {1, 2, 3, 4}},
        RetentionCase{"nothing_by_an_age_beyond_all_time",
                      kFive,
                      {.keep = {}, .keep_days = UINT64_MAX, .keep_per_stage = {}},
                      {}},
        RetentionCase{"any_limit_is_enough", kFive, {.keep = 4, .keep_days = 6, .keep_per_stage = {}}, {1, 2}},
        RetentionCase{
            "beyond_the_newest_of_each_stage", kStaged, {.keep = {}, .keep_days = {}, .keep_per_stage = 1}, {1, 2, 3}},
        RetentionCase{"all_of_each_stage_but_the_last",
                      kStaged,
                      {.keep = {}, .keep_days = {}, .keep_per_stage = 0},
                      {1, 2, 3, 5, 6}},
        RetentionCase{"no_stage_end_if_these_are_kept",
                      kStaged,
                      {.keep = 1, .keep_days = {}, .keep_per_stage = {}, .keep_stage_ends = true},
                      {1, 2, 3, 4}},
        RetentionCase{"stage_ends_by_age_all_the_same",
                      kStaged,
                      {.keep = {}, .keep_days = 4, .keep_per_stage = {}, .keep_stage_ends = true},
                      {1, 2, 3, 4, 5}},
        RetentionCase{"never_a_named_one",
                      {{"a", "before", 9}, {"a", "", 8}, {"a", "x", 7}, {"a", "", 1}},
                      {.keep = 1, .keep_days = 2, .keep_per_stage = 1},
                      {2}},
        RetentionCase{"named_ones_count_among_the_newest",
                      {{"", "", 4}, {"", "", 3}, {"", "x", 2}, {"", "", 1}},
                      {.keep = 2, .keep_days = {}, .keep_per_stage = {}},
                      {1, 2}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Retention, DroppingTwiceDropsNothingMore) {
  const RetentionSettings settings{.keep = 3, .keep_days = 7, .keep_per_stage = 1};
  std::vector<CheckpointInfo> all = history(kStaged);
  const Numbers first = dropped(all, settings);
  EXPECT_FALSE(first.empty());
  std::erase_if(all,
                [&](const CheckpointInfo& info) { return std::ranges::binary_search(first, info.sequence.value); });
  EXPECT_TRUE(dropped(all, settings).empty());
}

TEST(RetentionOfSeveralLabels, CountsEachStageOfACheckpoint) {
  const RetentionSettings newest{.keep = 1, .keep_days = {}, .keep_per_stage = {}};
  const RetentionSettings ends{.keep = 1, .keep_days = {}, .keep_per_stage = {}, .keep_stage_ends = true};
  const RetentionSettings per_stage{.keep = {}, .keep_days = {}, .keep_per_stage = 1};
  std::vector<CheckpointInfo> all = history({{"a", "", 0}, {"a", "", 0}, {"a", "", 0}, {"c", "", 0}, {"", "", 0}});
  all[1].also = {{.kind = Kind::stage_complete, .stage = "b"}};
  EXPECT_EQ(dropped(all, newest), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(dropped(all, ends), (Numbers{1})) << "2 is the newest of stage b";
  EXPECT_EQ(dropped(all, per_stage), (Numbers{1})) << "2 is the newest of stage b";
  all[3].also = {{.stage = "b"}};
  EXPECT_EQ(dropped(all, per_stage), (Numbers{1, 2}));
  EXPECT_EQ(dropped(all, ends), (Numbers{1})) << "2 completes stage b";
  all[1].also[0].kind = Kind::step_complete;
  EXPECT_EQ(dropped(all, ends), (Numbers{1, 2}));
}

TEST(RetentionOfSeveralLabels, CountsAStageOnce) {
  std::vector<CheckpointInfo> all = history({{"a", "", 0}, {"a", "", 0}, {"", "", 0}});
  all[1].also = {{.stage = "a", .step = "x"}, {.stage = "a", .step = "y"}};
  EXPECT_EQ(dropped(all, {.keep = {}, .keep_days = {}, .keep_per_stage = 2}), Numbers());
}

}  // namespace
}  // namespace pawl
