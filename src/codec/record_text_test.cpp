#include "codec/record_text.hpp"

#include <gtest/gtest.h>

#include "codec/sealed_text.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kSalt = "00112233445566778899aabbccddeeff";
const Uuid kRun = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");
const Uuid kOtherRun = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6cb");

CheckpointInfo some_info() {
  CheckpointInfo info;
  info.sequence.value = 17;
  info.parent.value = 16;
  info.id = *Uuid::parse("4247e814-fd78-453a-ade3-a3b3d6a8cb55");
  info.created = *Timestamp::parse("2026-01-11T14:30:02.000002Z");
  info.kind = Kind::step_complete;
  info.status = Status::failed;
  info.reason = Reason::signal;
  info.name = "a \"name\"";
  info.caller_id = "call\\1";
  info.stage = "st\xC3\xA4ge";
  info.step = "st\nep";
  info.metadata = R"({"cost": 0.25, "state":"x", "diff":[]})";
  info.state_bytes = 99;
  return info;
}

std::string encode(const CheckpointInfo& info, Payload kind, std::string_view payload, Shape shape) {
  std::string sum;
  std::string text =
      encode_checkpoint({&info, "00ff", kind, payload, "", info.metadata}, shape, {kSalt, seal_seed(kRun)}, sum);
  EXPECT_TRUE(text.ends_with('\n'));
  text.pop_back();
  return text;
}

struct Case {
  Payload kind;
  Shape shape;
  std::string_view payload;
};

class EveryPayload : public ::testing::TestWithParam<Case> {};

TEST_P(EveryPayload, ComesBackAsItWas) {
  CheckpointInfo info = some_info();
  const std::string text = encode(info, GetParam().kind, GetParam().payload, GetParam().shape);
  const auto record = decode_checkpoint(text, seal_seed(kRun));
  ASSERT_TRUE(record) << describe(record.error());
  EXPECT_EQ(record->payload_kind, GetParam().kind);
  EXPECT_EQ(record->payload, GetParam().payload);
  EXPECT_EQ(decode_fingerprint(*record), "00ff");
  EXPECT_TRUE(sum_matches(*record, kSalt));
  EXPECT_FALSE(sum_matches(*record, "another salt"));
  info.stored_bytes = text.size() + 1;
  info.whole = record->whole();
  info.checksum = "sha256:" + std::string(record->sum);
  const auto back = decode_info(*record);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(*back, info);
}

INSTANTIATE_TEST_SUITE_P(RecordText, EveryPayload,
                         ::testing::Values(Case{Payload::state, Shape::line, R"({"a":1})"},
                                           Case{Payload::state, Shape::line, ""},
                                           Case{Payload::state, Shape::file, R"({"a":1})"},
                                           Case{Payload::state, Shape::file, "\n{\n}\n\n"},
                                           Case{Payload::state, Shape::line, R"({"x":"\"state\":,\"sum\":\"sha256:"})"},
                                           Case{Payload::text, Shape::line, R"("{\n}\n")"},
                                           Case{Payload::diff, Shape::line, R"([[1,2,"\"diff\":"]])"},
                                           Case{Payload::state_blob, Shape::line, R"("00ff")"},
                                           Case{Payload::state_blob, Shape::file, R"("00ff")"},
                                           Case{Payload::diff_blob, Shape::line, R"("00ff")"}));

TEST(RecordText, KeepsMoreLabels) {
  CheckpointInfo info = some_info();
  info.also = {{Kind::step_complete, Reason::after_step, "", "b"},
               {Kind::manual, Reason::manual, "", ""},
               {Kind::stage_complete, Reason::stage_completed, "lo\"ad", ""}};
  const std::string text = encode(info, Payload::diff, "[]", Shape::line);
  EXPECT_NE(text.find(R"("also":[{"kind":"step_complete","reason":"after_step","step":"b"},{"kind":"manual"},)"
                      R"({"kind":"stage_complete","reason":"stage_completed","stage":"lo\"ad"}],"meta")"),
            std::string::npos)
      << text;
  const auto record = decode_checkpoint(text, seal_seed(kRun));
  ASSERT_TRUE(record);
  const auto back = decode_info(*record);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->also, info.also);
}

TEST(RecordText, RefusesLabelsOfTheWrongForm) {
  EXPECT_EQ(decode_labels("[]")->size(), 0U);
  for (const char* labels : {"{}", "7", "[7]", "[{}]", R"([{"kind":"unknown"}])", R"([{"kind":"manual","reason":7}])",
                             R"([{"kind":"manual","reason":"unknown"}])", "["})
    EXPECT_FALSE(decode_labels(labels)) << labels;
}

