// Large events, and large numbers of events.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/save.hpp"
#include "testing/filesystem_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kStateBytesMax = 1ULL << 20;

RunId events_run(std::string_view name) { return *RunId::parse(name); }
std::string text_of_size(std::size_t bytes, char letter) {
  std::string text(bytes, letter);
  text.front() = text.back() = '"';
  return text;
}

std::string files_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class FilesystemEvents : public ::testing::TestWithParam<Background> {
 protected:
  FilesystemEvents() : place_(options()) {}
  static FilesystemOptions options() {
    FilesystemOptions options;
    options.background = GetParam();
    return options;
  }
  FilesystemUnderTest place_;
};

/// This event is larger than a segment of the journal.
TEST_P(FilesystemEvents, OfSevenMiBAreKeptAndChecked) {
  constexpr std::size_t kBytes = 7U << 20;
  {
    const auto store = place_.open();
    const auto writer = store->open_run(events_run("r"), {});
    for (int i = 1; i <= 6; ++i) {
      const std::string state = fmt::format("[{}]", i);
      SaveRequest request{.body = state, .events = {{"small", std::to_string(i)}}};
      if (i % 2 == 0) request.events.push_back({"large", text_of_size(kBytes, static_cast<char>('a' + i))});
      const auto saved = checked_save(**writer, request, kStateBytesMax);
      ASSERT_TRUE(saved) << describe(saved.error());
    }
    EXPECT_EQ(place_.open()->events(events_run("r"), 0, 100)->size(), 9U) << "as another process sees it";
  }
  for (const bool settled : {false, true}) {
    const auto store = place_.open();
    const auto events = store->events(events_run("r"), 0, 100);
    ASSERT_TRUE(events) << describe(events.error());
    ASSERT_EQ(events->size(), 9U);
    EXPECT_EQ((*events)[2].data, text_of_size(kBytes, 'c'));
    EXPECT_EQ((*events)[8].data, text_of_size(kBytes, 'g'));
    EXPECT_EQ(store->restore(events_run("r"), {})->state, "[6]");
    const auto report = store->check({}, Repair::no);
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->damaged()) << report->findings[0].what;
    if (settled) break;
    const auto writer = store->open_run(events_run("other"), {});
    ASSERT_TRUE((*writer)->save({.body = "1"}));
    ASSERT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
  }
}

TEST_P(FilesystemEvents, BeyondTheLimitsAreRefusedAndTheRunGoesOn) {
  const auto store = place_.open();
  const auto writer = store->open_run(events_run("r"), {});
  const std::string largest = text_of_size(kEventBytesMax, 'x');
  EXPECT_EQ(checked_save(**writer, {.body = "1", .events = {{"e", largest + " "}}}, kStateBytesMax).error().code,
            Code::state_too_large);
  SaveRequest request{.body = "1", .events = {{"e", largest}, {"e", largest}, {"e", largest}, {"e", largest}}};
  ASSERT_TRUE(checked_save(**writer, request, kStateBytesMax));
  request.events.push_back({"e", "1"});
  EXPECT_EQ(checked_save(**writer, request, kStateBytesMax).error().code, Code::state_too_large);
  ASSERT_TRUE(checked_save(**writer, {.body = "2"}, kStateBytesMax));
  EXPECT_EQ(place_.open()->events(events_run("r"), 3, 10)->size(), 1U);
}

TEST_P(FilesystemEvents, AreListedPageByPageFromFilesAndJournal) {
  constexpr std::uint64_t kEvents = 5000;
  const auto store = place_.open();
  const auto writer = store->open_run(events_run("r"), {});
  std::uint64_t made = 0;
  for (int save = 0; save < 10; ++save) {
    const std::string state = std::to_string(save);
    SaveRequest request{.body = state, .duplicates = Duplicates::write};
    for (std::uint64_t i = 0; i < kEvents / 10; ++i) request.events.push_back({"e", std::to_string(++made)});
    ASSERT_TRUE((*writer)->save(request));
    place_.clock().advance(9'000'000'000);  // so that there are files of several days
    if (save != 6) continue;
    ASSERT_TRUE(dynamic_cast<FilesystemStore&>(*store).settle_all());
  }
  std::uint64_t seen = 0;
  for (const std::size_t limit : {1UL, 7UL, 333UL, 2000UL, 10'000UL}) {
    const auto page = store->events(events_run("r"), seen, limit);
    ASSERT_TRUE(page);
    ASSERT_EQ(page->size(), std::min<std::uint64_t>(limit, kEvents - seen));
    for (const Event& event : *page) {
      ASSERT_EQ(event.number, ++seen);
      ASSERT_EQ(event.data, std::to_string(seen));
    }
  }
  EXPECT_EQ(seen, kEvents);
  EXPECT_TRUE(store->events(events_run("r"), kEvents, 10)->empty());
  EXPECT_TRUE(store->events(events_run("r"), UINT64_MAX, 10)->empty());
  EXPECT_TRUE(store->events(events_run("r"), 0, 0)->empty());
}

/// After a power loss, sectors of a file that was not synced are zeros. The journal contains their lines.
TEST_P(FilesystemEvents, AreReadFromTheJournalWhereTheFileIsSpoiled) {
  constexpr std::uint64_t kCount = 12;
  {
    const auto store = place_.open();
    const auto writer = store->open_run(events_run("r"), {});
    for (std::uint64_t i = 1; i <= kCount; ++i)
      ASSERT_TRUE((*writer)->save({.body = std::to_string(i), .events = {{"e", std::to_string(i)}}}));
  }
  std::filesystem::path path;
  for (const auto& entry : std::filesystem::directory_iterator(place_.path() + "/runs/r/events")) path = entry.path();
  const std::string intact = files_text(path);
  ASSERT_GT(intact.size(), 700U);
  for (std::size_t sector = 0; sector + 64 < intact.size(); sector += 64) {
    std::string spoiled = intact;
    spoiled.replace(sector, 64, std::string(64, '\0'));
    std::ofstream(path, std::ios::binary) << spoiled;
    const auto store = place_.open();
    for (std::uint64_t after = 0; after <= kCount; ++after) {
      for (const std::size_t limit : {1UL, 5UL, 100UL}) {
        const auto page = store->events(events_run("r"), after, limit);
        ASSERT_TRUE(page) << describe(page.error()) << " after " << after << ", zeros at " << sector;
        ASSERT_EQ(page->size(), std::min<std::uint64_t>(limit, kCount - after));
        for (std::size_t i = 0; i < page->size(); ++i) ASSERT_EQ((*page)[i].data, std::to_string(after + i + 1));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Publishing, FilesystemEvents, ::testing::Values(Background::none, Background::thread),
                         [](const auto& test) { return test.param == Background::none ? "OneShot" : "Threaded"; });

}  // namespace
}  // namespace pawl::testing
