#include "config/config.hpp"

#include <algorithm>
#include <cerrno>

#include "base/json.hpp"
#include "config/config_value.hpp"
#include "domain/store_uri.hpp"
#include "secrets/secret_patterns.hpp"
#include "text/duration.hpp"
#include "text/suggest.hpp"
#include "yaml/faults.hpp"
#include "yaml/yaml_tree.hpp"

namespace pawl {
namespace {

constexpr std::size_t kVariableBytesMax = 16U << 10U;

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const ConfigSection& section : config_sections()) {
    names.emplace_back(section.name);
    if (!section.long_name.empty()) names.emplace_back(section.long_name);
  }
  return names;
}

Result<void> refuse(std::vector<WorkflowFault> faults) {
  if (faults.empty()) return {};
  Error error = faults.front().error;
  error.code = Code::invalid_config;
  error = with_advice(std::move(error), Advice::show_settings);
  for (std::size_t i = 1; i < faults.size(); ++i) {
    const Error& next = faults[i].error;
    error.message += fmt::format("\n  {}: {}{}", next.where, next.message, next.hint.empty() ? "" : "; " + next.hint);
  }
  return fail(error);
}

/// Applies the settings of one file over the earlier ones.
class FileReader {
 public:
  FileReader(Config& config, std::string file, ConfigPlace place, Faults& faults)
      : config_(config), file_(std::move(file)), place_(place), faults_(faults), lines_(config_keys().size(), 0) {}

  void read(const YamlNode& root) {
    if (!root.is_map())
      return faults_.add(root.place, fmt::format("the settings must be a map of sections, not {}", kind_text(root)),
                         "checkpoint: { enabled: true }");
    for (const YamlMember& member : root.members) section(member);
  }

 private:
  void section(const YamlMember& member) {
    const std::string_view name = find_section(member.key);
    if (name.empty())
      return faults_.add(member.key_place, fmt::format("unknown section '{}'", member.key), section_hint(member.key));
    if (member.value->is_null()) return;
    if (!member.value->is_map()) {
      return faults_.add(member.value->place,
                         fmt::format("'{}' must be a map of settings, not {}", member.key, kind_text(*member.value)));
    }
    for (const YamlMember& entry : member.value->members) setting(name, entry);
  }

  static std::string section_hint(const std::string& typed) {
    for (const ConfigSection& section : config_sections()) {
      if (find_key(section.name, typed).key != nullptr)
        return fmt::format("'{}' belongs under '{}:'", typed, section.name);
    }
    return did_you_mean(typed, section_names(), "one of " + one_of(section_names()));
  }

  void setting(std::string_view section, const YamlMember& entry) {
    const FoundKey found = find_key(section, entry.key);
    if (found.key == nullptr) {
      return faults_.add(entry.key_place, fmt::format("unknown setting '{1}' in '{0}'", section, entry.key),
                         did_you_mean(entry.key, names_in(section), ""));
    }
    if (found.key->scope == ConfigScope::outside_the_store && place_ == ConfigPlace::store) {
      return faults_.add(
          entry.key_place, fmt::format("'{}' is not allowed in the settings of a store", entry.key),
          "it says where the store is: set it in your own settings file, or name the store with --store");
    }
    if (std::size_t& before = lines_[found.index]; before > 0) {
      return faults_.add(
          entry.key_place,
          fmt::format("'{}' is the same setting as '{}' on line {}", entry.key, found.key->names.front().name, before),
          "remove one of them");
    } else {
      before = entry.key_place.line;
    }
    std::expected<Json, ValueFault> value = config_value(*found.key, found.name, *entry.value);
    if (!value) {
      const Place place = entry.value->place.line > 0 ? entry.value->place : entry.key_place;
      return faults_.add(place, std::move(value.error().message), std::move(value.error().hint));
    }
    found.key->set(config_.settings, *value);
    config_.origins[found.index] = {
        place_ == ConfigPlace::user ? ConfigOrigin::Kind::user_file : ConfigOrigin::Kind::store_file,
        fmt::format("{}:{}", file_, entry.key_place.line)};
  }

