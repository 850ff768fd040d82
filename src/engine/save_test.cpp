#include "engine/save.hpp"

#include <gtest/gtest.h>

#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

constexpr std::uint64_t kStateBytesMax = 1000;

class CheckedSave : public ::testing::Test {
 protected:
  Result<Saved> save(const SaveRequest& request) { return checked_save(*writer_, request, kStateBytesMax); }
  Code code_of(const SaveRequest& request) {
    const Result<Saved> saved = save(request);
    return saved ? Code{} : saved.error().code;
  }
  static SaveRequest state(std::string_view body) {
    SaveRequest request;
    request.body = body;
    return request;
  }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
  std::unique_ptr<RunWriter> writer_ = *store_->open_run(*RunId::parse("r"), {});
};

TEST_F(CheckedSave, GoodInputIsSavedExactly) {
  ASSERT_TRUE(save(state(" {\"a\":1}\n")));
  EXPECT_EQ(store_->restore(*RunId::parse("r"), {})->state, " {\"a\":1}\n");
}

TEST_F(CheckedSave, BadJsonIsRefusedAndWritesNothing) {
  EXPECT_EQ(code_of(state("{")), Code::invalid_json);
  EXPECT_EQ(code_of(state("")), Code::invalid_json);
  EXPECT_EQ(code_of(state("\"" + std::string(kStateBytesMax, 'x') + "\"")), Code::state_too_large);
  EXPECT_FALSE(store_->run(*RunId::parse("r")));
  EXPECT_EQ(save(state("{}"))->sequence, Sequence{1});
}

TEST_F(CheckedSave, LabelsAreAtMost256BytesOfPlainText) {
  SaveRequest request = state("{}");
  for (std::string SaveRequest::* label :
       {&SaveRequest::name, &SaveRequest::caller_id, &SaveRequest::stage, &SaveRequest::step}) {
    for (const std::string& bad : {std::string(257, 'x'), std::string("a\nb"), std::string("\xff"),
                                   std::string("\xc2\x85"), std::string("a\0b", 3)}) {
      request.*label = bad;
      EXPECT_EQ(code_of(request), Code::invalid_label);
    }
    request.*label = std::string(128, 'x') + std::string(32, ' ') + "äöü😀";
    EXPECT_EQ(code_of(request), Code{});
    (request.*label).clear();
  }
}

TEST_F(CheckedSave, MetadataIsAJsonObject) {
  SaveRequest request = state("{}");
  for (const char* bad : {"[1]", "1", "{", "null", " "}) {
    request.metadata = bad;
    EXPECT_EQ(code_of(request), Code::invalid_json) << bad;
  }
  request.metadata = " {\"a\": 1}";
  EXPECT_EQ(code_of(request), Code{});
}

TEST_F(CheckedSave, EventsHaveATypeAndJson) {
  SaveRequest request = state("{}");
  request.events = {{.type = "", .data = "{}"}};
  EXPECT_EQ(code_of(request), Code::invalid_label);
  request.events = {{.type = "t", .data = "nope"}};
  EXPECT_EQ(code_of(request), Code::invalid_json);
  request.events = {{.type = "t", .data = "[1]"}};
  EXPECT_EQ(code_of(request), Code{});
}

TEST(RunOptionsCheck, SessionIsALabelAndAWorkflowMayBeAPath) {
  RunOptions options;
  options.workflow = std::string(4000, 'w');
  EXPECT_TRUE(check_run_options(options));
  options.session = "a\tb";
  EXPECT_EQ(check_run_options(options).error().code, Code::invalid_label);
}

TEST_F(CheckedSave, EventsHaveLimitsOfTheirOwn) {
  SaveRequest request = state("{}");
  request.events = {{.type = "t", .data = "\"" + std::string(kEventBytesMax - 2, 'x') + "\""}};
  EXPECT_EQ(code_of(request), Code{});
  request.events.front().data += " ";
  EXPECT_EQ(code_of(request), Code::state_too_large);
}

TEST_F(CheckedSave, MessagesAreOneLineOfJson) {
  const RunId run = *RunId::parse("r");
  EXPECT_EQ(checked_post(*store_, run, "{}").error().code, Code::run_not_found);
  ASSERT_TRUE(save(state("{}")));
  EXPECT_EQ(checked_post(*store_, run, "{").error().code, Code::invalid_json);
  EXPECT_EQ(checked_post(*store_, run, "").error().code, Code::invalid_json);
  EXPECT_EQ(checked_post(*store_, run, "\"" + std::string(kMessageBytesMax, 'x') + "\"").error().code,
            Code::state_too_large);
  EXPECT_TRUE(store_->inbox(run)->empty());
  ASSERT_TRUE(checked_post(*store_, run, "{\n \"a\": \"b\\n\"\r\n}\n"));
  EXPECT_EQ(store_->inbox(run)->front().body, "{  \"a\": \"b\\n\"  }");
}

}  // namespace
}  // namespace pawl::testing
