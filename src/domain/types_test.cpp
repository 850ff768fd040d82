#include <gtest/gtest.h>
#include <pawl/save.hpp>
#include <pawl/types.hpp>

#include <limits>
#include <random>

namespace pawl {
namespace {

Error run_id_error(std::string_view text) {
  const Result<RunId> result = RunId::parse(text);
  EXPECT_FALSE(result) << text;
  return result ? Error{} : result.error();
}

TEST(RunId, TakesLettersDigitsDotsDashesAndUnderscores) {
  for (const char* text : {"a", "0", "nightly", "Nightly-2026.01_x", "a..", "a.b-c_d"}) {
    const Result<RunId> id = RunId::parse(text);
    ASSERT_TRUE(id) << text;
    EXPECT_EQ(id->text(), text);
  }
  EXPECT_TRUE(RunId::parse(std::string(128, 'x')));
}

TEST(RunId, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(run_id_error("").message, "the run id is empty");
  EXPECT_EQ(run_id_error("..").message, "'..' is the name of a folder, not a run id");
  EXPECT_EQ(run_id_error(".hidden").message, "the run id '.hidden' can't begin with character '.'");
  EXPECT_EQ(run_id_error("-rf").message, "the run id '-rf' can't begin with character '-'");
  EXPECT_EQ(run_id_error("a/b").message, "the run id 'a/b' has character '/' at position 2");
  EXPECT_EQ(run_id_error("a b").message, "the run id 'a b' has a space at position 2");
  EXPECT_EQ(run_id_error("ab\x1b[0m").message, "the run id 'ab\\x1b[0m' has control character \\x1b at position 3");
  EXPECT_EQ(run_id_error(std::string_view("a\0b", 3)).message,
            "the run id 'a\\x00b' has control character \\x00 at position 2");
  EXPECT_EQ(run_id_error("caf\xC3\xA9").message, "the run id 'caf\\xc3\\xa9' has character U+00E9 at position 4");
  EXPECT_EQ(run_id_error("caf\xC3").message, "the run id 'caf\\xc3' has byte \\xc3 at position 4");
  EXPECT_NE(run_id_error(std::string(129, 'x')).message.find("has 129 characters; the maximum is 128"),
            std::string::npos);
  EXPECT_EQ(run_id_error("a/b").code, Code::invalid_run_id);
  EXPECT_FALSE(run_id_error("a/b").hint.empty());
}

TEST(Uuid, IsReadAsItIsWritten) {
  const char* text = "550e8400-e29b-41d4-a716-446655440000";
  const std::optional<Uuid> uuid = Uuid::parse(text);
  ASSERT_TRUE(uuid);
  EXPECT_EQ(uuid->text(), text);
  EXPECT_EQ(uuid->bytes[0], 0x55);
  EXPECT_EQ(uuid->bytes[15], 0x00);
  EXPECT_EQ(Uuid::parse("550E8400-E29B-41D4-A716-446655440000"), uuid);
}

TEST(Uuid, RefusesAnythingElse) {
  for (const char* text : {"", "550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-44665544000",
                           "550e8400-e29b-41d4-a716-4466554400000", "550e8400-e29b-41d4-a716-44665544000g",
                           "550e8400-e29b-41d4-a7160446655440000", "{50e8400-e29b-41d4-a716-44665544000}"}) {
    EXPECT_FALSE(Uuid::parse(text)) << text;
  }
}

TEST(Timestamp, IsWrittenInUtcWithMicroseconds) {
  EXPECT_EQ(Timestamp{0}.text(), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(Timestamp{-1}.text(), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(Timestamp{1'768'141'800'000'123}.text(), "2026-01-11T14:30:00.000123Z");
  EXPECT_EQ(Timestamp{1'768'141'800'000'123}.day(), "2026-01-11");
  EXPECT_EQ(Timestamp{951'782'400'000'000}.day(), "2000-02-29");
  EXPECT_FALSE(Timestamp{std::numeric_limits<std::int64_t>::min()}.text().empty());
  EXPECT_FALSE(Timestamp{std::numeric_limits<std::int64_t>::max()}.text().empty());
}

TEST(Timestamp, IsReadAsItIsWritten) {
  std::mt19937_64 random(1);
  constexpr std::int64_t kYear0 = -62'167'219'200'000'000;
  constexpr std::int64_t kYear10000 = 253'402'300'800'000'000;
  std::uniform_int_distribution<std::int64_t> any(kYear0, kYear10000 - 1);
  for (int i = 0; i < 20'000; ++i) {
    const Timestamp time{any(random)};
    ASSERT_EQ(Timestamp::parse(time.text()), time) << time.text();
  }
  EXPECT_EQ(Timestamp{kYear0}.text(), "0000-01-01T00:00:00.000000Z");
  EXPECT_EQ(Timestamp{kYear10000 - 1}.text(), "9999-12-31T23:59:59.999999Z");
}

TEST(Timestamp, GoesThroughEveryDayInOrder) {
  constexpr std::int64_t kDay = 86'400'000'000;
  std::string last = Timestamp{-kDay * 150'000}.day();
  for (std::int64_t day = -149'999; day < 150'000; ++day) {
    const std::string next = Timestamp{day * kDay}.day();
    ASSERT_LT(last, next);
    ASSERT_EQ(Timestamp::parse(next + "T00:00:00Z"), Timestamp{day * kDay}) << next;
    last = next;
  }
}

TEST(Timestamp, TakesShorterFractions) {
  EXPECT_EQ(Timestamp::parse("2024-01-02T14:35:22Z"), Timestamp{1'704'206'122'000'000});
  EXPECT_EQ(Timestamp::parse("2024-01-02T14:35:22.5Z"), Timestamp{1'704'206'122'500'000});
}

TEST(Timestamp, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "2026-01-11", "2026-01-11T14:30:00", "2026-01-11 14:30:00Z", "2026-01-11T14:30:00.Z",
        "2026-01-11T14:30:00.0000001Z", "2026-01-11T14:30:00+00:00", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-11T24:00:00Z", "2026-01-11T23:60:00Z",
        "2026-01-11T23:59:60Z", "2026-1-11T00:00:00Z", "-026-01-11T00:00:00Z", "2026-01-11T14:30:00Zx"}) {
    EXPECT_FALSE(Timestamp::parse(text)) << text;
  }
}

template <class T, class Parse>
void expect_round_trip(T last, Parse parse) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    const auto value = static_cast<T>(i);
    EXPECT_EQ(parse(to_text(value)), value) << to_text(value);
  }
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse("nonsense"));
}

TEST(Words, AreReadAsTheyAreWritten) {
  expect_round_trip(Kind::workflow_complete, parse_kind);
  expect_round_trip(Status::recovering, parse_status);
  expect_round_trip(Reason::workflow_completed, parse_reason);
  expect_round_trip(Durability::exit, parse_durability);
}

TEST(Words, IncludeThoseOfTheSeeds) {
  EXPECT_EQ(parse_kind("agent_start"), Kind::step_start);
  EXPECT_EQ(parse_kind("agent_complete"), Kind::step_complete);
  EXPECT_EQ(parse_kind("sync_barrier"), Kind::barrier);
  EXPECT_EQ(parse_kind("error_state"), Kind::error);
  EXPECT_EQ(parse_kind("phase_start"), Kind::stage_start);
  EXPECT_EQ(parse_kind("phase_completed"), Kind::stage_complete);
  EXPECT_EQ(parse_status("in_progress"), Status::active);
  EXPECT_EQ(parse_reason("specialist_finished"), Reason::after_step);
  EXPECT_EQ(parse_reason("confidence_threshold_crossed"), Reason::confidence_crossed);
  EXPECT_EQ(parse_reason("memory_pressure_high"), Reason::memory_pressure);
  EXPECT_EQ(parse_reason("before_risky_operation"), Reason::before_risky_step);
  EXPECT_EQ(parse_reason("TimeInterval"), Reason::time_interval);
}

TEST(Address, TakesEveryForm) {
  const auto which = [](std::string_view text) {
    const Result<Address> address = Address::parse(text);
    EXPECT_TRUE(address) << text;
    EXPECT_EQ(address->run.text(), "run-1");
    return address->which;
  };
  EXPECT_EQ(which("run-1").by, Which::By::latest);
  EXPECT_EQ(which("run-1@latest").by, Which::By::latest);
  EXPECT_EQ(which("run-1@00042").sequence, Sequence{42});
  EXPECT_EQ(which("run-1@18446744073709551615").sequence, Sequence{~std::uint64_t{0}});
  EXPECT_EQ(which("run-1@step:a@b").label, "a@b");
  EXPECT_EQ(which("run-1@step:x").by, Which::By::step);
  EXPECT_EQ(which("run-1@stage:x").by, Which::By::stage);
  EXPECT_EQ(which("run-1@name:before deploy").label, "before deploy");
  EXPECT_EQ(which("run-1@550e8400-e29b-41d4-a716-446655440000").by, Which::By::uuid);
}

TEST(Address, RefusesTheRest) {
  for (const char* text :
       {"", "@", "@5", "run@", "run@0", "run@00000", "run@18446744073709551616", "run@-1",
        "run@name:", "run@step:", "run@LATEST", "run@5x", "run@550e8400-e29b-41d4-a716-44665544000"}) {
    const Result<Address> address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Code::invalid_address) << text;
    EXPECT_FALSE(address.error().hint.empty());
  }
  EXPECT_EQ(Address::parse("a/b@5").error().code, Code::invalid_run_id);
}

TEST(Address, ProposesAFormForAPlainWord) {
  EXPECT_NE(Address::parse("nightly@deploy").error().hint.find("nightly@name:'deploy'"), std::string::npos);
}

}  // namespace
}  // namespace pawl