  Config& config_;
  const std::string file_;
  const ConfigPlace place_;
  Faults& faults_;
  std::vector<std::size_t> lines_;  // line of each setting in this file; 0 if it is missing
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

std::string variable_name(std::string_view section, std::string_view name) {
  return fmt::format("PAWL_{}_{}", upper(section), upper(name));
}

/// Returns the section that the name of a variable starts with, or an empty text.
std::string_view section_of_variable(std::string_view variable) {
  for (const ConfigSection& section : config_sections()) {
    if (variable.starts_with(variable_name(section.name, ""))) return section.name;
  }
  return {};
}

FoundKey find_variable(std::string_view section, std::string_view variable) {
  for (const std::string& name : names_in(section)) {
    if (variable_name(section, name) == variable) return find_key(section, name);
  }
  return {};
}

/// Reads a list as in a file: [a, b]. Anything else is text.
YamlPtr variable_node(const ConfigKey& key, std::string_view value, Faults& faults) {
  if (key.type == ConfigType::texts && value.starts_with('[')) return read_yaml_or_nothing(value, faults);
  auto node = std::make_shared<YamlNode>();
  node->kind = YamlNode::Kind::scalar;
  node->text = value;
  return node;
}

void apply_variable(Config& config, std::string_view variable, std::string_view value, Faults& faults) {
  const std::string_view section = section_of_variable(variable);
  if (section.empty() || value.empty()) return;
  const FoundKey found = find_variable(section, variable);
  if (found.key == nullptr) {
    std::vector<std::string> names;
    for (const std::string& name : names_in(section)) names.push_back(variable_name(section, name));
    return faults.add({}, fmt::format("the variable {} is not a setting", variable), did_you_mean(variable, names, ""));
  }
  if (config.origins[found.index].kind == ConfigOrigin::Kind::variable) {
    return faults.add({},
                      fmt::format("'{}' is also set by {}", found.key->full_name(), config.origins[found.index].where),
                      "unset one of them");
  }
  if (value.size() > kVariableBytesMax)
    return faults.add(
        {}, fmt::format("'{}' has {} bytes; the maximum is {}", found.name.name, value.size(), kVariableBytesMax));
  const YamlPtr node = variable_node(*found.key, value, faults);
  if (node == nullptr) return;
  std::expected<Json, ValueFault> parsed = config_value(*found.key, found.name, *node);
  if (!parsed) return faults.add({}, std::move(parsed.error().message), std::move(parsed.error().hint));
  found.key->set(config.settings, *parsed);
  config.origins[found.index] = {ConfigOrigin::Kind::variable, std::string(variable)};
}

Result<void> apply_file(Config& config, const ConfigWorld& world, const std::string& path, ConfigPlace place) {
  if (path.empty()) return {};
  const Result<std::string> text = world.read_file(path, kConfigBytesMax);
  if (!text && (text.error().os_error == ENOENT || text.error().os_error == ENOTDIR)) return {};
  const bool hidden =
      !text && text.error().os_error == EACCES && place == ConfigPlace::user && world.sees && !world.sees(path);
  if (hidden) return {};
  // The store's folder can't be entered, so nobody knows whether it has settings.
  if (!text && text.error().os_error == EACCES && world.sees && !world.sees(path)) {
    return fail(Error{Code::permission_denied, "can't open the store's folder: Permission denied",
                      path.substr(0, path.rfind('/')), "check owner and permissions of this path with ls -ld", EACCES});
  }
  if (!text && text.error().code == Code::state_too_large) {
    return fail(Error{Code::invalid_config, fmt::format("the settings have more than {} bytes", kConfigBytesMax), path,
                      "keep only settings in this file", 0});
  }
  if (!text) {
    Error error = text.error();
    error.code = Code::invalid_config;
    error = with_advice(std::move(error), Advice::show_settings);
    error.message = "can't read the settings: " + error.message;
    error.hint = "fix the permissions of the file, or remove it";
    return fail(at(error, path));
  }
  return apply_config(config, *text, path, place);
}

std::optional<std::string> set_variable(const ConfigWorld& world, const std::string& name) {
  std::optional<std::string> value = world.environment(name);
  if (value && value->empty()) value.reset();
  return value;
}

bool is_positive(std::string_view text) {
  const std::optional<Milliseconds> duration = parse_duration(text);
  return duration && duration->count() > 0;
}

}  // namespace

std::string Config::origin(std::string_view section, std::string_view name) const {
  const FoundKey found = find_key(section, name);
  if (found.key == nullptr) return {};
  const ConfigOrigin& origin = origins[found.index];
  if (origin.kind == ConfigOrigin::Kind::built_in) return "the default";
  return origin.kind == ConfigOrigin::Kind::variable ? "$" + origin.where : origin.where;
}

