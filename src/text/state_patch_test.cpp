#include "text/state_patch.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/json.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

std::string patched(std::string_view state, std::string_view patch) {
  const Result<std::string> result = apply_patch(state, patch);
  return result ? *result : "error: " + describe(result.error());
}

struct PatchCase {
  const char* state;
  const char* patch;
  const char* result;
};

TEST(StatePatch, DoesTheCasesOfRfc7396AppendixA) {
  const PatchCase cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const PatchCase& c : cases) EXPECT_EQ(patched(c.state, c.patch), c.result) << c.state << " + " << c.patch;
}

TEST(StatePatch, LeavesUntouchedBytesAsTheyAre) {
  EXPECT_EQ(patched("{ \"z\" : 1.50e+1 ,\n\t\"a\" : { \"k\": [ 1 , 2 ] } ,\"m\":0 }\n", R"({"m": 7})"),
            "{ \"z\" : 1.50e+1 ,\n\t\"a\" : { \"k\": [ 1 , 2 ] } ,\"m\":7 }\n");
  EXPECT_EQ(patched(R"( {"a" : {"x": 1.0, "y" :2} } )", R"({"a": {"y": 3}})"), R"( {"a" : {"x": 1.0, "y" :3} } )");
  EXPECT_EQ(patched("{ \"a\" : 1 }", "{}"), "{ \"a\" : 1 }");
}

TEST(StatePatch, TidiesOneCommaOfARemovedMember) {
  const char* state = R"({ "a" : 1 , "b" : 2 , "c" : 3 })";
  EXPECT_EQ(patched(state, R"({"a":null})"), R"({ "b" : 2 , "c" : 3 })");
  EXPECT_EQ(patched(state, R"({"b":null})"), R"({ "a" : 1 , "c" : 3 })");
  EXPECT_EQ(patched(state, R"({"c":null})"), R"({ "a" : 1 , "b" : 2 })");
  EXPECT_EQ(patched(state, R"({"a":null,"b":null})"), R"({ "c" : 3 })");
  EXPECT_EQ(patched(state, R"({"a":null,"b":null,"c":null})"), R"({  })");
  EXPECT_EQ(patched(state, R"({"a":null,"b":null,"c":null,"d":4})"), R"({ "d":4 })");
  EXPECT_EQ(patched(state, R"({"a":null,"c":null,"d":4})"), R"({ "b" : 2,"d":4 })");
}

TEST(StatePatch, AddsMembersAtTheEndOfAnEmptyObject) {
  EXPECT_EQ(patched("{}", R"({"a": 1, "b" : [ 2 ]})"), R"({"a":1,"b":[ 2 ]})");
  EXPECT_EQ(patched("{ }", R"({"a":1})"), R"({"a":1 })");
  EXPECT_EQ(patched(R"({"o":{}})", R"({"o":{"x":null,"y":{}}})"), R"({"o":{"y":{}}})");
}

TEST(StatePatch, TreatsEscapedKeysAsEqual) {
  EXPECT_EQ(patched(R"({"\u0061":1,"é":2})", R"({"a":3,"\u00e9":4})"), R"({"\u0061":3,"é":4})");
  EXPECT_EQ(patched(R"({"\ud83d\ude00":1})", R"({"😀":null})"), R"({})");
  EXPECT_EQ(patched(R"({"a\"b":1,"a\\":2})", R"({"a\u0022b":3,"a\u005c":null})"), R"({"a\"b":3})");
}

TEST(StatePatch, FindsKeysAmongMany) {
  std::string state = "{\"k0\":0";
  std::string patch = "{\"k0\":1";
  std::string expected = "{\"k0\":1";
  for (int i = 1; i < 100; ++i) {
    state += ",\"k" + std::to_string(i) + "\":0";
    patch += ",\"k" + std::to_string(100 - i) + "\":1";
    expected += ",\"k" + std::to_string(i) + "\":1";
  }
  EXPECT_EQ(patched(state + "}", patch + "}"), expected + "}");
}

TEST(StatePatch, AppendsToAnArray) {
  EXPECT_EQ(patched(R"({"m":[1, 2 ],"n":0})", R"({"m":{"$append":[ 3,4 ]}})"), R"({"m":[1, 2,3,4 ],"n":0})");
  EXPECT_EQ(patched(R"({"m":[]})", R"({"m":{"$append":[{"a":null}]}})"), R"({"m":[{"a":null}]})");
  EXPECT_EQ(patched(R"({"m":[ ]})", R"({"m":{"$append":[1]}})"), R"({"m":[1 ]})");
  EXPECT_EQ(patched(R"({"m":[1]})", R"({"m":{"$append":[]}})"), R"({"m":[1]})");
  EXPECT_EQ(patched(R"({})", R"({"m":{"$append":[1]}})"), R"({"m":[1]})");
  EXPECT_EQ(patched(R"({"x":1})", R"({"x":{"y":{"$append":[1]}}})"), R"({"x":{"y":[1]}})");
  EXPECT_EQ(patched(R"([[1]])", R"({"$append":[2]})"), R"([[1],2])");
  EXPECT_EQ(patched(R"({"a":{"b":["]"]}})", R"({"a":{"b":{"\u0024append":["["]}}})"), R"({"a":{"b":["]","["]}})");
}

