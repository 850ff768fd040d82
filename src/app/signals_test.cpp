#include "app/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace pawl {
namespace {

using Sender = SignalRequests::Sender;

TEST(SignalRequestsTest, TheSameSignalAgainAtOnceIsTheSameRequest) {
  SignalRequests requests;
  EXPECT_TRUE(requests.is_new(SIGTERM, Sender::process, 0));
  EXPECT_FALSE(requests.is_new(SIGTERM, Sender::process, 100));
  EXPECT_FALSE(requests.is_new(SIGTERM, Sender::process, SignalRequests::kSameRequest_us - 1));
  EXPECT_TRUE(requests.is_new(SIGTERM, Sender::process, SignalRequests::kSameRequest_us));
}

TEST(SignalRequestsTest, AnotherSignalIsAnotherRequest) {
  SignalRequests requests;
  EXPECT_TRUE(requests.is_new(SIGTERM, Sender::process, 0));
  EXPECT_TRUE(requests.is_new(SIGINT, Sender::process, 100));
}

TEST(SignalRequestsTest, AKeyThatIsPressedTwiceIsTwoRequests) {
  SignalRequests requests;
  EXPECT_TRUE(requests.is_new(SIGINT, Sender::kernel, 0));
  EXPECT_TRUE(requests.is_new(SIGINT, Sender::kernel, 100'000));
}

TEST(SignalRequestsTest, AProgramThatPassesOnTheKeyDoesNotRepeatIt) {
  SignalRequests requests;
  EXPECT_TRUE(requests.is_new(SIGINT, Sender::kernel, 0));
  EXPECT_FALSE(requests.is_new(SIGINT, Sender::process, 1'000));
}

}  // namespace
}  // namespace pawl