TEST(RecordText, IsOneLineUnlessItIsAFile) {
  EXPECT_EQ(encode(some_info(), Payload::diff, "[]", Shape::line).find('\n'), std::string::npos);
  EXPECT_EQ(encode(some_info(), Payload::state_blob, R"("00")", Shape::file).find('\n'), std::string::npos);
}

TEST(RecordText, LeavesOutWhatIsUsual) {
  CheckpointInfo info;
  info.sequence.value = 1;
  std::string sum;
  const std::string text = encode_checkpoint({&info, "", Payload::state, "{}"}, Shape::line, {kSalt, 0}, sum);
  for (const std::string_view key : {"status", "reason", "name", "caller", "caller_sum", "stage", "step", "meta"}) {
    EXPECT_EQ(text.find(fmt::format("\"{}\":", key)), std::string::npos) << key;
  }
}

TEST(RecordText, OfAnotherRunIsRefused) {
  const std::string text = encode(some_info(), Payload::diff, "[]", Shape::line);
  EXPECT_TRUE(decode_checkpoint(text, seal_seed(kRun)));
  const auto moved = decode_checkpoint(text, seal_seed(kOtherRun));
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::checkpoint_corrupt);
}

TEST(RecordText, FindsEveryChangedByte) {
  const std::string text = encode(some_info(), Payload::diff, R"([[0,1,"x"]])", Shape::line);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int change = 1; change < 256; ++change) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ change);
      ASSERT_FALSE(decode_checkpoint(other, seal_seed(kRun))) << "byte " << i << " ^ " << change;
    }
    ASSERT_FALSE(decode_checkpoint(std::string_view(text).substr(0, i), seal_seed(kRun))) << "cut at " << i;
  }
}

TEST(RecordText, WithItsChecksumButWithoutSenseIsRefused) {
  const std::string tail = R"(,"sum":"sha256:)" + std::string(64, '0') + '"';
  for (const std::string_view head :
       {"{", R"({"seq":1)", R"({"seq":x,"parent":0,"stored":2,"state":{})",
        R"({"seq":1,"parent":0,"stored":99999999,"state":{})", R"({"seq":1,"parent":0,"stored":2,{})",
        R"({"seq":1,"parent":0,"stored":18446744073709551615,"state":{})",
        R"({"seq":99999999999999999999,"parent":0,"stored":2,"state":{})"}) {
    std::string text = std::string(head) + tail;
    seal(text);
    const auto record = decode_checkpoint(text, 0);
    EXPECT_TRUE(!record && record.error().code == Code::checkpoint_corrupt) << head;
  }
}

TEST(RecordText, SplicesGoBothWays) {
  const std::string before = R"({"a":[1,2,3],"text":"zwölf"})";
  for (const std::string_view after : {R"({"a":[1,2,3],"text":"zwölf"})", R"({"a":[1,2,3,4],"text":"zw\"ölf\n"})", "",
                                       "\x01\x1F\x7F\"\\", R"({"b":"ü"})"}) {
    std::string state = before;
    ASSERT_TRUE(apply_encoded_splices(state, encode_splices(diff_text(before, after))));
    EXPECT_EQ(state, after);
  }
}

TEST(RecordText, SplicesThatDoNotFitAreRefusedAndChangeNothing) {
  for (const std::string_view payload :
       {"", "[", "x", "[[0,5,\"\"]]", "[[5,0,\"\"]]", "[[2,1,\"\"],[0,1,\"\"]]", "[[0,2,\"\"],[1,1,\"\"]]",
        "[[0,1,\"]]", "[[0,1]]", "[[-1,1,\"\"]]", "[[0,18446744073709551615,\"\"]]", "[[18446744073709551615,1,\"\"]]",
        "[[0,1,\"\\\"]]", "[[0,1,\"\"]"}) {
    std::string state = "abcd";
    EXPECT_FALSE(apply_encoded_splices(state, payload)) << payload;
    EXPECT_EQ(state, "abcd") << payload;
  }
}

TEST(RecordText, TextPayloadsGoBothWays) {
  const std::string state = "{\r\n\t\"a\": \"\\u00e4 \xC3\xA4\"\n}\n";
  EXPECT_EQ(*decode_text_payload(escape_json(state)), state);
  EXPECT_FALSE(decode_text_payload("\""));
  EXPECT_FALSE(decode_text_payload("{}"));
}

TEST(RecordText, RunGoesBothWays) {
  RunRecord run;
  run.run = "nightly";
  run.uuid = kRun;
  run.created.us = 1'768'141'800'000'000;
  run.durability = Durability::async;
  run.workflow = "w\"orkflow.yaml";
  run.workflow_hash = "sha256:00";
  run.session = "s";
  run.salt = kSalt;
  run.fork_of_run = kOtherRun;
  run.fork_of_sequence.value = 3;
  run.fork_of_name = "other";
  const std::string text = encode_run(run);
  const auto back = decode_run(text);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(encode_run(*back), text);
  EXPECT_EQ(back->fork_of_run, run.fork_of_run);
  EXPECT_EQ(back->fork_of_sequence, run.fork_of_sequence);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(decode_run(other)) << i;
  }
}

