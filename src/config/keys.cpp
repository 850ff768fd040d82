#include "config/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/size_words.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kSecond_ms = 1'000;
constexpr std::uint64_t kYear_ms = 365ULL * 24 * 3'600'000;

constexpr std::array<ConfigSection, 6> kSections{{
    {"checkpoint", "checkpoint_config"},
    {"recovery", "recovery_config"},
    {"performance", "performance_config"},
    {"secrets", ""},
    {"encryption", ""},
    {"audit", ""},
}};

constexpr std::array<std::string_view, 3> kFormats = {"json", "msgpack", "cbor"};
constexpr std::array<std::string_view, 3> kCompressions = {"none", "auto", "zstd"};

Json count_of(const std::optional<std::uint64_t>& count) { return count ? Json(*count) : Json(nullptr); }
std::optional<std::uint64_t> to_count(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::uint64_t>());
}
std::chrono::milliseconds to_ms(const Json& value) { return std::chrono::milliseconds(value.get<std::int64_t>()); }

template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& words, const Json& value) {
  return static_cast<std::size_t>(std::ranges::find(words, value.get_ref<const std::string&>()) - words.begin());
}

Compression to_compression(const Json& value) {
  const std::string& word = value.get_ref<const std::string&>();
  if (word == "true") return Compression::automatic;
  if (word == "false") return Compression::none;
  return static_cast<Compression>(index_of(kCompressions, value));
}

using S = Settings;

std::vector<ConfigKey> checkpoint_keys() {
  return {
      {.section = "checkpoint",
       .names = {{"enabled"}},
       .type = ConfigType::boolean,
       .about = "false: workflows run without checkpoints, and saves are refused",
       .get = [](const S& s) { return Json(s.checkpoint.enabled); },
       .set = [](S& s, const Json& v) { s.checkpoint.enabled = v; }},
      {.section = "checkpoint",
       .names = {{"storage_path"}},
       .about = "the store's folder if neither --store nor PAWL_STORE is given (default: ./.pawl)",
       .scope = ConfigScope::outside_the_store,
       .get = [](const S& s) { return Json(s.checkpoint.storage_path); },
       .set = [](S& s, const Json& v) { s.checkpoint.storage_path = v; }},
      {.section = "checkpoint",
       .names = {{"format"}},
       .type = ConfigType::word,
       .words = {"json", "msgpack", "cbor"},
       .about =
           "msgpack or cbor: store states in this format where that is smaller than JSON; commands always print JSON",
       .get = [](const S& s) { return Json(kFormats[static_cast<std::size_t>(s.checkpoint.format)]); },
       .set = [](S& s, const Json& v) { s.checkpoint.format = static_cast<StateFormat>(index_of(kFormats, v)); }},
      {.section = "checkpoint",
       .names = {{"compression"}},
       .type = ConfigType::word,
       .words = {"true", "false", "auto", "zstd", "none"},
       .about = "auto (or true): zstd for states larger than compression_from; zstd: always; none (or false): never",
       .get = [](const S& s) { return Json(kCompressions[static_cast<std::size_t>(s.checkpoint.compression)]); },
       .set = [](S& s, const Json& v) { s.checkpoint.compression = to_compression(v); }},
      {.section = "checkpoint",
       .names = {{"compression_from"}},
       .type = ConfigType::size,
       .lowest = 1,
       .highest = 4096 * kMiB,
       .about = "with compression auto, smaller states are not compressed",
       .get = [](const S& s) { return Json(s.checkpoint.compression_from_bytes); },
       .set = [](S& s, const Json& v) { s.checkpoint.compression_from_bytes = v; }},
      {.section = "checkpoint",
       .names = {{"encryption"}},
       .type = ConfigType::boolean,
       .about = "whether new stores are encrypted",
       .get = [](const S& s) { return Json(s.checkpoint.encryption); },
       .set = [](S& s, const Json& v) { s.checkpoint.encryption = v; }},
      {.section = "checkpoint",
       .names = {{"retention_days"}, {"keep_days"}},
       .type = ConfigType::whole_or_all,
       .lowest = 1,
       .highest = 36'500,
       .about = "remove checkpoints older than this many days; all: keep them regardless of age",
       .get = [](const S& s) { return count_of(s.checkpoint.retention.keep_days); },
       .set = [](S& s, const Json& v) { s.checkpoint.retention.keep_days = to_count(v); }},
      {.section = "checkpoint",
       .names = {{"keep"}, {"max_checkpoints"}},
       .type = ConfigType::whole_or_all,
       .lowest = 1,
       .highest = 1'000'000'000,
       .about =
           "keep this many of a run's newest checkpoints, and named ones and stage ends (default of older stores: all)",
       .get = [](const S& s) { return count_of(s.checkpoint.retention.keep); },
       .set = [](S& s, const Json& v) { s.checkpoint.retention.keep = to_count(v); }},
      {.section = "checkpoint",
       .names = {{"max_checkpoints_per_phase"}, {"keep_per_stage"}},
       .type = ConfigType::whole_or_all,
       .lowest = 1,
       .highest = 1'000'000'000,
       .about = "keep only this many of the newest checkpoints of each stage of a run",
       .get = [](const S& s) { return count_of(s.checkpoint.retention.keep_per_stage); },
       .set = [](S& s, const Json& v) { s.checkpoint.retention.keep_per_stage = to_count(v); }},
      {.section = "checkpoint",
       .names = {{"checkpoint_size_limit_mb", kMiB}, {"size_limit"}},
       .type = ConfigType::size,
       .lowest = 1'000,
       .highest = 4000 * kMiB,
       .about = "maximum size of a state; a number without a unit is in MiB",
       .get = [](const S& s) { return Json(s.checkpoint.size_max_bytes); },
       .set = [](S& s, const Json& v) { s.checkpoint.size_max_bytes = v; }},
      {.section = "checkpoint",
       .names = {{"size_warning"}},
       .type = ConfigType::size,
       .lowest = 1,
       .highest = 4000 * kMiB,
       .about = "warn when a larger state is saved",
       .get = [](const S& s) { return Json(s.checkpoint.size_warning_bytes); },
       .set = [](S& s, const Json& v) { s.checkpoint.size_warning_bytes = v; }},
  };
}

