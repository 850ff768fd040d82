#include "engine/step_output.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

/// Records what was written to a file, and whether it was closed.
struct Kept {
  std::string bytes;
  int appends = 0;
  bool closed = false;
};

class KeptFile final : public OutputFile {
 public:
  explicit KeptFile(Kept& kept) : kept_(kept) {}
  Result<void> append(std::string_view bytes) override {
    kept_.bytes += bytes;
    ++kept_.appends;
    return {};
  }
  Result<void> close() override {
    kept_.closed = true;
    return {};
  }

 private:
  Kept& kept_;
};

class StepOutputTest : public ::testing::Test {
 protected:
  StepOutput output(StepOutput::Wanted wanted) {
    return {std::make_unique<KeptFile>(kept_), *SecretPatterns::make({}, {"hush"}), counts_, wanted};
  }
  Kept kept_;
  std::shared_ptr<MaskCounts> counts_ = std::make_shared<MaskCounts>();
  const std::string token_ = "ghp_" + std::string(36, 'a');
};

TEST_F(StepOutputTest, SilenceWritesNothing) {
  StepOutput silent = output({});
  silent.settle();
  silent.close();
  EXPECT_EQ(kept_.appends, 0);
  EXPECT_TRUE(kept_.closed);
}

TEST_F(StepOutputTest, TheFileAndTheTailAreMaskedAndWhatIsCapturedIsExact) {
  StepOutput printed = output({.tail_bytes = 30, .captured_bytes = 1000});
  const std::string text = "a line before " + token_ + " hush\n";
  for (const char c : text) printed.write({&c, 1});
  printed.close();
  EXPECT_EQ(kept_.bytes, "a line before [masked:github-token] ***\n");
  EXPECT_EQ(printed.tail(), kept_.bytes.substr(kept_.bytes.size() - 30));
  EXPECT_EQ(printed.captured(), text);
  EXPECT_EQ(printed.printed_bytes(), text.size());
  EXPECT_EQ(*counts_, (MaskCounts{{"github-token", 1}, {"declared", 1}}));
}

TEST_F(StepOutputTest, OnlyTheBeginningIsCaptured) {
  StepOutput printed = output({.captured_bytes = 5});
  for (int i = 0; i < 1000; ++i) printed.write("0123456789");
  EXPECT_EQ(printed.captured(), "01234");
  EXPECT_EQ(printed.printed_bytes(), 10'000U);
}

TEST_F(StepOutputTest, WhatMayBeTheBeginningOfASecretWaitsAlsoWhenTheCommandHasEnded) {
  StepOutput printed = output({});
  printed.write("done hu");
  printed.settle();
  EXPECT_EQ(kept_.bytes, "done ");
  printed.write("sh hu");
  EXPECT_EQ(kept_.bytes, "done *** ");
  printed.close();
  EXPECT_EQ(kept_.bytes, "done *** hu");
}

}  // namespace
}  // namespace pawl
