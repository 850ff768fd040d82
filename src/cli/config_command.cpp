#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

struct ConfigArguments {
  std::string key;
};

/// Returns whether `asked` names this setting, with or without its section, or its section.
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
  return Error{Code::usage,
               fmt::format("unknown setting '{}'", asked),
               {},
               nearest.empty() ? "to list all settings, run: pawl config"
                               : fmt::format("did you mean `pawl config {}`?", nearest),
               0};
}

std::string origin_text(const ConfigOrigin& origin) {
  return origin.kind == ConfigOrigin::Kind::built_in ? "default" : origin.where;
}

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : compact(value); }

/// Names the configuration files, for users who want to write one.
void note_files(const Invocation& invocation) {
  const std::string user = user_config_path(invocation.config_world());
  const std::string store = store_config_path(invocation.store_uri());
  const StorePlace place = invocation.store_place();
  invocation.note(fmt::format("store: {} ({})", printable(place.uri), store_origin_text(place.origin)));
  invocation.note(fmt::format("configuration files: {}{}{}; environment variables: PAWL_SECTION_KEY", printable(user),
                              user.empty() || store.empty() ? "" : ", then ", printable(store)));
}

Result<void> show_config(const Invocation& invocation, const ConfigArguments& arguments) {
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  Json document = Json::object();
  Table table({{.name = "SETTING"},
               {.name = "VALUE", .cut = Cut::end, .rank = 0, .least = 12},
               {.name = "FROM", .cut = Cut::middle, .rank = 0, .least = 16}});
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
  invocation.print(table.text(invocation.style(), invocation.table_width()));
  if (arguments.key.empty()) note_files(invocation);
  return {};
}

}  // namespace

Command add_config(Options& root) {
  const auto arguments = std::make_shared<ConfigArguments>();
  Options& app = root.command("config", "Show the effective settings and where each comes from");
  app.group(kCareGroup);
  app.text("KEY", arguments->key, "Setting or section (default: all)");
  app.footer(
      "Examples:\n"
      "  pawl config                              all settings\n"
      "  pawl config recovery                     one section\n"
      "  pawl config checkpoint.retention_days    one setting, by any of its names\n"
      "  PAWL_RECOVERY_AUTO_RECOVERY=true pawl config auto_recovery --json\n"
      "\n"
      "Order of precedence, lowest first: built-in defaults, ~/.config/pawl/config.yaml\n"
      "(or in $XDG_CONFIG_HOME), config.yaml in the store, environment variables\n"
      "PAWL_SECTION_KEY. An unknown setting is an error in every command.");
  return {&app, [arguments](const Invocation& invocation) { return show_config(invocation, *arguments); }};
}

}  // namespace pawl::cli