std::vector<ConfigKey> recovery_keys() {
  return {
      {.section = "recovery",
       .names = {{"auto_recovery"}, {"auto"}},
       .type = ConfigType::boolean,
       .about = "true: before a run is started, runs whose process died are resumed",
       .get = [](const S& s) { return Json(s.recovery.automatic); },
       .set = [](S& s, const Json& v) { s.recovery.automatic = v; }},
      {.section = "recovery",
       .names = {{"max_recovery_attempts"}, {"max_attempts"}},
       .type = ConfigType::whole,
       .lowest = 1,
       .highest = 1'000'000,
       .about = "maximum number of automatic recoveries of a run in a row",
       .get = [](const S& s) { return Json(s.recovery.attempts_max); },
       .set = [](S& s, const Json& v) { s.recovery.attempts_max = v; }},
      {.section = "recovery",
       .names = {{"recovery_timeout_seconds", kSecond_ms}, {"timeout"}},
       .type = ConfigType::duration,
       .lowest = 1,
       .highest = kYear_ms,
       .about = "interrupt an automatic recovery after this time; a number without a unit is in seconds",
       .get = [](const S& s) { return Json(s.recovery.timeout.count()); },
       .set = [](S& s, const Json& v) { s.recovery.timeout = to_ms(v); }},
      {.section = "recovery",
       .names = {{"fallback_to_previous"}},
       .type = ConfigType::boolean,
       .about = "whether a recovery falls back to an older checkpoint if the newest is damaged",
       .get = [](const S& s) { return Json(s.recovery.fallback_to_previous); },
       .set = [](S& s, const Json& v) { s.recovery.fallback_to_previous = v; }},
      {.section = "recovery",
       .names = {{"within"}},
       .type = ConfigType::duration,
       .lowest = 1,
       .highest = 100 * kYear_ms,
       .about = "recover only runs whose last checkpoint is newer than this",
       .get = [](const S& s) { return Json(s.recovery.within.count()); },
       .set = [](S& s, const Json& v) { s.recovery.within = to_ms(v); }},
  };
}

