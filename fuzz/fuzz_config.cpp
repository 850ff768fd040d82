// Settings: any content of a file or variable must give settings within their bounds, or an error with a location, in
// which case the settings are unchanged.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "config/config.hpp"

namespace {

using namespace pawl;

void check_bounds(const Config& config) {
  for (const ConfigKey& key : config_keys()) {
    const Json value = key.get(config.settings);
    if (value.is_number()) {
      PAWL_ASSERT(value.get<std::uint64_t>() >= key.lowest && value.get<std::uint64_t>() <= key.highest);
    }
    PAWL_ASSERT(!compact(written_value(key, value)).empty());
  }
  const CheckpointSettings& checkpoint = config.settings.checkpoint;
  PAWL_ASSERT(checkpoint.format <= StateFormat::cbor && checkpoint.compression <= Compression::zstd);
}

void check_unchanged(const Config& config) {
  const Config fresh;
  for (const ConfigKey& key : config_keys()) PAWL_ASSERT(key.get(config.settings) == key.get(fresh.settings));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const ConfigPlace place : {ConfigPlace::user, ConfigPlace::store}) {
    Config config;
    const auto applied = apply_config(config, text, "f", place);
    check_bounds(config);
    if (applied) continue;
    PAWL_ASSERT(applied.error().code == Code::invalid_config && applied.error().where.starts_with("f"));
    check_unchanged(config);
  }
  if (text.find('\0') != std::string::npos) return 0;  // no environment variable can contain it
  Config config;
  if (!apply_variables(config, {text, "PAWL_SECRETS_STATE_KEYS=" + text})) check_unchanged(config);
  check_bounds(config);
  return 0;
}
