// The library as its users see it, on the memory store. The adapters have their own tests.
#include <gtest/gtest.h>
#include <pawl/pawl.hpp>

namespace pawl {
namespace {

SaveRequest state(std::string_view body) {
  SaveRequest request;
  request.body = body;
  return request;
}

class Library : public ::testing::Test {
 protected:
  Pawl pawl_ = std::move(*Pawl::open("memory:"));
};

TEST_F(Library, SavesAndRestores) {
  Result<pawl::Run> run = pawl_.run("nightly");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->save(state(R"({"done": 3})"))->sequence, Sequence{1});
  EXPECT_EQ(run->save(state(R"({"done": 4})"))->sequence, Sequence{2});
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(run->info().latest, Sequence{2});
  EXPECT_EQ(pawl_.restore("nightly")->state, R"({"done": 4})");
  EXPECT_EQ(pawl_.restore("nightly@1")->state, R"({"done": 3})");
}

TEST_F(Library, AddsToTheAuditTrail) {
  Result<pawl::Run> run = pawl_.run("nightly");
  SaveRequest request = state("{}");
  request.events = {{.type = "reviewed", .data = R"({"verdict":"fine"})", .audited = Audited::yes, .agent = "ann"}};
  ASSERT_TRUE(run->save(request));
  const auto entries = pawl_.audit("nightly", 1);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->front().type, "reviewed");
  EXPECT_EQ(entries->front().agent, "ann");
  EXPECT_EQ(entries->front().data, R"({"verdict":"fine"})");
}

TEST_F(Library, ReadsEverythingElse) {
  {
    Result<pawl::Run> run = pawl_.run("nightly");
    SaveRequest request = state("{}");
    request.name = "ok";
    request.events = {{.type = "started", .data = "{}"}};
    ASSERT_TRUE(run->save(request));
  }
  EXPECT_EQ(pawl_.info("nightly")->latest, Sequence{1});
  EXPECT_EQ(pawl_.runs()->size(), 1U);
  EXPECT_EQ(pawl_.checkpoint("nightly@name:ok")->sequence, Sequence{1});
  EXPECT_EQ(pawl_.checkpoints("nightly")->size(), 1U);
  EXPECT_EQ(pawl_.events("nightly")->front().type, "started");
  EXPECT_FALSE(pawl_.check()->damaged());
}

TEST_F(Library, RefusesBadInputAsValues) {
  EXPECT_EQ(pawl_.run("../x").error().code, Code::invalid_run_id);
  EXPECT_EQ(pawl_.restore("a@b@c").error().code, Code::invalid_address);
  EXPECT_EQ(pawl_.run("r", {.durability = {}, .workflow = {}, .workflow_hash = {}, .session = "\n"}).error().code,
            Code::invalid_label);
  Result<pawl::Run> run = pawl_.run("r");
  EXPECT_EQ(run->save(state("{")).error().code, Code::invalid_json);
  EXPECT_EQ(pawl_.run("r").error().code, Code::run_busy);
  EXPECT_EQ(Pawl::open("redis://x").error().code, Code::usage);
}

TEST_F(Library, StateSizeIsLimitedByTheOptions) {
  OpenOptions options;
  options.state_bytes_max = 10;
  Pawl small = std::move(*Pawl::open("memory:", options));
  EXPECT_EQ(small.run("r")->save(state("\"01234567890\"")).error().code, Code::state_too_large);
}

TEST_F(Library, HandlesCanBeMoved) {
  Result<pawl::Run> run = pawl_.run("r");
  pawl::Run moved = std::move(*run);
  EXPECT_TRUE(moved.save(state("1")));
}

}  // namespace
}  // namespace pawl
