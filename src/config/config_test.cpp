#include "config/config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace pawl {
namespace {

Result<Config> read(std::string_view text, ConfigPlace place = ConfigPlace::user) {
  Config config;
  PAWL_TRY(apply_config(config, text, "config.yaml", place));
  return config;
}

Error fault(std::string_view text, ConfigPlace place = ConfigPlace::user) {
  const Result<Config> config = read(text, place);
  EXPECT_FALSE(config) << text;
  return config ? Error{} : config.error();
}

/// A world of files and variables.
ConfigWorld world(std::map<std::string, std::string> files, std::map<std::string, std::string> variables) {
  ConfigWorld made;
  made.read_file = [files](const std::string& path, std::uint64_t) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Error{Code::input_unreadable, "there is no such file", path, {}, ENOENT});
    return found->second;
  };
  made.environment = [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& [name, value] : variables) made.variables.push_back(name + "=" + value);
  return made;
}

TEST(Config, WithoutFilesHasTheBuiltInValues) {
  const Config config = read("").value();
  EXPECT_TRUE(config.settings.checkpoint.enabled);
  EXPECT_EQ(config.settings.checkpoint.size_max_bytes, 100ULL << 20U);
  EXPECT_FALSE(config.settings.recovery.automatic);
  EXPECT_EQ(config.origin("checkpoint", "enabled"), "the default");
  EXPECT_TRUE(read("# only a comment\n"));
}