TEST(RecordText, NewerFormatsAreNamedAsSuch) {
  std::string run = R"({"pawl":4,"run":"x")";
  seal(run);
  EXPECT_EQ(decode_run(run).error().code, Code::unsupported_version);
  EXPECT_EQ(decode_store(R"({"pawl":3,"sealed":"otherwise"})").error().code, Code::unsupported_version);
}

TEST(RecordText, StoreGoesBothWays) {
  StoreKeyInfo key{
      .id = "0123456789abcdef", .scrypt = Scrypt{.salt = "s\x01lt", .n = 1024}, .wrapped = "\x01\xFF wrapped"};
  const StoreRecord store{kFormat, kRun, Timestamp{1'768'141'800'000'000}, std::move(key)};
  const std::string text = encode_store(store);
  const auto back = decode_store(text);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(encode_store(*back), text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 2);
    EXPECT_FALSE(decode_store(other)) << i;
  }
}

TEST(RecordText, AChangedStoreFileKeepsWhatIsNotKnown) {
  std::string text =
      R"({"pawl":1,"id":"f204a1d5-8a93-4062-89ff-98071e9ca6ca","later":{"a":[1.50]},"created":"2026-01-11T14:30:02.000002Z","key":null)";
  seal(text);
  auto store = decode_store(text);
  ASSERT_TRUE(store) << describe(store.error());
  store->format = 2;
  const auto changed = change_store(text + "\n", *store);
  ASSERT_TRUE(changed) << describe(changed.error());
  EXPECT_TRUE(
      changed->starts_with(R"({"pawl":2,"id":"f204a1d5-8a93-4062-89ff-98071e9ca6ca","later":{"a":[1.5]},"created":)"))
      << *changed;
  EXPECT_EQ(decode_store(*changed)->format, 2U);
}

TEST(RecordText, ACheckpointSaysItsFormatAndHowItIsStored) {
  const CheckpointInfo info = some_info();
  std::string sum;
  std::string text =
      encode_checkpoint({&info, "", Payload::state, R"("AAAA")", "zstd+aes", ""}, Shape::line, {kSalt, 0}, sum);
  text.pop_back();
  EXPECT_TRUE(text.starts_with(R"({"seq":17,"parent":16,"stored":6,"v":2,"enc":"zstd+aes","id":)")) << text;
  EXPECT_EQ(decode_checkpoint(text, 0)->how, "zstd+aes");
  std::string newer = R"({"seq":1,"parent":0,"stored":2,"v":3,"state":{},"sum":"sha256:)" + std::string(64, '0') + '"';
  seal(newer);
  EXPECT_EQ(decode_checkpoint(newer, 0).error().code, Code::unsupported_version);
}

TEST(RecordText, EventGoesBothWaysOnOneLine) {
  const Event event{7, Sequence{3}, Timestamp{1'768'141'800'000'000}, "ty\"pe", "{\"a\":\r\n1.50}"};
  const std::string line = encode_event({event, "zstd"}, 5);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
  const auto back = decode_event(text, 5);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(back->how, "zstd");
  EXPECT_EQ(back->event, (Event{7, Sequence{3}, event.created, "ty\"pe", "{\"a\":  1.50}"}));
  EXPECT_FALSE(decode_event(text, 6));
}

TEST(RecordText, EventWithoutTimeOrDataIsRefused) {
  for (std::string text :
       {R"({"n":1,"seq":1,"at":"2026-01-11T14:30:00.000000Z","type":"x")", R"({"n":1,"seq":1,"type":"x","data":1)"}) {
    seal(text);
    EXPECT_EQ(decode_event(text, 0).error().code, Code::checkpoint_corrupt) << text;
  }
}

TEST(RecordText, AuditEntriesHangTogether) {
  AuditEntry first{1, Timestamp{0}, "checkpoint_saved", Sequence{1}, "sha256:00", std::string(first_previous_hash()),
                   {}};
  const std::string line = encode_audit(first);
  const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
  const auto back = decode_audit(text);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_EQ(back->hash, first.hash);
  AuditEntry second{2, Timestamp{0}, "note", {}, {}, first.hash, {}};
  const std::string next = encode_audit(second);
  EXPECT_EQ(next.find("\"seq\""), std::string::npos);
  EXPECT_EQ(decode_audit(std::string_view(next).substr(0, next.size() - 1))->previous, first.hash);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other(text);
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(decode_audit(other)) << "byte " << i << " bit " << bit;
    }
  }
}

}  // namespace
}  // namespace pawl