TEST(StatePatch, RefusesAnAppendThatMakesNoSenseAndNamesThePlace) {
  const auto error = [](std::string_view state, std::string_view patch) {
    const Result<std::string> result = apply_patch(state, patch);
    EXPECT_FALSE(result) << state << " + " << patch;
    return result ? Error{} : result.error();
  };
  const Error not_array = error(R"({"a":{"b/c":7}})", R"({"a":{"b/c":{"$append":[1]}}})");
  EXPECT_EQ(not_array.code, Code::invalid_patch);
  EXPECT_EQ(not_array.where, "/a/b~1c");
  EXPECT_EQ(error("{}", R"({"$append":[1]})").code, Code::invalid_patch);
  EXPECT_EQ(error(R"({"a":[]})", R"({"a":{"$append":1}})").where, "/a");
  EXPECT_EQ(error(R"({"a":[]})", R"({"a":{"$append":null}})").code, Code::invalid_patch);
  EXPECT_EQ(error(R"({"a":[]})", R"({"a":{"$append":[],"b":1}})").code, Code::invalid_patch);
  EXPECT_EQ(error(R"({})", R"({"a":{"b":{"b":1,"$append":[]}}})").where, "/a/b");
  EXPECT_EQ(error("  ", "{}").code, Code::invalid_patch);
  EXPECT_EQ(error("{}", " ").code, Code::invalid_patch);
}

TEST(StatePatch, GoesAsDeepAsJsonMayBe) {
  const auto nested = [](std::size_t depth, const std::string& innermost) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "{\"a\":";
    return text + innermost + std::string(depth, '}');
  };
  EXPECT_EQ(patched(nested(512, "1"), nested(512, "2")), nested(512, "2"));
  EXPECT_EQ(patched("{}", nested(512, "2")), nested(512, "2"));
  EXPECT_EQ(apply_patch(nested(600, "1"), nested(600, "2")).error().code, Code::json_too_deep);
}

// --- Against a naive implementation over a tree ---

Json merged(const Json& state, const Json& patch) {
  if (!patch.is_object()) return patch;
  Json result = state.is_object() ? state : Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      result.erase(key);
    } else {
      result[key] = merged(result.contains(key) ? result[key] : Json(), value);
    }
  }
  return result;
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }

  Json value(int depth) {
    static const std::vector<Json> scalars = {Json(), Json(true), Json(1), Json(-2.5), Json("x"), Json("q\"\\\n]}é😀")};
    const std::size_t pick = below(depth > 0 ? 10 : 6);
    if (pick < 6) return scalars[pick];
    Json result = pick < 8 ? Json::object() : Json::array();
    for (std::size_t left = below(5); left > 0; --left) {
      if (result.is_object()) {
        result[key()] = value(depth - 1);
      } else {
        result.push_back(value(depth - 1));
      }
    }
    return result;
  }

  /// The same value with random spaces and escapes.
  std::string text(const Json& json) {
    std::string out = space();
    if (json.is_object()) {
      out += '{' + space();
      for (const auto& [key, value] : json.items()) {
        if (out.back() != '{' && out.find_last_not_of(" \n") != out.find('{')) out += ',';
        out += space() + Json(key).dump(-1, ' ', below(2) == 0) + space() + ':' + text(value);
      }
      out += '}';
    } else {
      out += json.dump(below(2) == 0 ? -1 : 1, ' ', below(2) == 0);
    }
    return out + space();
  }

 private:
  std::string key() { return std::vector<std::string>{"a", "b", "c", "", "é", "x\"y", "~/"}[below(7)]; }
  std::string space() { return std::vector<std::string>{"", "", " ", "\n "}[below(4)]; }
  std::mt19937 random_;
};

TEST(StatePatch, AgreesWithANaiveMergeOnRandomTexts) {
  Generator generator(20260111);
  for (int i = 0; i < 20'000; ++i) {
    const Json state = generator.value(4);
    const Json patch = generator.value(4);
    const std::string state_text = generator.text(state);
    const std::string patch_text = generator.text(patch);
    ASSERT_EQ(Json::parse(state_text), state) << state_text;
    const std::string result = patched(state_text, patch_text);
    ASSERT_TRUE(Json::accept(result)) << state_text << " + " << patch_text << " = " << result;
    ASSERT_EQ(Json::parse(result), merged(state, patch)) << state_text << " + " << patch_text << " = " << result;
  }
}

TEST(StatePatch, SurvivesTextThatIsNotJson) {
  std::mt19937 random(7);
  constexpr std::string_view kBytes = "{}[]\",:\\ua0 1tn$";
  const auto noise = [&] {
    std::string text = random() % 2 == 0 ? "{" : "";
    for (std::size_t left = random() % 24; left > 0; --left) text += kBytes[random() % kBytes.size()];
    return text;
  };
  for (int i = 0; i < 100'000; ++i) (void)apply_patch(noise(), noise());
}

}  // namespace
}  // namespace pawl