TEST(Config, ReadsTheSettingsOfTheDocumentBehindIt) {
  const auto config = read(
      "checkpoint_config:\n  enabled: true\n  storage_path: \"./outputs/checkpoints\"\n  compression: true\n"
      "  encryption: true\n  retention_days: 30\n  max_checkpoints_per_phase: 5\n  checkpoint_size_limit_mb: 100\n"
      "recovery_config:\n  auto_recovery: true\n  max_recovery_attempts: 3\n  recovery_timeout_seconds: 300\n"
      "  fallback_to_previous: true\n"
      "performance_config:\n  async_writes: true\n  batch_decisions: true\n  compression_level: 6\n"
      "  memory_mapped_threshold_mb: 10\n");
  ASSERT_TRUE(config) << describe(config.error());
  const Settings& settings = config->settings;
  EXPECT_EQ(settings.checkpoint.storage_path, "./outputs/checkpoints");
  EXPECT_EQ(settings.checkpoint.compression, Compression::automatic);
  EXPECT_TRUE(settings.checkpoint.encryption);
  EXPECT_EQ(settings.checkpoint.retention.keep_days, 30U);
  EXPECT_EQ(settings.checkpoint.retention.keep_per_stage, 5U);
  EXPECT_EQ(settings.checkpoint.size_max_bytes, 100ULL << 20U);
  EXPECT_TRUE(settings.recovery.automatic);
  EXPECT_EQ(settings.recovery.timeout.count(), 300'000);
  EXPECT_TRUE(settings.performance.async_writes);
  EXPECT_EQ(settings.performance.compression_level, 6);
  EXPECT_EQ(config->origin("performance", "compression_level"), "config.yaml:17");
}

TEST(Config, ReadsShortNamesAndUnits) {
  const auto config = read(
      "checkpoint: { keep: 7, size_limit: 2GiB, size_warning: 1MB, format: cbor, compression: false }\n"
      "recovery: { auto: true, max_attempts: 5, within: 2h, timeout: 90s }\n"
      "performance: { memory_mapped_threshold: 64KiB }\n"
      "secrets: { patterns: ['a{1,3}'], state_keys: [token, password] }\n"
      "encryption: { key_file: k }\n");
  ASSERT_TRUE(config) << describe(config.error());
  const Settings& settings = config->settings;
  EXPECT_EQ(settings.checkpoint.retention.keep, 7U);
  EXPECT_EQ(settings.checkpoint.size_max_bytes, 2ULL << 30U);
  EXPECT_EQ(settings.checkpoint.size_warning_bytes, 1'000'000U);
  EXPECT_EQ(settings.checkpoint.format, StateFormat::cbor);
  EXPECT_EQ(settings.checkpoint.compression, Compression::none);
  EXPECT_EQ(settings.recovery.within.count(), 7'200'000);
  EXPECT_EQ(settings.recovery.timeout.count(), 90'000);
  EXPECT_EQ(settings.performance.mapped_from_bytes, 65'536U);
  EXPECT_EQ(settings.secrets.state_keys, (std::vector<std::string>{"token", "password"}));
  EXPECT_EQ(settings.encryption.key_file, "k");
}

TEST(Config, AMisspeltNameIsAnErrorWithAPlaceAndASuggestion) {
  const Error key = fault("checkpoint:\n  retention_day: 3\n");
  EXPECT_EQ(key.code, Code::invalid_config);
  EXPECT_EQ(key.where, "config.yaml:2:3");
  EXPECT_EQ(key.hint, "did you mean 'retention_days'?");
  const Error section = fault("\ncheckpoints: {}\n");
  EXPECT_EQ(section.where, "config.yaml:2:1");
  EXPECT_EQ(section.hint, "did you mean 'checkpoint'?");
  EXPECT_EQ(fault("async_writes: true").hint, "'async_writes' belongs under 'performance:'");
}

TEST(Config, WrongValuesAreErrorsWithTheirPlace) {
  const std::map<std::string, std::string> wrong = {
      {"checkpoint: 1", "config.yaml:1:13"},
      {"checkpoint: { enabled: perhaps }", "config.yaml:1:24"},
      {"checkpoint: { enabled: 'true' }", "config.yaml:1:24"},
      {"checkpoint: { enabled: }", "config.yaml:1:"},
      {"checkpoint: { retention_days: 0 }", "config.yaml:1:31"},
      {"checkpoint: { retention_days: -1 }", "config.yaml:1:31"},
      {"checkpoint: { retention_days: 1.5 }", "config.yaml:1:31"},
      {"checkpoint: { retention_days: 99999999999999999999 }", "config.yaml:1:31"},
      {"checkpoint: { size_limit: 100 }", "config.yaml:1:27"},
      {"checkpoint: { checkpoint_size_limit_mb: 18446744073709551615 }", "config.yaml:1:41"},
      {"checkpoint: { format: jsn }", "config.yaml:1:23"},
      {"checkpoint: { storage_path: '' }", "config.yaml:1:29"},
      {"performance: { compression_level: 20 }", "config.yaml:1:35"},
      {"recovery: { within: 5 }", "config.yaml:1:21"},
      {"secrets: { patterns: { a: 1 } }", "config.yaml:1:22"},
      {"secrets: { patterns: [[a]] }", "config.yaml:1:22"},
      {"[1]", "config.yaml:1:1"},
      {"a: [", "config.yaml:"},
      {"recovery:\n\tauto: true\n", "config.yaml:2:1"},
      {"recovery: { auto: true, auto: false }", "config.yaml:1:25"},
      {"recovery: { auto: true }\n---\nrecovery: { auto: false }\n", "config.yaml:2:1"},
      {"recovery: !thing { auto: true }", "config.yaml:1:"},
  };
  for (const auto& [text, place] : wrong) {
    const Error error = fault(text);
    EXPECT_EQ(error.code, Code::invalid_config) << text;
    EXPECT_TRUE(error.where.starts_with(place)) << text << " -> " << error.where << ": " << error.message;
  }
}

TEST(Config, ASettingUnderTwoOfItsNamesIsAnError) {
  const Error error = fault("recovery:\n  auto: true\n  auto_recovery: false\n");
  EXPECT_EQ(error.where, "config.yaml:3:3");
  EXPECT_EQ(fault("recovery: { auto: true }\nrecovery_config: { auto: false }\n").where, "config.yaml:2:20");
}

TEST(Config, AllFaultsAreListed) {
  const Error error = fault("checkpoint: { enabled: 3, kep: 1 }\nrecovry: {}\n");
  EXPECT_NE(error.message.find("config.yaml:1:27"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("config.yaml:2:1"), std::string::npos) << error.message;
}

TEST(Config, AFaultChangesNothing) {
  Config config;
  ASSERT_FALSE(apply_config(config, "checkpoint: { keep: 3, kep: 1 }", "f", ConfigPlace::user));
  EXPECT_EQ(config.settings.checkpoint.retention.keep, std::nullopt);
  EXPECT_EQ(config.origin("checkpoint", "keep"), "the default");
}

TEST(Config, TheStoresFileCantSayWhereTheStoreIs) {
  EXPECT_EQ(fault("checkpoint: { storage_path: x }", ConfigPlace::store).where, "config.yaml:1:15");
}

TEST(Config, APathWithAPlaceholderIsRefused) {
  const Error error = fault("checkpoint: { storage_path: './outputs/{TASK}/checkpoints' }");
  EXPECT_NE(error.message.find("placeholder"), std::string::npos);
}

TEST(Config, DeepAndHugeFilesAreRefused) {
  EXPECT_EQ(fault(std::string(60'000, '[')).code, Code::invalid_config);
  EXPECT_EQ(fault("checkpoint: " + std::string(60'000, '{')).code, Code::invalid_config);
  EXPECT_EQ(fault(std::string(kConfigBytesMax + 1, '#')).code, Code::invalid_config);
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c, char(c - 1));
  EXPECT_EQ(fault(bomb).code, Code::invalid_config);
}

TEST(Config, APatternThatIsNotSupportedIsAnErrorWithItsPlace) {
  const auto config = load_config(world({{"s/config.yaml", "secrets:\n  patterns: ['x', '(?=a)b']\n"}}, {}), "s");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::invalid_config);
  EXPECT_EQ(config.error().where, "s/config.yaml:2");
  EXPECT_EQ(config.error().message,
            "secrets.patterns: invalid regular expression '(?=a)b': lookahead (?=...) is not supported");
}

TEST(Config, LaterPlacesWin) {
  const auto config = load_config(
      world({{"/h/u/.config/pawl/config.yaml", "checkpoint: { keep: 1, retention_days: 1 }\nrecovery: { auto: true }"},
             {"s/config.yaml", "checkpoint:\n  keep: 2\n  retention_days: 2\n"}},
            {{"HOME", "/h/u"}, {"PAWL_CHECKPOINT_MAX_CHECKPOINTS", "3"}, {"PAWL_STORE", "elsewhere"}}),
      "file:s");
  ASSERT_TRUE(config) << describe(config.error());
  EXPECT_EQ(config->settings.checkpoint.retention.keep, 3U);
  EXPECT_EQ(config->origin("checkpoint", "keep"), "$PAWL_CHECKPOINT_MAX_CHECKPOINTS");
  EXPECT_EQ(config->settings.checkpoint.retention.keep_days, 2U);
  EXPECT_EQ(config->origin("checkpoint", "retention_days"), "s/config.yaml:3");
  EXPECT_TRUE(config->settings.recovery.automatic);
  EXPECT_EQ(config->origin("recovery", "auto"), "/h/u/.config/pawl/config.yaml:2");
}

TEST(Config, WhatIsBoundedCanBeUnboundedAgain) {
  Config config = read("checkpoint: { keep: 3 }").value();
  ASSERT_TRUE(apply_config(config, "checkpoint: { keep: all }", "s", ConfigPlace::store));
  EXPECT_EQ(config.settings.checkpoint.retention.keep, std::nullopt);
}

TEST(Config, MissingFilesAreFineAndUnreadableOnesAreNot) {
  EXPECT_TRUE(load_config(world({}, {{"HOME", "/h"}}), "./.pawl"));
  ConfigWorld closed = world({}, {{"HOME", "/h"}});
  closed.read_file = [](const std::string& path, std::uint64_t) -> Result<std::string> {
    return fail(Error{Code::input_unreadable, "permission denied", path, {}, EACCES});
  };
  const auto config = load_config(closed, "./.pawl");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::invalid_config);
  EXPECT_EQ(config.error().where, "/h/.config/pawl/config.yaml");
}

TEST(Config, AHomeOfSomebodyElseHoldsNoSettings) {
  ConfigWorld closed = world({}, {{"HOME", "/h"}});
  closed.read_file = [](const std::string& path, std::uint64_t) -> Result<std::string> {
    return fail(Error{Code::input_unreadable, "permission denied", path, {}, path.starts_with("/h") ? EACCES : ENOENT});
  };
  closed.sees = [](const std::string&) { return false; };
  EXPECT_TRUE(load_config(closed, "./.pawl"));
  const auto hidden = load_config(closed, "/h/store");  // the file of a store is never ignored
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().code, Code::permission_denied);
  EXPECT_EQ(hidden.error().where, "/h/store");
}

TEST(Config, TheUsersFileIsWhereXdgSays) {
  EXPECT_EQ(user_config_path(world({}, {{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})), "/x/pawl/config.yaml");
  EXPECT_EQ(user_config_path(world({}, {{"XDG_CONFIG_HOME", "relative"}, {"HOME", "/h"}})),
            "/h/.config/pawl/config.yaml");
  EXPECT_EQ(user_config_path(world({}, {})), "");
}

TEST(Config, VariablesAreReadByAllNamesOfAKey) {
  Config config;
  ASSERT_TRUE(
      apply_variables(config, {"PAWL_RECOVERY_AUTO_RECOVERY=true", "PAWL_CHECKPOINT_SIZE_LIMIT=5MB",
                               "PAWL_PERFORMANCE_COMPRESSION_LEVEL=9", "PAWL_SECRETS_STATE_KEYS=[a, 'b,c']",
                               "PAWL_SECRETS_PATTERNS=x{1,2}", "PAWL_CHECKPOINT_KEEP=", "PAWL_RUN=x", "OTHER=1"}));
  EXPECT_TRUE(config.settings.recovery.automatic);
  EXPECT_EQ(config.settings.checkpoint.size_max_bytes, 5'000'000U);
  EXPECT_EQ(config.settings.performance.compression_level, 9);
  EXPECT_EQ(config.settings.secrets.state_keys, (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(config.settings.secrets.patterns, std::vector<std::string>{"x{1,2}"});
}

TEST(Config, AMisspeltOrWrongVariableIsAnError) {
  Config config;
  const auto misspelt = apply_variables(config, {"PAWL_RECOVERY_AUTO_RECOVRY=true"});
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().where, "$PAWL_RECOVERY_AUTO_RECOVRY");
  EXPECT_EQ(misspelt.error().hint, "did you mean 'PAWL_RECOVERY_AUTO_RECOVERY'?");
  EXPECT_FALSE(apply_variables(config, {"PAWL_CHECKPOINT_KEEP=many"}));
  EXPECT_FALSE(apply_variables(config, {"PAWL_SECRETS_PATTERNS=[a"}));
  EXPECT_FALSE(apply_variables(config, {"PAWL_RECOVERY_AUTO=true", "PAWL_RECOVERY_AUTO_RECOVERY=false"}));
}

TEST(ConfigKeys, EveryValueIsReadBackAsItIsShown) {
  const Config defaults;
  for (const ConfigKey& key : config_keys()) {
    const Json shown = written_value(key, key.get(defaults.settings));
    if (shown.is_string() && shown.get<std::string>().empty()) continue;  // nothing is set
    Config config;
    const std::string text = fmt::format("{}: {{ {}: {} }}", key.section, key.names.front().name, compact(shown));
    const auto applied = apply_config(config, text, "f", ConfigPlace::user);
    ASSERT_TRUE(applied) << text << ": " << describe(applied.error());
    EXPECT_EQ(key.get(config.settings), key.get(defaults.settings)) << text;
  }
}

TEST(ConfigKeys, SettingOneChangesThatOneOnly) {
  const std::map<ConfigType, std::string> values = {{ConfigType::whole, "11"},       {ConfigType::whole_or_all, "11"},
                                                    {ConfigType::size, "12345B"},    {ConfigType::duration, "12345ms"},
                                                    {ConfigType::text, "somewhere"}, {ConfigType::texts, "[one]"}};
  const Config defaults;
  for (const ConfigKey& changed : config_keys()) {
    std::string value = changed.type == ConfigType::boolean
                            ? (changed.get(defaults.settings) == true ? "false" : "true")
                        : changed.type == ConfigType::word ? std::string(changed.words.back())
                                                           : values.at(changed.type);
    if (changed.get(defaults.settings) == value) value = changed.words.front();
    for (const ConfigName& name : changed.names) {
      Config config;
      ASSERT_TRUE(apply_config(config, fmt::format("{}: {{ {}: {} }}", changed.section, name.name, value), "f",
                               ConfigPlace::user));
      for (const ConfigKey& key : config_keys()) {
        EXPECT_EQ(key.get(config.settings) != key.get(defaults.settings), &key == &changed)
            << changed.full_name() << " and " << key.full_name();
      }
    }
  }
}

TEST(ConfigKeys, HaveDifferentNames) {
  std::set<std::string> seen;
  for (const ConfigKey& key : config_keys()) {
    for (const ConfigName& name : key.names)
      EXPECT_TRUE(seen.insert(fmt::format("{}.{}", key.section, name.name)).second) << name.name;
  }
}

TEST(ConfigKeys, AllStandInTheDocument) {
  std::ifstream file(std::string(PAWL_SOURCE) + "/docs/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  for (const ConfigKey& key : config_keys()) {
    for (const ConfigName& name : key.names) {
      EXPECT_NE(document.find(fmt::format("`{}`", name.name)), std::string::npos) << key.section << "." << name.name;
    }
    EXPECT_NE(document.find(key.about), std::string::npos) << key.full_name() << ": " << key.about;
  }
}

}  // namespace
}  // namespace pawl
