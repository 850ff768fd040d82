#include "secrets/secret_patterns.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace pawl {
namespace {

using Patterns = std::shared_ptr<const SecretPatterns>;

Patterns patterns_of(const SecretSettings& settings, std::vector<std::string> values) {
  auto made = SecretPatterns::make(settings, std::move(values));
  EXPECT_TRUE(made) << describe(made.error());
  return *made;
}

std::string masked_text(std::string_view text, const Patterns& patterns) {
  MaskCounts counts;
  return mask_secrets(text, patterns, counts);
}
std::string masked_text(std::string_view text) { return masked_text(text, patterns_of({}, {})); }

std::string in_pieces(std::string_view text, const Patterns& patterns, std::size_t size) {
  SecretMask mask(patterns);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) mask.add(text.substr(0, size), out);
  mask.finish(out);
  return out;
}

/// Assembled here, so that secret scanners don't report this file.
std::string repeated(std::string_view text, std::size_t size) {
  std::string out;
  while (out.size() < size) out += text;
  out.resize(size);
  return out;
}

struct Example {
  std::string kind;
  std::string secret;
  std::string before = {};  // the context that makes it a secret
  std::string after = {};
};

std::string key_block(std::size_t lines) {
  std::string block = "-----BEGIN RSA PRIVATE KEY-----\n";
  for (std::size_t i = 0; i < lines; ++i) block += repeated("MIIEpAIBAAKCAQEA7bq+/", 64) + "\n";
  return block + "AbC=\n-----END RSA PRIVATE KEY-----";
}

std::vector<Example> examples() {
  const std::string mixed = repeated("aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0z", 120);
  const std::string jwt_part = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
  return {
      {"aws-access-key-id", "AKIA" + repeated("IOSFODNN7EXAMPLE", 16)},
      {"aws-access-key-id", "ASIA" + repeated("Y34FZKBOKMUTVV7A", 16)},
      {"aws-secret-key", repeated("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY", 40), "aws_secret_access_key = "},
      {"aws-secret-key", repeated("/JalrXUtnFEMI+K7MDENG/bPxRfiCYzEXAMPLEKEY", 40), "AWS Secret Access Key: "},
      {"github-token", "ghp_" + mixed.substr(0, 36)},
      {"github-token", "gho_" + mixed.substr(0, 36)},
      {"github-token", "ghu_" + mixed.substr(0, 36)},
      {"github-token", "ghs_" + mixed.substr(0, 36)},
      {"github-token", "ghr_" + mixed.substr(0, 76)},
      {"github-token", "github_pat_" + mixed.substr(0, 22) + "_" + mixed.substr(0, 59)},
      {"gitlab-token", "glpat-" + mixed.substr(0, 20)},
      {"slack-token", "xoxb-" + std::string("123456789012-") + mixed.substr(0, 24)},
      {"slack-token", "xoxp-" + std::string("123456789012-") + mixed.substr(0, 24)},
      {"openai-key", "sk-" + mixed.substr(0, 48)},
      {"openai-key", "sk-proj-" + mixed.substr(0, 60)},
      {"anthropic-key", "sk-ant-api03-" + mixed.substr(0, 90)},
      {"google-api-key", "AIza" + mixed.substr(0, 35)},
      {"stripe-key", "sk_live_" + mixed.substr(0, 24)},
      {"stripe-key", "rk_live_" + mixed.substr(0, 24)},
      {"npm-token", "npm_" + mixed.substr(0, 36)},
      {"pypi-token", "pypi-" + mixed.substr(0, 100)},
      {"huggingface-token", "hf_" + mixed.substr(0, 34)},
      {"jwt", jwt_part + "." + jwt_part + "." + mixed.substr(0, 43)},
      {"authorization", mixed.substr(0, 20), "Authorization: Bearer "},
      {"authorization", "dXNlcjpwYXNzd29yZA==", "'authorization': 'Basic "},
      {"private-key", key_block(3)},
      {"private-key", "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0\\n-----END PRIVATE KEY-----"},
      {"url-password", "hunter2", "postgres://admin:", "@db.example:5432/x"},
      {"url-password", "p@ss:w0rd", "https://me:", "@example.org/"},
      {"credential", "hunter2hunter2", "DB_PASSWORD="},
      {"credential", mixed.substr(0, 32), "\"api_key\": \""},
      {"credential", mixed.substr(0, 32), "client-secret => '"},
  };
}

