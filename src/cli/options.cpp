#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>

#include "text/suggest.hpp"

namespace pawl::cli {
namespace {

Wants wanted(std::string_view value) {
  if (value.empty()) return Wants::nothing;
  if (value == "FILE" || value == "PATH") return Wants::file;
  if (value == "FOLDER" || value == "DIR" || value == "URI") return Wants::folder;
  if (value == "COMMAND") return Wants::command;
  if (value == "BEFORE" || value == "AFTER" || value == "RUN" || value.starts_with("RUN@") || value.starts_with("RUN["))
    return Wants::run;
  return Wants::text;
}

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> out;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    out.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  std::ranges::stable_sort(out, {}, [](const std::string& name) { return name.starts_with("--") ? 0 : 1; });
  return out;
}

/// "1,000,000"
std::string grouped_digits(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

template <class Number>
std::optional<Number> whole_text_as(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string bad_number(const std::string& text, Bounds bounds) {
  if (bounds.highest != UINT64_MAX)
    return fmt::format("not a whole number from {} to {}: '{}'", grouped_digits(bounds.lowest),
                       grouped_digits(bounds.highest), text);
  return bounds.lowest == 0 ? fmt::format("not a whole number: '{}'", text)
                            : fmt::format("not a whole number of at least {}: '{}'", bounds.lowest, text);
}

std::string without_dashes(std::string_view name) {
  return std::string(name.substr(std::min(name.find_first_not_of('-'), name.size())));
}

Error usage_fault(std::string message, std::string hint) {
  return Error{Code::usage, std::move(message), {}, std::move(hint), 0};
}

}  // namespace

Option::Option(std::string_view names, std::string help, Take take) : take_(std::move(take)) {
  info_.help = std::move(help);
  info_.group = "Options";
  if (names.starts_with('-')) {
    info_.names = split_names(names);
    value("TEXT");
  } else {
    value(std::string(names));
  }
}

Option& Option::value(std::string name) {
  info_.value = std::move(name);
  if (info_.words.empty()) info_.wants = wanted(info_.value);
  return *this;
}

Option& Option::required() {
  info_.required = true;
  return *this;
}

Option& Option::repeats() {
  info_.repeats = true;
  return *this;
}

Option& Option::excludes(Option& other) {
  excluded_.push_back(&other);
  return *this;
}

Option& Option::words(std::vector<std::string> words) {
  is_checked_ = true;
  return suggests(std::move(words));
}

Option& Option::suggests(std::vector<std::string> words) {
  info_.words = std::move(words);
  info_.wants = Wants::word;
  return *this;
}

Option& Option::group(std::string heading) {
  info_.group = std::move(heading);
  return *this;
}

std::string Option::display_name() const { return info_.names.empty() ? info_.value : info_.names.front(); }

Options::Options(std::string name, std::string help) : name_(std::move(name)), help_(std::move(help)) {}

Option& Options::add(std::string_view names, std::string help, Option::Take take) {
  options_.push_back(std::unique_ptr<Option>(new Option(names, std::move(help), std::move(take))));
  return *options_.back();
}

Option& Options::text(std::string_view names, std::string& target, std::string help) {
  return parsed(names, std::move(help), [&target](const std::string& text) {
    target = text;
    return std::string();
  });
}

Option& Options::text(std::string_view names, std::optional<std::string>& target, std::string help) {
  return parsed(names, std::move(help), [&target](const std::string& text) {
    target = text;
    return std::string();
  });
}

Option& Options::list(std::string_view names, std::vector<std::string>& target, std::string help) {
  Option& option = parsed(names, std::move(help), [&target](const std::string& text) {
    target.push_back(text);
    return std::string();
  });
  option.info_.repeats = true;
  return option;
}

Option& Options::flag(std::string_view names, bool& target, std::string help) {
  return add(names, std::move(help),
             [&target](const std::string&) {
               target = true;
               return std::string();
             })
      .value("");
}

Option& Options::number(std::string_view names, std::optional<std::uint64_t>& target, std::string help, Bounds bounds) {
  const bool is_option = names.starts_with('-');
  Option& option = parsed(names, std::move(help), [&target, bounds](const std::string& text) {
    target = whole_text_as<std::uint64_t>(text);
    const bool fits = target && *target >= bounds.lowest && *target <= bounds.highest;
    return fits ? std::string() : bad_number(text, bounds);
  });
  return is_option ? option.value("N") : option;
}

Option& Options::amount(std::string_view names, std::optional<double>& target, std::string help) {
  return parsed(names, std::move(help), [&target](const std::string& text) {
    target = whole_text_as<double>(text);
    return target && *target >= 0 ? std::string() : fmt::format("not a number of at least 0: '{}'", text);
  });
}

Option& Options::parsed(std::string_view names, std::string help, Option::Take take) {
  return add(names, std::move(help), std::move(take));
}

Options& Options::command(std::string name, std::string help) {
  commands_.push_back(std::make_unique<Options>(std::move(name), std::move(help)));
  commands_.back()->parent_ = this;
  return *commands_.back();
}

Options& Options::group(std::string heading) {
  group_ = std::move(heading);
  return *this;
}

Options& Options::footer(std::string text) {
  footer_ = std::move(text);
  return *this;
}

Options& Options::after_dashes(std::string name) {
  after_dashes_ = std::move(name);
  return *this;
}

Options& Options::when_output_closes(ClosedOutput what) {
  closed_output_ = what;
  return *this;
}

Option& Options::for_all(Option& option) {
  for_all_.push_back(&option);
  return option;
}

std::string Options::call() const { return parent_ == nullptr ? name_ : fmt::format("{} {}", parent_->call(), name_); }

std::vector<const Options*> Options::path() const {
  std::vector<const Options*> path;
  for (const Options* at = this; at != nullptr; at = at->parent_) path.insert(path.begin(), at);
  return path;
}

const std::string& Options::shown_footer() const {
  const bool inherits = footer_.empty() && parent_ != nullptr && parent_->parent_ != nullptr;
  return inherits ? parent_->footer_ : footer_;
}

CommandInfo Options::tree() const {
  CommandInfo info{.name = name_,
                   .help = help_,
                   .footer = footer_,
                   .group = group_,
                   .options = {},
                   .arguments = {},
                   .after_dashes = after_dashes_,
                   .commands = {}};
  const auto add_info = [&info](const Option& option) {
    if (option.info_.group.empty()) return;
    (option.info_.names.empty() ? info.arguments : info.options).push_back(option.info_);
  };
  for (const auto& option : options_) add_info(*option);
  for (const Options* outer = parent_; outer != nullptr; outer = outer->parent_) {
    for (const Option* option : outer->for_all_) add_info(*option);
  }
  for (const auto& command : commands_) {
    if (!command->is_hidden()) info.commands.push_back(command->tree());
  }
  return info;
}

/// Builds the library's parser, runs it and checks the values. The library only splits the arguments, so that every
/// message is Pawl's own.
class OptionsParser {
 public:
  explicit OptionsParser(Options& root) : root_(root) { build(app_, root); }

  Result<ParsedCall> parse(std::vector<std::string> args) {
    std::ranges::reverse(args);  // the library takes them in reverse order
    ParsedCall::Asks asks = ParsedCall::Asks::run;
    try {
      app_.parse(std::move(args));
    } catch (const CLI::CallForHelp&) {
      asks = ParsedCall::Asks::help;
    } catch (const CLI::CallForVersion&) {
      asks = ParsedCall::Asks::version;
    } catch (const CLI::ExtrasError&) {
      choose();
      return fail(unexpected(app_.remaining(true).front()));
    } catch (const CLI::ParseError& error) {
      choose();
      return fail(refused_value(error.what()));
    }
    choose();
    // `pawl lst --help` must not look as if there were such a command.
    if (asks == ParsedCall::Asks::help && !chosen_->commands_.empty()) {
      for (const std::string& word : app_.remaining(true)) {
        if (!word.starts_with('-')) return fail(unexpected(word));
      }
    }
    if (asks == ParsedCall::Asks::run) PAWL_TRY(take_all());
    return ParsedCall{.asks = asks, .command = chosen_};
  }

 private:
  struct Bound {
    Option* option;
    CLI::Option* parsed;
  };

  void build(CLI::App& app, Options& options) {
    bounds_of_.emplace(&options, std::vector<Bound>());
    app.set_help_flag("-h,--help", "");
    if (options.parent_ == nullptr) app.set_version_flag("--version", "");
    for (const auto& option : options.options_) bind(app, options, *option);
    for (const Options* outer = options.parent_; outer != nullptr; outer = outer->parent_) {
      for (Option* option : outer->for_all_) bind(app, options, *option);
    }
    app.require_subcommand(0, 1);
    for (const auto& command : options.commands_) build(*app.add_subcommand(command->name_, ""), *command);
  }

  void bind(CLI::App& app, Options& options, Option& option) {
    const OptionInfo& info = option.info_;
    const std::string& first = info.names.empty() ? info.value : info.names.front();
    if (first == "--help") return;
    if (first == "--version") {
      if (options.parent_ != nullptr) app.set_version_flag("--version", "");
      return;
    }
    const std::string names = info.names.empty()
                                  ? fmt::format("argument{}", options.options_.size() + bounds_of_[&options].size())
                                  : fmt::format("{}", fmt::join(info.names, ","));
    CLI::Option* parsed = nullptr;
    if (info.value.empty()) {
      parsed = app.add_flag(names)->disable_flag_override();
    } else {
      parsed = app.add_option(names, [](const CLI::results_t&) { return true; });
      if (info.names.empty() && info.repeats) parsed->expected(-1);
    }
    parsed->take_all();
    bounds_of_[&options].push_back({&option, parsed});
  }

  /// Marks the commands that the arguments named.
  void choose() {
    CLI::App* app = &app_;
    chosen_ = &root_;
    root_.chosen_ = true;
    while (!app->get_subcommands().empty()) {
      app = app->get_subcommands().front();
      chosen_ = std::ranges::find(chosen_->commands_, app->get_name(), &Options::name_)->get();
      chosen_->chosen_ = true;
    }
  }

  Result<void> take_all() {
    if (!chosen_->commands_.empty()) return fail(missing_command());
    std::vector<Bound> all;
    for (const Options* command : chosen_->path())
      all.insert(all.end(), bounds_of_[command].begin(), bounds_of_[command].end());
    for (const Bound& bound : all) bound.option->times_given_ += bound.parsed->results().size();
    for (const Bound& bound : all) PAWL_TRY(check_use(bound));
    for (const Bound& bound : all) PAWL_TRY(take_values(bound));
    return {};
  }

  Result<void> check_use(const Bound& bound) {
    const Option& option = *bound.option;
    const std::string name = option.display_name();
    if (option.info_.required && !option.given()) {
      const bool is_argument = option.info_.names.empty();
      return fail(usage_fault(is_argument ? fmt::format("missing argument: {}", name)
                                          : fmt::format("missing option: {} {}", name, option.info_.value),
                              help_hint()));
    }
    const bool is_single = !option.info_.repeats && !option.info_.value.empty();
    if (is_single && bound.parsed->results().size() > 1)
      return fail(usage_fault(fmt::format("{} can be given only once", name), help_hint()));
    for (const Option* other : option.excluded_) {
      if (option.given() && other->given())
        return fail(
            usage_fault(fmt::format("{} and {} can't be used together", other->display_name(), name), help_hint()));
    }
    return {};
  }

  Result<void> take_values(const Bound& bound) {
    Option& option = *bound.option;
    for (const std::string& text : bound.parsed->results()) {
      std::string wrong;
      if (option.is_checked_ && std::ranges::find(option.info_.words, text) == option.info_.words.end())
        wrong = unknown_word(text, option.info_.words);
      if (wrong.empty()) wrong = option.take_(text);
      if (!wrong.empty()) return fail(usage_fault(fmt::format("{}: {}", option.display_name(), wrong), help_hint()));
    }
    return {};
  }

  [[nodiscard]] std::string help_hint() const { return fmt::format("run: {} --help", chosen_->call()); }

  [[nodiscard]] Error missing_command() const {
    if (chosen_ == &root_) return usage_fault("missing command", "run: pawl --help");
    return usage_fault(fmt::format("missing command after '{}'", chosen_->call()),
                       fmt::format("use one of: {}", fmt::join(command_names(), ", ")));
  }

  [[nodiscard]] std::vector<std::string> command_names() const {
    std::vector<std::string> names;
    for (const auto& command : chosen_->commands_) {
      if (!command->is_hidden()) names.push_back(command->name_);
    }
    return names;
  }

  [[nodiscard]] std::vector<std::string> option_names() const {
    std::vector<std::string> names = {"--help", "--version"};
    for (const Bound& bound : bounds_of_.at(chosen_)) {
      for (const std::string& name : bound.option->info_.names) names.push_back(name);
    }
    return names;
  }

  /// Returns the first argument that nothing accepts.
  [[nodiscard]] Error unexpected(const std::string& argument) const {
    const std::string word = argument.substr(0, argument.find('='));
    if (word.starts_with('-')) {
      const std::string nearest = suggest(word, option_names());
      return usage_fault(fmt::format("unknown option {}", word),
                         nearest.empty() ? help_hint() : fmt::format("did you mean `{}`?", nearest));
    }
    if (!chosen_->after_dashes_.empty())
      return usage_fault(fmt::format("unexpected argument: '{}'", argument), "put -- before the command");
    if (chosen_->commands_.empty()) return usage_fault(fmt::format("unexpected argument: '{}'", argument), help_hint());
    const std::string nearest = suggest(word, command_names());
    std::string message = fmt::format("unknown command '{}'", word);
    if (chosen_ != &root_) message += fmt::format(" after '{}'", chosen_->call());
    if (!nearest.empty()) return usage_fault(message, fmt::format("did you mean `{}`?", nearest));
    return usage_fault(
        message, chosen_ == &root_ ? help_hint() : fmt::format("use one of: {}", fmt::join(command_names(), ", ")));
  }

  /// Explains the errors that the library can still report: an option without its value, or a flag with one. Its text
  /// starts with the option's name, with or without dashes; the rest is not useful to people.
  [[nodiscard]] Error refused_value(std::string_view text) const {
    const std::string name = without_dashes(text.substr(0, text.find_first_of(": =")));
    for (const Options* command : chosen_->path()) {
      for (const Bound& bound : bounds_of_.at(command)) {
        const std::vector<std::string>& names = bound.option->info_.names;
        if (std::ranges::find(names, name, without_dashes) == names.end()) continue;
        const std::string shown = bound.option->display_name();
        return usage_fault(bound.option->info_.value.empty() ? fmt::format("{} takes no value", shown)
                                                             : fmt::format("missing value for {}", shown),
                           help_hint());
      }
    }
    return usage_fault("invalid arguments", help_hint());
  }

  Options& root_;
  Options* chosen_ = nullptr;
  CLI::App app_;
  std::map<const Options*, std::vector<Bound>> bounds_of_;
};

Result<ParsedCall> parse_arguments(Options& root, std::vector<std::string> args) {
  return OptionsParser(root).parse(std::move(args));
}

std::string unknown_word(std::string_view word, const std::vector<std::string>& words) {
  const std::string nearest = suggest(word, words);
  return fmt::format("unknown value '{}'{}; use one of: {}", word,
                     nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest), fmt::join(words, ", "));
}

std::string take_words(std::string_view text, const std::vector<std::string>& words, std::vector<std::string>& taken) {
  do {
    const std::string word(text.substr(0, text.find(',')));
    if (std::ranges::find(words, word) == words.end()) return unknown_word(word, words);
    taken.push_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  } while (!text.empty());
  return {};
}

}  // namespace pawl::cli
