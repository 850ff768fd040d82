#include "codec/packing.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/json.hpp"
#include "codec/base64.hpp"
#include "codec/compression.hpp"
#include "codec/json_check.hpp"
#include "codec/state_format.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kMax = 64U << 20U;
const SecretKey kKey = SecretKey::of("0123456789abcdef0123456789abcdef");
constexpr std::string_view kNonce = "nonce nonce ";

/// Generates JSON as people and programs write it: spaces, escapes, long and exact numbers, empty values, any Unicode.
class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : random_(seed) {}
  std::string value(int depth = 0) {
    switch (pick(depth > 4 ? 6 : 8)) {
      case 0: return pick(2) == 0 ? "true" : "null";
      case 1: return std::to_string(random_());
      case 2: return "-" + std::to_string(random_() >> 1U);
      case 3: return number();
      case 4:
      case 5: return text();
      case 6: return list("[", "]", [&] { return value(depth + 1); });
      default: {
        int key = 0;  // keys are unique
        return list("{", "}",
                    [&] { return "\"" + std::to_string(key++) + " k\"" + space() + ":" + space() + value(depth + 1); });
      }
    }
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  std::string space() { return compact_ ? "" : std::string(pick(3), pick(2) == 0 ? ' ' : '\n'); }
  std::string number() {
    constexpr std::string_view kNumbers[] = {"0",
                                             "-0",
                                             "0.1",
                                             "1.0",
                                             "1e5",
                                             "1.50",
                                             "123456789012345680",
                                             "5e-324",
                                             "1.7976931348623157e308",
                                             "0.30000000000000004",
                                             "-0.0",
                                             "1E+2"};
    return std::string(kNumbers[pick(std::size(kNumbers))]);
  }
  std::string text() {
    constexpr std::string_view kParts[] = {"",     "plain",    "\\n",          "\\u0000",          "\\\"",
                                           "\\\\", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\\ud83d\\ude00",
                                           "\\/",  "\x7F"};
    std::string out = "\"";
    for (std::uint64_t i = pick(4); i > 0; --i) out += kParts[pick(std::size(kParts))];
    return out + "\"";
  }
  template <class Make>
  std::string list(std::string_view open, std::string_view close, Make make) {
    std::string out(open);
    const std::uint64_t count = pick(5);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) out += ",";
      out += space() + make() + space();
    }
    return out + std::string(close);
  }

  std::mt19937_64 random_;
  bool compact_ = random_() % 2 == 0;
};

std::vector<PackRules> all_rules() {
  std::vector<PackRules> rules;
  for (const StateFormat format : {StateFormat::json, StateFormat::msgpack, StateFormat::cbor}) {
    for (const Compression compression : {Compression::none, Compression::automatic, Compression::zstd}) {
      rules.push_back({format, compression, 64, 3});
    }
  }
  return rules;
}

TEST(Packing, EveryCombinationGivesTheSameBytesBack) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::string state = RandomJson(seed).value();
    ASSERT_TRUE(check_json(state, kMax)) << state;
    for (const PackRules& rules : all_rules()) {
      Packed packed = pack(state, Content::state, rules);
      const std::string_view plain = packed.how.empty() ? std::string_view(state) : std::string_view(packed.bytes);
      const auto back = unpack(packed.how, plain, nullptr, "", kMax);
      ASSERT_TRUE(back) << describe(back.error());
      ASSERT_EQ(*back, state) << packed.how;

      encrypt(packed, state, kKey, kNonce, "a place");
      ASSERT_TRUE(is_encrypted(packed.how));
      const auto opened = unpack(packed.how, packed.bytes, &kKey, "a place", kMax);
      ASSERT_TRUE(opened) << describe(opened.error());
      ASSERT_EQ(*opened, state) << packed.how;
      ASSERT_EQ(unpack(packed.how, packed.bytes, nullptr, "a place", kMax).error().code, Code::key_missing);
      ASSERT_EQ(unpack(packed.how, packed.bytes, &kKey, "another place", kMax).error().code, Code::decryption_failed);
    }
  }
}