Result<void> apply_config(Config& config, std::string_view text, const std::string& file, ConfigPlace place) {
  if (text.size() > kConfigBytesMax) {
    return fail(Error{Code::invalid_config,
                      fmt::format("the settings have {} bytes; the maximum is {}", text.size(), kConfigBytesMax), file,
                      "keep only settings in this file", 0});
  }
  Faults faults(file);
  Config changed = config;
  if (const YamlPtr root = read_yaml_or_nothing(text, faults)) FileReader(changed, file, place, faults).read(*root);
  PAWL_TRY(refuse(faults.take()));
  config = std::move(changed);
  return {};
}

Result<void> apply_variables(Config& config, const std::vector<std::string>& variables) {
  Config changed = config;
  std::vector<WorkflowFault> all;
  for (const std::string& entry : variables) {
    if (!entry.starts_with("PAWL_")) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    Faults faults("$" + name);
    apply_variable(changed, name, std::string_view(entry).substr(equals + 1), faults);
    for (WorkflowFault& fault : faults.take()) all.push_back(std::move(fault));
  }
  PAWL_TRY(refuse(std::move(all)));
  config = std::move(changed);
  return {};
}

std::string user_config_path(const ConfigWorld& world) {
  const std::optional<std::string> configured = set_variable(world, "XDG_CONFIG_HOME");
  if (configured && configured->starts_with('/'))
    return *configured + "/pawl/config.yaml";  // XDG requires relative paths to be ignored
  const std::optional<std::string> home = set_variable(world, "HOME");
  return home ? *home + "/.config/pawl/config.yaml" : std::string();
}

std::string store_config_path(std::string_view store_uri) {
  const std::optional<std::string> folder = folder_of_store(store_uri);
  return folder ? *folder + "/config.yaml" : std::string();
}

std::string configured_store(const Settings& settings, const ConfigWorld& world) {
  const std::string& path = settings.checkpoint.storage_path;
  if (path.empty()) return "./.pawl";
  const std::optional<std::string> home = set_variable(world, "HOME");
  return path.starts_with("~/") && home ? *home + path.substr(1) : path;
}

namespace {

/// The store itself says how many checkpoints it keeps by default. Stores of older versions say nothing and keep all.
/// A damaged file is reported by whoever opens the store.
void apply_store_default(Config& config, const ConfigWorld& world, std::string_view store_uri) {
  std::string path = store_config_path(store_uri);
  if (path.empty()) return;
  path = path.substr(0, path.rfind('/')) + "/store.json";
  const Result<std::string> text = world.read_file(path, kConfigBytesMax);
  if (!text) {
    if (text.error().os_error == ENOENT) config.settings.checkpoint.retention.keep = kKeepInNewStores;
    return;
  }
  const Json record = Json::parse(*text, nullptr, false);
  if (!record.is_object() || !record.contains("keep") || !record["keep"].is_number_unsigned()) return;
  const auto keep = record["keep"].get<std::uint64_t>();
  if (keep > 0) config.settings.checkpoint.retention.keep = keep;
}

}  // namespace

Result<Config> load_user_config(const ConfigWorld& world) {
  Config config;
  PAWL_TRY(apply_file(config, world, user_config_path(world), ConfigPlace::user));
  PAWL_TRY(apply_variables(config, world.variables));
  return config;
}

Result<Config> load_config(const ConfigWorld& world, std::string_view store_uri) {
  Config config;
  apply_store_default(config, world, store_uri);
  PAWL_TRY(apply_file(config, world, user_config_path(world), ConfigPlace::user));
  PAWL_TRY(apply_file(config, world, store_config_path(store_uri), ConfigPlace::store));
  PAWL_TRY(apply_variables(config, world.variables));
  if (const auto interval = set_variable(world, "PAWL_PROGRESS_INTERVAL"); interval && !is_positive(*interval)) {
    return fail(Error{Code::invalid_config, fmt::format("invalid duration '{}'", *interval), "$PAWL_PROGRESS_INTERVAL",
                      "set a positive duration, for example 30s or 5m", 0});
  }
  if (const auto patterns = SecretPatterns::make(config.settings.secrets, {}); !patterns) {
    return fail(Error{Code::invalid_config, fmt::format("secrets.patterns: {}", patterns.error().message),
                      config.origin("secrets", "patterns"), patterns.error().hint, 0});
  }
  return config;
}

}  // namespace pawl
