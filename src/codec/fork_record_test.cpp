#include <gtest/gtest.h>

#include "codec/record_text.hpp"

namespace pawl {
namespace {

RunRecord a_fork() {
  RunRecord run;
  run.run = "f";
  run.uuid = *Uuid::parse("4247e814-fd78-453a-ade3-a3b3d6a8cb55");
  run.salt = "b9f5a07176645a03f3f8751c656739ae";
  run.fork_of_run = Uuid::parse("2de2d863-e5c4-46cd-b412-201a7171b855");
  run.fork_of_name = "p";
  run.fork_of_sequence = {5};
  run.fork_of_sum = "sha256:1234";
  run.fork_events = 6;
  return run;
}

TEST(ForkRecord, ComesBackAsItWasAndHasAFormatOfItsOwn) {
  const RunRecord run = a_fork();
  const std::string text = encode_run(run);
  EXPECT_TRUE(text.starts_with("{\"pawl\":3,\"run\":\"f\",")) << text;
  EXPECT_NE(
      text.find(
          R"("fork_of":"2de2d863-e5c4-46cd-b412-201a7171b855","fork_at":5,"fork_run":"p","fork_sum":"sha256:1234","fork_events":6,"key":null)"),
      std::string::npos)
      << text;
  const auto read = decode_run(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode_run(*read), text);
}

TEST(ForkRecord, OfANameThatIsNoneIsDamage) {
  RunRecord run = a_fork();
  run.fork_of_name = "../p";
  EXPECT_EQ(decode_run(encode_run(run)).error().code, Code::store_damaged);
  run.fork_of_name = "p";
  run.fork_of_sequence = {};
  EXPECT_EQ(decode_run(encode_run(run)).error().code, Code::store_damaged);
}

TEST(ForkRecord, IsSealedWithAllThatItGoesOnFrom) {
  const std::string seal = fork_seal(a_fork());
  EXPECT_TRUE(seal.starts_with("sha256:"));
  RunRecord other = a_fork();
  other.fork_of_sequence = {6};
  EXPECT_NE(fork_seal(other), seal);
  other = a_fork();
  other.fork_of_sum = "sha256:1235";
  EXPECT_NE(fork_seal(other), seal);
  other = a_fork();
  other.fork_of_run = other.uuid;
  EXPECT_NE(fork_seal(other), seal);
  EXPECT_EQ(fork_seal({}), "");
}

}  // namespace
}  // namespace pawl