TEST(Packing, SaysWhatWasDone) {
  const std::string state = "{\"text\":\"" + std::string(50'000, 'x') + "\"}";
  EXPECT_EQ(pack(state, Content::state, {}).how, "");
  EXPECT_EQ(pack(state, Content::other, {StateFormat::msgpack, Compression::zstd, 0, 3}).how, "zstd");
  EXPECT_EQ(pack(state, Content::state, {StateFormat::json, Compression::automatic, 100'000, 3}).how, "");
  Json list;
  for (int i = 1; i < 2000; ++i) list.push_back(0.1234567890123 * i);
  const std::string numbers = list.dump();
  EXPECT_EQ(pack(numbers, Content::state, {StateFormat::cbor, Compression::none, 0, 3}).how, "cbor");
  EXPECT_EQ(pack(numbers, Content::state, {StateFormat::msgpack, Compression::zstd, 0, 3}).how, "msgpack+zstd");
}

TEST(Packing, ABinaryFormatIsNeverLargerThanJson) {
  int used = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::string state = RandomJson(seed).value();
    for (const PackRules& rules : all_rules()) {
      const Packed packed = pack(state, Content::state, rules);
      PackRules text = rules;
      text.format = StateFormat::json;
      const Packed as_json = pack(state, Content::state, text);
      const auto stored = [&](const Packed& one) {
        return one.how.empty() ? state.size() : to_base64(one.bytes).size() + 2;
      };
      ASSERT_LE(stored(packed), stored(as_json)) << state << " " << packed.how;
      used += packed.how.starts_with("msgpack") || packed.how.starts_with("cbor") ? 1 : 0;
    }
  }
  EXPECT_GT(used, 0);
}

TEST(Packing, ABinaryFormThatIsLargerThanItsTextComesBackWithinTheTextsSize) {
  std::string numbers = "[0.5";
  for (int i = 0; i < 5000; ++i) numbers += ",0.5";
  numbers += "]";
  for (const std::string& state : {"\"" + std::string(5000, 'x') + "\"", numbers, std::string("0.5")}) {
    for (const StateFormat format : {StateFormat::msgpack, StateFormat::cbor}) {
      const std::string bytes = *to_binary(state, format);
      const auto opened = from_binary(bytes, format, state.size());
      ASSERT_TRUE(opened) << describe(opened.error());
      EXPECT_EQ(*opened, state);
    }
  }
}

TEST(Packing, ASmallStateOfAWorkflowIsMuchSmallerWithTheDictionary) {
  const std::string state =
      R"({"pawl":"run/1","status":"running","position":"before_step","workflow":{"name":"notes","file":"notes.yaml","hash":"4e1f"},)"
      R"("working_dir":"/srv/notes","vars":{"topic":"bees"},"spent_ms":812,"completed_steps":2,"events":9,"steps":{"gather":{"status":)"
      R"("completed","output":"12 pages","ended_ms":1768141800123,"ms":512,"def":"9a01b2c3"},"outline":{"status":"completed",)"
      R"("ended_ms":1768141800555,"ms":300,"def":"77e0aa10"},"write":{"status":"running","started":"2026-01-11T14:30:02.000002Z"}}})";
  const Packed with = pack(state, Content::state, {StateFormat::json, Compression::zstd, 0, 3});
  const Packed without = pack(state, Content::state, {StateFormat::json, Compression::zstd, 0, 3, Dictionary::none});
  EXPECT_EQ(with.how, "zstd1");
  EXPECT_EQ(without.how, "zstd");
  EXPECT_LT(with.bytes.size() * 3, without.bytes.size() * 2);
  EXPECT_EQ(unpack("zstd1", with.bytes, nullptr, "", kMax).value(), state);
  EXPECT_EQ(unpack("zstd", with.bytes, nullptr, "", kMax).error().code, Code::decoding_failed);
}

TEST(Packing, AStateThatABinaryFormatWouldChangeStaysJson) {
  for (const char* state : {R"({ "a": 1})", R"([1.50])", R"(["\/"])", R"([1e5])", R"(["\u00e4"])"}) {
    EXPECT_EQ(pack(state, Content::state, {StateFormat::msgpack, Compression::none, 0, 3}).how, "") << state;
    EXPECT_EQ(pack(state, Content::state, {StateFormat::cbor, Compression::none, 0, 3}).how, "") << state;
  }
}

TEST(Packing, EveryChangedBitOfTheCiphertextIsRefused) {
  Packed packed;
  encrypt(packed, R"({"secret":1})", kKey, kNonce, "place");
  for (std::size_t bit = 0; bit < packed.bytes.size() * 8; ++bit) {
    std::string changed = packed.bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(open_secret(kKey, changed, "place").error().code, Code::decryption_failed) << bit;
  }
  EXPECT_FALSE(open_secret(kKey, packed.bytes.substr(0, 20), "place"));
  EXPECT_FALSE(open_secret(SecretKey::of(std::string(32, 'k')), packed.bytes, "place"));
}

TEST(Packing, AWayOfStoringThatIsNotKnownIsANewerVersions) {
  EXPECT_EQ(unpack("brotli", "x", nullptr, "", kMax).error().code, Code::unsupported_version);
  EXPECT_EQ(unpack("aes+zstd", "x", &kKey, "", kMax).error().code, Code::decoding_failed) << "encryption comes last";
}

TEST(Packing, ABombIsRefusedBeforeItTakesMemory) {
  const std::string bomb = compress_zstd(std::string(50U << 20U, '\0'), 19);
  EXPECT_LT(bomb.size(), 10'000U);
  EXPECT_EQ(unpack("zstd", bomb, nullptr, "", 1U << 20U).error().code, Code::decoding_failed);
  // A frame that claims a size of 2^60 bytes.
  const std::string lie("\x28\xB5\x2F\xFD\xE0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00", 16);
  EXPECT_EQ(unpack("zstd", lie, nullptr, "", kUnpackedMax).error().code, Code::decoding_failed);
  EXPECT_EQ(unpack("zstd", "", nullptr, "", kMax).error().code, Code::decoding_failed);
  EXPECT_EQ(unpack("zstd", bomb + bomb, nullptr, "", kMax * 2).error().code, Code::decoding_failed);
}

TEST(Packing, BinaryThatNestsWithoutEndOrLiesAboutItsLengthIsRefused) {
  const std::string deep_msgpack(1'000'000, '\x91');
  const std::string deep_cbor(1'000'000, '\x81');
  EXPECT_EQ(from_binary(deep_msgpack, StateFormat::msgpack, kMax).error().code, Code::decoding_failed);
  EXPECT_EQ(from_binary(deep_cbor, StateFormat::cbor, kMax).error().code, Code::decoding_failed);
  EXPECT_FALSE(from_binary(std::string("\xDD\xFF\xFF\xFF\xFF", 5), StateFormat::msgpack, kMax));
  EXPECT_FALSE(from_binary(std::string("\xDB\xFF\xFF\xFF\xFFx", 6), StateFormat::msgpack, kMax));
  EXPECT_FALSE(from_binary(std::string("\x9B\x10\x00\x00\x00\x00\x00\x00\x00", 9), StateFormat::cbor, kMax));
  EXPECT_FALSE(from_binary(std::string("\x7B\x10\x00\x00\x00\x00\x00\x00\x00x", 10), StateFormat::cbor, kMax));
  EXPECT_FALSE(from_binary(std::string("\xC4\x01x", 3), StateFormat::msgpack, kMax)) << "JSON has no bytes";
  EXPECT_FALSE(from_binary(std::string("\xCB\x7F\xF8\x00\x00\x00\x00\x00\x00", 9), StateFormat::msgpack, kMax))
      << "nor NaN";
  EXPECT_FALSE(from_binary("\x01\x01", StateFormat::msgpack, kMax)) << "something stands behind it";
  EXPECT_FALSE(from_binary(std::string("\xA3"
                                       "abc",
                                       4),
                           StateFormat::msgpack, 2))
      << "larger than allowed";
}

TEST(Gzip, ReadsAllMembersAndRefusesTheRest) {
  // printf 'hello ' | gzip -n
  const std::string hello(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x57\x00\x00\xf6\xf9\x81\xed\x06\x00\x00\x00", 26);
  EXPECT_EQ(*decompress_gzip(hello, 100), "hello ");
  EXPECT_EQ(*decompress_gzip(hello + hello, 100), "hello hello ");
  EXPECT_FALSE(decompress_gzip(hello + hello, 11));
  for (std::size_t size = 1; size < hello.size(); ++size)
    EXPECT_FALSE(decompress_gzip(hello.substr(0, size), 100)) << size;
  EXPECT_FALSE(decompress_gzip(hello + "x", 100));
}

TEST(Base64, GoesBothWaysAndTakesNothingElse) {
  std::mt19937_64 random(7);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
  }
  EXPECT_EQ(to_base64("Man"), "TWFu");
  EXPECT_EQ(to_base64("Ma"), "TWE=");
  EXPECT_EQ(to_base64("M"), "TQ==");
  for (const char* wrong :
       {"T", "TQ", "TQ=", "TQ===", "TR==", "TWF=", "T W=", "TWF\n", "TWFu=", "====", "A===", "TWE=TWE="}) {
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace pawl
