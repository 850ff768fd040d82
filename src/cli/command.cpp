#include "cli/command.hpp"

#include <charconv>

#include "cli/wrap_text.hpp"

namespace pawl::cli {
namespace {

bool is_set(const std::optional<std::string>& variable) { return variable && !variable->empty(); }

}  // namespace

StorePlace Invocation::new_store_place() const {
  if (globals_.store) return {*globals_.store, StoreOrigin::option};
  const std::optional<std::string> variable = context_.environment("PAWL_STORE");
  if (is_set(variable)) return {*variable, StoreOrigin::variable};
  const ConfigWorld world = config_world();
  const Result<Config> config = load_user_config(world);
  const Settings settings = config ? config->settings : Settings{};
  const bool configured = !settings.checkpoint.storage_path.empty();
  return {configured_store(settings, world), configured ? StoreOrigin::setting : StoreOrigin::none};
}

StorePlace Invocation::store_place() const {
  StorePlace place = new_store_place();
  if (place.origin != StoreOrigin::none || !context_.look_at_folder || context_.workflows == nullptr) return place;
  const std::string folder = context_.workflows->files.absolute(".", "");
  return find_store(folder, context_.look_at_folder);
}

ConfigWorld Invocation::config_world() const {
  ConfigWorld world{.read_file = context_.read_regular_file, .environment = context_.environment};
  if (context_.workflows != nullptr) {
    world.variables = context_.workflows->environment;
    world.sees = [&files = context_.workflows->files](const std::string& path) { return files.exists(path); };
  }
  return world;
}

Result<const Config*> Invocation::config() const {
  if (!config_) config_ = load_config(config_world(), store_uri());
  if (!*config_) return fail(config_->error());
  return &**config_;
}

Result<void> Invocation::need_checkpoints() const {
  PAWL_TRY_ASSIGN(const Config* const found, config());
  if (found->settings.checkpoint.enabled) return {};
  return fail(Error{Code::checkpoints_off, "checkpoints are turned off (checkpoint.enabled: false)",
                    found->origin("checkpoint", "enabled"),
                    "set it to true, or for this call only: PAWL_CHECKPOINT_ENABLED=true", 0});
}

Settings Invocation::settings() const {
  const Result<const Config*> found = config();
  return found ? (*found)->settings : Settings{};
}

std::uint64_t Invocation::state_bytes_max() const { return settings().checkpoint.size_max_bytes; }

Result<std::unique_ptr<Store>> Invocation::open_store(StoreAccess access) const {
  const StorePlace place = store_place();
  const std::string& uri = place.uri;
  if (uri.empty())
    return fail(Error{Code::usage, "the name of the store is empty", {}, "pass a folder: --store ./.pawl", 0});
  // A path in the settings is intended, even if its folders don't exist yet. A path on the command line may be
  // misspelt.
  if (place.origin == StoreOrigin::setting && access != StoreAccess::read && context_.make_parents)
    PAWL_TRY(context_.make_parents(uri));
  PAWL_TRY_ASSIGN(const Config* const found, config());
  if (access != StoreAccess::read && found->settings.checkpoint.encryption)
    PAWL_TRY(make_encrypted(uri, found->settings));
  PAWL_TRY_ASSIGN(const Settings settings, call_settings());
  return context_.open_store(uri, access, settings);
}

Result<Settings> Invocation::call_settings() const {
  PAWL_TRY_ASSIGN(const Config* const found, config());
  Settings settings = found->settings;
  if (globals_.wait_lock) settings.lock_wait = *globals_.wait_lock;
  return settings;
}

/// Prints the location of the key of a new encrypted store: a user who does not know of the key would lose it.
Result<void> Invocation::make_encrypted(const std::string& uri, const Settings& settings) const {
  if (!context_.admin.make) return {};
  const Result<std::unique_ptr<Store>> there = context_.open_store(uri, StoreAccess::read, settings);
  if (there || there.error().code != Code::store_not_found) return {};
  PAWL_TRY_ASSIGN(const MadeStore made, context_.admin.make(uri, {.encrypted = true, .key = {}, .config = {}}));
  std::string text = fmt::format("created encrypted store {} (checkpoint.encryption is set)\n", made.folder);
  if (made.key) text += key_advice(*made.key);
  text.pop_back();
  note(text);
  return {};
}

std::string key_advice(const StoreKeyPlace& key) {
  if (!key.made) return "its key comes from " + key.from + "\n";
  return "its key is in " + key.from + "\nkeep a copy of that file elsewhere: without it the store can't be read\n";
}

Style Invocation::style() const {
  const bool dumb = context_.environment("TERM") == "dumb";
  return Style(context_.out_is_terminal && !globals_.json && !dumb && !is_set(context_.environment("NO_COLOR")));
}

std::size_t columns_of(const CliContext& context, bool is_terminal) {
  const std::string told = context.environment("COLUMNS").value_or("");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), columns);
  if (error == std::errc{} && end == told.data() + told.size() && columns > 0) return columns;
  if (!is_terminal || context.workflows == nullptr || !context.workflows->columns) return kColumnsDefault;
  columns = context.workflows->columns();
  return columns > 0 ? columns : kColumnsDefault;
}

