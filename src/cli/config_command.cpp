#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

struct ConfigArguments {
  std::string key;
};

/// Whether `asked` means this setting: any of its names, with or without its section, or the section alone.
bool is_meant(const ConfigKey& key, std::string_view asked) {
  if (find_section(asked) == key.section) return true;
  const std::size_t dot = asked.find('.');
  if (dot != std::string_view::npos && find_section(asked.substr(0, dot)) != key.section) return false;
  const std::string_view name = dot == std::string_view::npos ? asked : asked.substr(dot + 1);
  return std::ranges::find(key.names, name, &ConfigName::name) != key.names.end();
}

Error unknown_key(std::string_view asked) {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    for (const ConfigName& name : key.names) {
      names.emplace_back(name.name);
      names.push_back(fmt::format("{}.{}", key.section, name.name));
    }
  }
  const std::string nearest = suggest(asked, names);
  return Error{
      Code::usage,
      fmt::format("there is no setting '{}'", asked),
      {},
      nearest.empty() ? "`pawl config` lists all settings" : fmt::format("did you mean `pawl config {}`?", nearest),
      0};
}

std::string origin_text(const ConfigOrigin& origin) {
  return origin.kind == ConfigOrigin::Kind::built_in ? "default" : origin.where;
}

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : compact(value); }

/// Which files would be read, for who wants to write one.
void note_files(const Invocation& invocation) {
  const std::string user = user_config_path(invocation.config_world());
  const std::string store = store_config_path(invocation.store_uri());
  invocation.note(fmt::format("files: {}{}{}; variables: PAWL_SECTION_KEY", printable(user),
                              user.empty() || store.empty() ? "" : ", then ", printable(store)));
}

Result<void> show_config(const Invocation& invocation, const ConfigArguments& arguments) {
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  Json document = Json::object();
  Table table({"SETTING", "VALUE", "FROM"});
  for (std::size_t i = 0; i < config_keys().size(); ++i) {
    const ConfigKey& key = config_keys()[i];
    if (!arguments.key.empty() && !is_meant(key, arguments.key)) continue;
    const Json value = written_value(key, key.get(config->settings));
    const std::string origin = origin_text(config->origins[i]);
    document[key.full_name()] = {{"value", value}, {"source", origin}};
    table.add({key.full_name(), printable(value_text(value)), printable(origin)});
  }
  if (document.empty()) return fail(unknown_key(arguments.key));
  if (invocation.json()) {
    invocation.print(compact(document) + "\n");
    return {};
  }
  invocation.print(table.text(invocation.style()));
  if (arguments.key.empty()) note_files(invocation);
  return {};
}

}  // namespace

Command add_config(Options& root) {
  const auto arguments = std::make_shared<ConfigArguments>();
  Options& app = root.command("config", "Show the settings that are in force, and where each came from");
  app.group(kCareGroup);
  app.text("KEY", arguments->key, "Only this setting, or those of this section");
  app.footer(
      "Examples:\n"
      "  pawl config                              all settings\n"
      "  pawl config recovery                     those of one section\n"
      "  pawl config checkpoint.retention_days    one; its other names work, too\n"
      "  PAWL_RECOVERY_AUTO_RECOVERY=true pawl config auto_recovery --json\n"
      "\n"
      "Later ones win: built-in values, ~/.config/pawl/config.yaml (or in $XDG_CONFIG_HOME), config.yaml in the\n"
      "store's folder, variables PAWL_SECTION_KEY. A misspelt setting is an error wherever the store is opened.");
  return {&app, [arguments](const Invocation& invocation) { return show_config(invocation, *arguments); }};
}

}  // namespace pawl::cli
