#include "service/list_runs.hpp"

#include "testing/service_fixture.hpp"

namespace pawl::testing {
namespace {

class ListRuns : public Service {
 protected:
  std::string names(const ListRequest& request) {
    const Result<RunList> list = list_runs(*store_, request);
    if (!list) return describe(list.error());
    std::string text;
    for (const ListedRun& run : list->runs) text += run.info.id.text() + " ";
    return text + (list->more ? "..." : "");
  }
};

TEST_F(ListRuns, TheNewestComeFirstAndALimitTellsThatThereAreMore) {
  for (const char* run : {"a", "b", "c"}) {
    save_text(run, "{}");
    memory_.clock().advance(1'000'000);
  }
  EXPECT_EQ(names({}), "c b a ");
  EXPECT_EQ(names({.limit = 3}), "c b a ");
  EXPECT_EQ(names({.limit = 2}), "c b ...");
}

TEST_F(ListRuns, ARunMustFitEveryFilter) {
  SaveRequest tagged;
  tagged.metadata = R"({"team": "blue", "build": {"number": 7}, "a.b": true})";
  save_text("x", "{}", {.session = "night"}, tagged);
  save_text("y", "{}", {.session = "night"});
  save_status("z", RunStatus::failed);
  EXPECT_EQ(names({.session = "night", .metadata = {{"team", "blue"}}}), "x ");
  EXPECT_EQ(names({.metadata = {{"build.number", "7"}, {"a.b", "true"}}}), "x ");
  EXPECT_EQ(names({.metadata = {{"team", "blue"}, {"team.name", "blue"}}}), "");
  EXPECT_EQ(names({.statuses = {"waiting", "failed"}}), "z ");
  EXPECT_EQ(names({.statuses = {"failed"}, .session = "night"}), "");
  EXPECT_EQ(names({.workflows = {"other.yaml", "w.yaml"}}), "z ");
  EXPECT_TRUE(ListRequest{.session = "night"}.is_filtered());
  EXPECT_FALSE(ListRequest{.limit = 1}.is_filtered());
}

TEST_F(ListRuns, FiltersApplyToResumableRunsToo) {
  save_status("crashed", RunStatus::running);
  save_status("waits", RunStatus::waiting);
  save_status("cancelled", RunStatus::cancelled);
  EXPECT_EQ(names({.scope = ListRequest::Scope::resumable, .statuses = {"waiting", "cancelled"}}), "waits ");
}

TEST_F(ListRuns, AForkNamesItsOrigin) {
  save_status("r", RunStatus::failed);
  fork("r", 1, "f");
  const Result<RunList> list = list_runs(*store_, {});
  ASSERT_TRUE(list);
  for (const ListedRun& run : list->runs) {
    ASSERT_EQ(run.fork_of.has_value(), run.info.id.text() == "f");
    if (run.fork_of) {
      EXPECT_EQ(run.fork_of->run, "r");
    }
  }
}

}  // namespace
}  // namespace pawl::testing