std::vector<ConfigKey> performance_keys() {
  return {
      {.section = "performance",
       .names = {{"async_writes"}},
       .type = ConfigType::boolean,
       .about = "create new runs with durability async: a crash of the program or the machine can lose the last 0.1 s",
       .get = [](const S& s) { return Json(s.performance.async_writes); },
       .set = [](S& s, const Json& v) { s.performance.async_writes = v; }},
      {.section = "performance",
       .names = {{"batch_decisions"}},
       .type = ConfigType::boolean,
       .about = "save the decisions of a step together; false: save each one immediately",
       .get = [](const S& s) { return Json(s.performance.batch_decisions); },
       .set = [](S& s, const Json& v) { s.performance.batch_decisions = v; }},
      {.section = "performance",
       .names = {{"compression_level"}},
       .type = ConfigType::whole,
       .lowest = 1,
       .highest = 19,
       .about = "zstd level, from 1 (fastest) to 19 (smallest)",
       .get = [](const S& s) { return Json(s.performance.compression_level); },
       .set = [](S& s, const Json& v) { s.performance.compression_level = v; }},
      {.section = "performance",
       .names = {{"memory_mapped_threshold_mb", kMiB}, {"memory_mapped_threshold"}},
       .type = ConfigType::size,
       .lowest = 1,
       .highest = 1ULL << 40U,
       .about = "read larger files with mmap; a number without a unit is in MiB",
       .get = [](const S& s) { return Json(s.performance.mapped_from_bytes); },
       .set = [](S& s, const Json& v) { s.performance.mapped_from_bytes = v; }},
  };
}

std::vector<ConfigKey> secret_keys() {
  return {
      {.section = "secrets",
       .names = {{"mask_patterns"}},
       .type = ConfigType::boolean,
       .about = "mask well-known tokens and keys in logs, events and audit entries",
       .get = [](const S& s) { return Json(s.secrets.mask_patterns); },
       .set = [](S& s, const Json& v) { s.secrets.mask_patterns = v; }},
      {.section = "secrets",
       .names = {{"patterns"}},
       .type = ConfigType::texts,
       .highest = 1000,
       .about = "additional regular expressions to mask",
       .get = [](const S& s) { return Json(s.secrets.patterns); },
       .set = [](S& s, const Json& v) { s.secrets.patterns = v.get<std::vector<std::string>>(); }},
      {.section = "secrets",
       .names = {{"state_keys"}},
       .type = ConfigType::texts,
       .highest = 1000,
       .about = "keys whose values are not saved in states and must be passed again on resume",
       .get = [](const S& s) { return Json(s.secrets.state_keys); },
       .set = [](S& s, const Json& v) { s.secrets.state_keys = v.get<std::vector<std::string>>(); }},
      {.section = "encryption",
       .names = {{"key_file"}},
       .about = "the file that contains the store's key",
       .get = [](const S& s) { return Json(s.encryption.key_file); },
       .set = [](S& s, const Json& v) { s.encryption.key_file = v; }},
      {.section = "audit",
       .names = {{"reads"}},
       .type = ConfigType::boolean,
       .about =
           "add an entry to a run's audit trail whenever a checkpoint is read (`restore`, `diff`, `replay`, `export`)",
       .get = [](const S& s) { return Json(s.audit.reads); },
       .set = [](S& s, const Json& v) { s.audit.reads = v; }},
  };
}

/// Returns the shortest exact form: `1d`, `90s`.
std::string duration_words(std::uint64_t ms) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kUnits{
      {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}}};
  for (const auto& [name, unit] : kUnits) {
    if (ms > unit && ms % unit == 0) return fmt::format("{}{}", ms / unit, name);
  }
  return fmt::format("{}ms", ms);
}

}  // namespace

std::string ConfigKey::full_name() const { return fmt::format("{}.{}", section, names.front().name); }

std::span<const ConfigSection> config_sections() { return kSections; }

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    for (auto* part : {checkpoint_keys, recovery_keys, performance_keys, secret_keys}) {
      for (ConfigKey& key : part()) all.push_back(std::move(key));
    }
    return all;
  }();
  return keys;
}

FoundKey find_key(std::string_view section, std::string_view name) {
  const std::vector<ConfigKey>& keys = config_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].section != section) continue;
    const auto found = std::ranges::find(keys[i].names, name, &ConfigName::name);
    if (found != keys[i].names.end()) return {&keys[i], i, *found};
  }
  return {};
}

std::string_view find_section(std::string_view name) {
  for (const ConfigSection& section : kSections) {
    if (name == section.name || (!section.long_name.empty() && name == section.long_name)) return section.name;
  }
  return {};
}

std::vector<std::string> names_in(std::string_view section) {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    if (key.section != section) continue;
    for (const ConfigName& name : key.names) names.emplace_back(name.name);
  }
  return names;
}

Json written_value(const ConfigKey& key, const Json& value) {
  if (value.is_null()) return "all";
  if (key.type != ConfigType::size && key.type != ConfigType::duration) return value;
  const auto amount = value.get<std::uint64_t>();
  const std::uint64_t unit = key.names.front().unit;
  if (unit > 0 && amount % unit == 0) return amount / unit;
  return key.type == ConfigType::size ? size_words(amount) : duration_words(amount);
}

}  // namespace pawl
