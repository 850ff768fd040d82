// The options, arguments and subcommands of a command. Only options.cpp depends on the library that parses them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/command_tree.hpp"

namespace pawl::cli {

struct Bounds {
  std::uint64_t lowest = 0;
  std::uint64_t highest = UINT64_MAX;
};

/// "unknown value 'x' (did you mean 'y'?); use one of: y, z"
[[nodiscard]] std::string unknown_word(std::string_view word, const std::vector<std::string>& words);
/// Adds the comma-separated words of `text` to `taken`. Returns what is wrong with them, or nothing.
[[nodiscard]] std::string take_words(std::string_view text, const std::vector<std::string>& words,
                                     std::vector<std::string>& taken);

/// What a command does if nobody reads its standard output any more.
enum class ClosedOutput : std::uint8_t {
  ends,     // its only purpose is to print: exits silently with status 141, as after SIGPIPE
  ignored,  // its purpose is the work, whose outcome determines the exit status
  error,    // the caller needs its output: prints a message and exits with status 5
};

/// One option, or one positional argument.
class Option {
 public:
  /// Accepts one value. Returns what is wrong with it ("not a duration: 'x'"), or nothing.
  using Take = std::function<std::string(const std::string&)>;

  /// The name of its value in help texts: FILE. Completion derives from it what to offer.
  Option& value(std::string name);
  Option& required();
  /// The two options can't be used together.
  Option& excludes(Option& other);
  /// The option can be given several times.
  Option& repeats();
  /// The accepted words; any other is refused with a suggestion.
  Option& words(std::vector<std::string> words);
  /// The words that completion offers; other values are also accepted.
  Option& suggests(std::vector<std::string> words);
  /// The heading in the help; an empty heading hides the option.
  Option& group(std::string heading);

  [[nodiscard]] const OptionInfo& info() const { return info_; }
  /// "--output", or "RUN"
  [[nodiscard]] std::string display_name() const;
  [[nodiscard]] bool given() const { return times_given_ > 0; }

 private:
  friend class Options;
  friend class OptionsParser;
  Option(std::string_view names, std::string help, Take take);

  OptionInfo info_;
  Take take_;
  std::vector<const Option*> excluded_;
  bool is_checked_ = false;  // against info_.words
  std::size_t times_given_ = 0;
};

/// A command: its options, arguments and subcommands. Variables that options are bound to must outlive the parse. A
/// name without a dash is a positional argument.
class Options {
 public:
  Options(std::string name, std::string help);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  Option& text(std::string_view names, std::string& target, std::string help);
  Option& text(std::string_view names, std::optional<std::string>& target, std::string help);
  /// An option that may be repeated, or all remaining arguments.
  Option& list(std::string_view names, std::vector<std::string>& target, std::string help);
  Option& flag(std::string_view names, bool& target, std::string help);
  /// A whole decimal number within the bounds.
  Option& number(std::string_view names, std::optional<std::uint64_t>& target, std::string help, Bounds bounds = {});
  /// A non-negative number that may have decimals.
  Option& amount(std::string_view names, std::optional<double>& target, std::string help);
  /// A value that `take` accepts or refuses.
  Option& parsed(std::string_view names, std::string help, Option::Take take);
  /// One of the words of an enumeration, whose last value is `last`.
  template <class Enum>
  Option& word(std::string_view names, std::optional<Enum>& target, std::string help, Enum last,
               std::optional<Enum> (*parse)(std::string_view));

  /// Adds a subcommand. The reference stays valid.
  Options& command(std::string name, std::string help);
  /// The heading in the help; an empty heading hides the command.
  Options& group(std::string heading);
  /// Examples and notes below the help, printed as they are.
  Options& footer(std::string text);
  Options& when_output_closes(ClosedOutput what);
  /// The name of what follows `--` in help texts: COMMAND...
  Options& after_dashes(std::string name);
  /// An option that all subcommands accept, too.
  Option& for_all(Option& option);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_hidden() const { return group_.empty(); }
  [[nodiscard]] ClosedOutput closed_output() const { return closed_output_; }
  /// Returns whether the arguments of the last parse named this command.
  [[nodiscard]] bool chosen() const { return chosen_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Options>>& commands() const { return commands_; }
  /// `pawl audit add`
  [[nodiscard]] std::string call() const;
  /// The text below the help: its own footer, or that of its parent command.
  [[nodiscard]] const std::string& shown_footer() const;
  /// Returns everything that is not hidden, as plain data, including the options for all commands.
  [[nodiscard]] CommandInfo tree() const;

 private:
  friend class OptionsParser;
  Option& add(std::string_view names, std::string help, Option::Take take);
  [[nodiscard]] std::vector<const Options*> path() const;

  std::string name_;
  std::string help_;
  std::string footer_;
  std::string after_dashes_;
  std::string group_ = "Commands";
  Options* parent_ = nullptr;
  bool chosen_ = false;
  ClosedOutput closed_output_ = ClosedOutput::ends;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<Option*> for_all_;
  std::vector<std::unique_ptr<Options>> commands_;
};

/// What the arguments request: to run `command`, or to show its help or the version.
struct ParsedCall {
  enum class Asks : std::uint8_t { run, help, version };
  Asks asks = Asks::run;
  const Options* command = nullptr;
};

/// Fills the variables that the options are bound to. Fails with a usage error that names the option or argument, and
/// a hint.
[[nodiscard]] Result<ParsedCall> parse_arguments(Options& root, std::vector<std::string> args);

inline constexpr Bounds kLimitBounds{.lowest = 1, .highest = 1'000'000};

template <class Enum>
Option& Options::word(std::string_view names, std::optional<Enum>& target, std::string help, Enum last,
                      std::optional<Enum> (*parse)(std::string_view)) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.emplace_back(to_text(static_cast<Enum>(i)));
  return parsed(names, std::move(help),
                [&target, parse, words](const std::string& word) {
                  target = parse(word);
                  return target ? std::string() : unknown_word(word, words);
                })
      .value("WORD")
      .suggests(words);
}

}  // namespace pawl::cli
