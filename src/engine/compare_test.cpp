#include "engine/compare.hpp"

#include <gtest/gtest.h>

#include "testing/memory_under_test.hpp"

namespace pawl::testing {
namespace {

class Compare : public ::testing::Test {
 protected:
  void save(std::string_view body) {
    SaveRequest request;
    request.body = body;
    ASSERT_TRUE((*store_->open_run(*RunId::parse("r"), {}))->save(request));
  }
  Result<Comparison> between(std::string_view before, std::string_view after, DiffStyle style = DiffStyle::readable) {
    return compare(*store_, *Address::parse(before), *Address::parse(after), style);
  }

  MemoryUnderTest memory_;
  std::unique_ptr<Store> store_ = memory_.open();
};

TEST_F(Compare, TellsEqualBytesFromEqualValues) {
  save(R"({"a":1})");
  save(R"({ "a":1 })");
  save(R"({"a":2})");
  EXPECT_TRUE(between("r@1", "r@1")->same_bytes);
  EXPECT_FALSE(between("r@1", "r@2")->same_bytes);
  EXPECT_TRUE(between("r@1", "r@2")->same_values);
  EXPECT_TRUE(between("r@1", "r@2", DiffStyle::json_patch)->same_values);
  EXPECT_FALSE(between("r@2", "r@3")->same_values);
  EXPECT_NE(between("r@2", "r@3")->text, "");
}

TEST_F(Compare, NamesWhatIsMissing) {
  save("{}");
  EXPECT_EQ(between("r@1", "r@2").error().code, Code::checkpoint_not_found);
  EXPECT_EQ(between("x", "r").error().code, Code::run_not_found);
}

}  // namespace
}  // namespace pawl::testing
