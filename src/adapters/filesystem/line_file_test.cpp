#include "adapters/filesystem/line_file.hpp"

#include <gtest/gtest.h>

#include "domain/sequence_limit.hpp"

namespace pawl {
namespace {

class TextFile final : public File {
 public:
  explicit TextFile(std::string text) : text_(std::move(text)) {}
  Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
    bytes_read += size;
    return text_.substr(offset, size);
  }
  Result<std::uint64_t> size() override { return text_.size(); }
  Result<void> write_at(std::uint64_t, std::string_view) override { return refuse(); }
  Result<void> sync(SyncPoint) override { return refuse(); }
  Result<void> resize(std::uint64_t) override { return refuse(); }
  Result<bool> try_lock_shared(std::uint64_t) override { return refuse(); }
  Result<bool> try_lock(std::uint64_t) override { return refuse(); }
  Result<void> unlock(std::uint64_t) override { return refuse(); }
  Result<bool> locked_elsewhere(std::uint64_t) override { return refuse(); }

  std::uint64_t bytes_read = 0;

 private:
  static std::unexpected<Error> refuse() { return fail(Code::write_failed, "read only"); }
  const std::string text_;
};

std::string line(std::uint64_t number, std::size_t filling = 0) {
  return fmt::format("{{\"seq\":{},\"x\":\"{}\"}}\n", number, std::string(filling, 'x'));
}

TEST(LineNumber, IsTheFirstMembersValue) {
  EXPECT_EQ(line_number(R"({"seq":17,"a":1})"), 17U);
  EXPECT_EQ(line_number(R"({"n":1,)"), 1U);
  EXPECT_EQ(line_number(R"({"i":9007199254740991,"x"})"), kSequenceMax);
  EXPECT_FALSE(line_number(R"({"i":9007199254740992,"x"})"));
  for (const std::string_view other :
       {"", "{", "{\"", R"({"seq":})", R"({"seq":1)", R"({"seq":x,)", R"({"seq":-1,)", R"( {"seq":1,)",
        R"({"seq":99999999999999999999,)", R"({"too_long_a_key":1,)", R"(["seq":1,)", R"({"seq":1})"}) {
    EXPECT_FALSE(line_number(other)) << other;
  }
}

TEST(LastLineBelow, ReadsBackwards) {
  const std::string text = line(1) + line(2) + line(3);
  TextFile file(text);
  const auto last = *last_line_below(file, kHighest);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->number, 3U);
  EXPECT_EQ(last->end, text.size());
  EXPECT_EQ(last->text + "\n", line(3));
  const auto second = *last_line_below(file, 3);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number, 2U);
  EXPECT_EQ(second->end, line(1).size() + line(2).size());
  EXPECT_FALSE(*last_line_below(file, 1));
}

TEST(LastLineBelow, OverlooksWhatIsIncompleteOrDamaged) {
  for (const std::string& rest :
       {std::string("{\"seq\":3,\"cut"), std::string("\0\0\0\0", 4), std::string("garbage\n"), std::string("\n\n")}) {
    TextFile file(line(1) + line(2) + rest);
    const auto last = *last_line_below(file, kHighest);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->number, 2U);
    EXPECT_EQ(last->end, line(1).size() + line(2).size());
  }
}

TEST(LastLineBelow, OfAnEmptyFileIsNothing) {
  TextFile empty("");
  EXPECT_FALSE(*last_line_below(empty, kHighest));
  TextFile no_line("{\"seq\":1,\"never ended\"");
  EXPECT_FALSE(*last_line_below(no_line, kHighest));
}

TEST(LastLineBelow, FindsLinesLongerThanItsFirstLook) {
  TextFile file(line(1) + line(2, 100'000) + line(3, 300'000) + "{\"seq\":4");
  EXPECT_EQ((*last_line_below(file, kHighest))->number, 3U);
  EXPECT_EQ((*last_line_below(file, 3))->number, 2U);
  EXPECT_EQ((*last_line_below(file, 2))->number, 1U);
}

TEST(LastLineBelow, DoesNotReadAllOfALargeFile) {
  std::string text;
  for (std::uint64_t number = 1; number <= 20'000; ++number) text += line(number, 50);
  TextFile file(text);
  EXPECT_EQ((*last_line_below(file, kHighest))->number, 20'000U);
  EXPECT_LE(file.bytes_read, 16U << 10);
}

TEST(ForEachLine, TellsCompleteLinesFromTheLastPiece) {
  std::vector<std::pair<std::string, bool>> seen;
  for_each_line("a\n\nb", [&](std::string_view text, bool complete) {
    seen.emplace_back(text, complete);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, bool>>{{"a", true}, {"", true}, {"b", false}}));
  int calls = 0;
  for_each_line("a\nb\n", [&](std::string_view, bool) { return ++calls < 1; });
  EXPECT_EQ(calls, 1);
  for_each_line("", [&](std::string_view, bool) { return ++calls < 100; });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace pawl