std::size_t Invocation::columns() const { return columns_of(context_, context_.out_is_terminal); }

std::optional<std::size_t> Invocation::table_width() const {
  return context_.out_is_terminal ? std::optional(columns()) : std::nullopt;
}

std::optional<std::size_t> Invocation::message_width() const {
  return context_.err_is_terminal ? std::optional(columns_of(context_, true)) : std::nullopt;
}

std::string Invocation::time_text(Timestamp time) const {
  if (globals_.utc) return time.text();
  return context_.out_is_terminal ? age(time, context_.clock.now()) : local_time(time);
}

std::string Invocation::long_time_text(Timestamp time) const {
  if (globals_.utc) return time.text();
  return context_.out_is_terminal ? fmt::format("{} ({})", local_time(time), age(time, context_.clock.now()))
                                  : local_time(time);
}

Timestamp Invocation::now_for_ages(Store& store) const {
  constexpr std::int64_t kWorthSayingUs = 60'000'000;
  const Timestamp now = store.believable_now();
  if (context_.clock.now().us - now.us > kWorthSayingUs) {
    note(fmt::format("the system clock may be ahead: it says {}; ages are judged by {}, until the next boot",
                     long_time_text(context_.clock.now()), long_time_text(now)));
  }
  return now;
}

void Invocation::note(std::string_view text) const {
  if (globals_.json) return;
  static_cast<void>(context_.out.flush());  // so that both streams are in order on a terminal; `finish` reports errors
  context_.err.write(wrap_text(fmt::format("pawl: {}\n", printable(text)), message_width(), kMessageIndent));
  static_cast<void>(context_.err.flush());  // so that it is visible before a long step starts
}

Option::Take take_duration(std::optional<Milliseconds>& target, LowestDuration lowest) {
  return [&target, lowest](const std::string& text) {
    target = parse_duration(text);
    if (!target) return fmt::format("invalid duration '{}' (for example: 30s, 5m, 2h)", text);
    const bool fits = target->count() > 0 || lowest == LowestDuration::zero;
    return fits ? std::string() : fmt::format("invalid duration '{}': must be positive, for example 5m", text);
  };
}

std::string retention_text(const RetentionSettings& retention) {
  if (retention.keeps_everything()) return "keeps all checkpoints";
  const std::string always = retention.keep_stage_ends && retention.keep ? "named ones, stage ends and fork points"
                                                                         : "named ones and fork points";
  if (retention.keep && !retention.keep_per_stage && !retention.keep_days)
    return fmt::format("keeps the newest {} checkpoints of a run, plus {}", *retention.keep, always);
  std::vector<std::string> limits;
  if (retention.keep) limits.push_back(fmt::format("among the newest {} of a run", *retention.keep));
  if (retention.keep_per_stage)
    limits.push_back(fmt::format("among the newest {} of a stage", *retention.keep_per_stage));
  if (retention.keep_days) limits.push_back(fmt::format("at most {} days old", *retention.keep_days));
  return fmt::format("keeps checkpoints that are {}, plus {}", fmt::join(limits, " and "), always);
}

}  // namespace pawl::cli