TEST(SecretPatterns, EveryKnownFormIsMaskedHoweverItIsCut) {
  const Patterns patterns = patterns_of({}, {});
  for (const Example& example : examples()) {
    const std::string text = "first line\n" + example.before + example.secret + example.after + "\" and more\n";
    const std::string wanted =
        "first line\n" + example.before + "[masked:" + example.kind + "]" + example.after + "\" and more\n";
    MaskCounts counts;
    EXPECT_EQ(mask_secrets(text, patterns, counts), wanted) << example.secret;
    EXPECT_EQ(counts, (MaskCounts{{example.kind, 1}})) << example.secret;
    for (const std::size_t size : {1U, 2U, 3U, 7U, 64U})
      EXPECT_EQ(in_pieces(text, patterns, size), wanted) << example.secret;
    const std::string at_the_end = example.before + example.secret + example.after;
    EXPECT_EQ(in_pieces(at_the_end, patterns, 1), example.before + "[masked:" + example.kind + "]" + example.after);
  }
}

TEST(SecretPatterns, OrdinaryTextsAreLeftAlone) {
  for (const std::string_view text : {
           "commit 4a9e91386bd15e0de8795b6e7c1d83e72eb0d385c3\nAuthor: A. Person <a@example.org>\n",
           "550e8400-e29b-41d4-a716-446655440000 id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
           "<img "
           "src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/"
           "w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==\">",
           "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
           "password: string;\nconst token = parser.next_token2();\nsecret = config.db1_password\n",
           "token = os.environ['TOKEN_2_LONG_NAME'];  password=$DB_PASSWORD1 password=${DB_PASSWORD_1}",
           "max_tokens: 4096, token_count=123456789012, tokens: 12345678901234567890",
           "PWD=/srv/user1/some/long/path OLDPWD=/srv/user1/other/path2 SSH_AUTH_SOCK=/run/1/agent",
           "http://localhost:8080/path see https://example.org:443/a:b@c and git@github.com:a/b.git",
           "postgres://user:$PASSWORD@host/db postgres://user:<password>@host/db http://user@host/",
           "sk-loading-spinner-with-a-long-class-name task-force-one disk-usage-of-everything-here",
           "Authorization: Bearer $TOKEN and Authorization: Bearer <token> and authorization: none",
           "monkeyJumpHandler.configuration.extended eyJ is how they begin; a key: value",
           "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\nMIIB\n-----END "
           "PUBLIC KEY-----",
           "12:30:45 INFO x=1 y=2 { \"a\": 1, \"b\": [1, 2] } a == b ? c : d; ::std::cout << x;",
           "npm_config_registry=x npm_package_dependencies_something_rather_long=1 hf_hub_download(repo)",
           "ghp_short glpat-short xoxb-1 AKIA AKIAshort AIza pypi-server-of-the-company-with-a-long-name",
       }) {
    EXPECT_EQ(masked_text(text), text);
    EXPECT_EQ(in_pieces(text, patterns_of({}, {}), 1), text);
  }
}

TEST(SecretPatterns, SecretsAreSeenBehindEscapesOfTerminalsAndTexts) {
  const std::string token = "hf_" + repeated("aB3dE6gH9jK2", 34);
  EXPECT_EQ(masked_text("\x1b[1;31m" + token + "\x1b[0m"), "\x1b[1;31m[masked:huggingface-token]\x1b[0m");
  EXPECT_EQ(masked_text("{\"a\":\"x\\n" + token + "\"}"), "{\"a\":\"x\\n[masked:huggingface-token]\"}");
  EXPECT_EQ(masked_text("?a%3D" + token + "&b"), "?a%3D[masked:huggingface-token]&b");
}

TEST(SecretPatterns, SecretsWithinSecretsLeaveNothing) {
  const std::string token = "ghp_" + repeated("aB3dE6gH9jK2", 36);
  EXPECT_EQ(masked_text("https://" + token + ":hunter2@github.com/"),
            "https://[masked:github-token]:[masked:url-password]@github.com/");
  EXPECT_EQ(masked_text("token=" + token), "token=[masked:github-token]");
  EXPECT_EQ(masked_text("Authorization: token " + token + "\n"), "Authorization: token [masked:github-token]\n");
  const Patterns declared = patterns_of({}, {token.substr(30) + " and more"});
  EXPECT_EQ(masked_text("x " + token + " and more y", declared), "x [masked:github-token] y");
}

TEST(SecretPatterns, APrivateKeyIsMaskedHoweverLongItIs) {
  const std::string block = key_block(20'000);
  EXPECT_EQ(in_pieces("a\n" + block + "\nb\n", patterns_of({}, {}), 1000), "a\n[masked:private-key]\nb\n");
  EXPECT_EQ(masked_text("a\n" + block.substr(0, 5000)), "a\n[masked:private-key]") << "also where its end is missing";
  EXPECT_EQ(
      masked_text(
          "a\n  -----BEGIN ENCRYPTED PRIVATE KEY-----\n  Proc-Type: 4,ENCRYPTED\n  DEK-Info: AES-128-CBC,1F\n\n  MIIB\n"
          "  -----END ENCRYPTED PRIVATE KEY-----\nb"),
      "a\n  [masked:private-key]\nb");
}

TEST(SecretPatterns, ATextAboutKeysIsNotSwallowed) {
  std::string prose = "it begins with -----BEGIN PRIVATE KEY----- and so on\n";
  for (int i = 0; i < 100; ++i) prose += "this is a line of an ordinary text\n";
  const std::string out = masked_text(prose);
  EXPECT_TRUE(out.starts_with("it begins with [masked:private-key]"));
  EXPECT_GT(out.size(), prose.size() - 300);
}

TEST(SecretPatterns, DeclaredValuesAreMaskedWhereverTheyStand) {
  const Patterns patterns = patterns_of({.mask_patterns = false}, {"abc", "", "abcd", "x"});
  EXPECT_EQ(masked_text("abcd abc zabcz y", patterns), "*** *** z***z y");
  EXPECT_EQ(masked_text("ax", patterns), "a***");
  EXPECT_EQ(in_pieces("ab abc abcd abcab", patterns, 1), "ab *** *** ***ab");
  EXPECT_EQ(masked_text("ghp_" + repeated("aB3", 36), patterns).size(), 40U) << "known forms are off";
}

TEST(SecretPatterns, ExpressionsOfTheUserAreMaskedWithinLines) {
  const Patterns patterns = patterns_of({.patterns = {"CUST-[0-9]{6}", "^pin: .*$"}}, {});
  const std::string text = "a CUST-123456 b\npin: 1234\nnot pin: 1\nCUST-12";
  const std::string wanted = "a [masked:pattern] b\n[masked:pattern]\nnot pin: 1\nCUST-12";
  for (const std::size_t size : {1U, 5U, 1000U}) EXPECT_EQ(in_pieces(text, patterns, size), wanted);
  const std::string endless = repeated("x", 10'000) + "CUST-654321" + repeated("y", 10'000);
  EXPECT_EQ(in_pieces(endless, patterns, 100), repeated("x", 10'000) + "[masked:pattern]" + repeated("y", 10'000));
}

TEST(SecretPatterns, NoExpressionMakesMaskingSlow) {
  const std::string text = repeated("a", 50'000) + "!\n";
  // A search that backtracks takes hours here, which exceeds the time limit of the test program.
  for (const char* slow : {"(.*a){20}b", "((a*)*)*c"}) {
    const Patterns patterns = patterns_of({.mask_patterns = false, .patterns = {slow}}, {});
    EXPECT_EQ(masked_text(text, patterns), text) << slow;
  }
  // A line that is longer than the window is searched in pieces, and `$` also matches at the end of a piece.
  for (const char* slow : {"(a+)+$", "(a|aa)*$"}) {
    const Patterns patterns = patterns_of({.mask_patterns = false, .patterns = {slow}}, {});
    EXPECT_TRUE(masked_text(text, patterns).ends_with("a!\n")) << slow;
  }
}

TEST(SecretPatterns, TheLeftmostMatchIsMaskedAndOverlapsAreJoined) {
  const Patterns patterns = patterns_of({.mask_patterns = false, .patterns = {"ab|abcd", "cde", "x*"}}, {});
  EXPECT_EQ(masked_text("-abcde-ab-", patterns), "-[masked:pattern][masked:pattern]-[masked:pattern]-");
  EXPECT_EQ(masked_text("-xx-x", patterns), "-[masked:pattern]-[masked:pattern]");
}

TEST(SecretPatterns, AnExpressionThatIsNoneIsRefused) {
  for (const char* bad : {"(", "[a", "(a)\\1"}) {
    const auto made = SecretPatterns::make({.patterns = {bad}}, {});
    ASSERT_FALSE(made) << bad;
    EXPECT_NE(made.error().message.find(bad), std::string::npos);
  }
}

TEST(SecretPatterns, WhatIsHeldBackIsBounded) {
  const Patterns patterns = patterns_of({}, {});
  for (const std::string_view beginning :
       {"eyJ", "see http://", "-----BEGIN ", "sk-", "token=", "Authorization: Bearer <"}) {
    SecretMask mask(patterns);
    std::string out;
    std::string given(beginning);
    mask.add(beginning, out);
    for (int i = 0; i < 100; ++i) {
      mask.add(repeated("abcdefg", 1000), out);
      given += repeated("abcdefg", 1000);
      ASSERT_GE(out.size() + kSecretHoldBytes + 1000, given.size()) << beginning;
    }
    mask.finish(out);
    EXPECT_EQ(out, given);
  }
}

TEST(SecretPatterns, ASecretLongerThanWhatIsHeldIsMaskedToItsEnd) {
  const Patterns patterns = patterns_of({}, {});
  const std::string jwt =
      "eyJ" + repeated("hbGciOiJ", 40) + ".eyJ" + repeated("aB3dE6", 30'000) + "." + repeated("Zz9", 43);
  EXPECT_EQ(in_pieces("a " + jwt + " b", patterns, 777), "a [masked:jwt] b");
  EXPECT_EQ(in_pieces("a sk-" + repeated("aB3", 50'000) + " b", patterns, 777), "a [masked:openai-key] b");
}

TEST(SecretPatterns, SecretsAtRandomPlacesOfRandomTextsInRandomPiecesNeverSurvive) {
  const std::vector<Example> all = examples();
  const Patterns patterns = patterns_of({}, {"hush-hush-7"});
  constexpr std::string_view kWords[] = {"the ",      "run-",  "x=1 ", "a:b ",     "\n",  "\t",
                                         "{\"k\":",   "task ", "sk",   "gh",       "--",  "http://h/ ",
                                         "\xc3\xa4 ", "eye ",  "AS ",  "1234567 ", "\\n", "'q' "};
  for (std::uint32_t seed = 1; seed <= 3'000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::string text;
    std::string wanted;
    std::vector<std::string> secrets;
    for (std::size_t parts = 1 + below(6); parts > 0; --parts) {
      for (std::size_t words = below(12); words > 0; --words) {
        const std::string_view word = kWords[below(std::size(kWords))];
        text += word;
        wanted += word;
      }
      const Example& example = all[below(all.size())];
      const char end = "\n \"'"[below(4)];
      text += " " + example.before + example.secret + example.after + end;
      wanted += " " + example.before + "[masked:" + example.kind + "]" + example.after + end;
      secrets.push_back(example.secret);
      if (below(4) == 0) text += "hush-hush-7", wanted += "***";
    }
    SecretMask mask(patterns);
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = std::min(rest.size(), 1 + below(below(2) == 0 ? 3 : 200));
      mask.add(rest.substr(0, size), out);
      rest.remove_prefix(size);
    }
    mask.finish(out);
    ASSERT_EQ(out, wanted) << "seed " << seed << "\n" << text;
    for (const std::string& secret : secrets) ASSERT_EQ(out.find(secret), std::string::npos) << "seed " << seed;
  }
}

TEST(SecretPatterns, RandomBytesPassUnchangedInAnyPieces) {
  const Patterns patterns = patterns_of({}, {});
  std::mt19937 random(7);
  std::string bytes(1'000'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  EXPECT_EQ(in_pieces(bytes, patterns, 4096), bytes);
}

}  // namespace
}  // namespace pawl
