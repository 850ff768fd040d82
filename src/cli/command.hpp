// What a command consists of, and what it works with. One file per command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/cli.hpp"
#include "cli/command_tree.hpp"
#include "cli/text.hpp"
#include "config/config.hpp"

namespace pawl::cli {

/// The options that every command takes, before or behind its name.
struct Globals {
  std::optional<std::string> store;  // none: PAWL_STORE, else ./.pawl
  bool json = false;
  std::vector<std::string> command;  // what stands behind `--` of `pawl step` and `pawl __complete`, untouched
};

/// One call of one command.
class Invocation {
 public:
  Invocation(CliContext& context, const Globals& globals) : context_(context), globals_(globals) {}

  [[nodiscard]] CliContext& context() const { return context_; }
  [[nodiscard]] bool json() const { return globals_.json; }
  [[nodiscard]] const std::vector<std::string>& command() const { return globals_.command; }
  /// The store that is meant; where the settings can't be read, the one that is meant without them.
  [[nodiscard]] std::string store_uri() const;
  /// What is in force, read at the first call: invalid_config where a file or a variable is wrong.
  [[nodiscard]] Result<const Config*> config() const;
  /// The settings in effect; the defaults if they can't be read.
  [[nodiscard]] Settings settings() const;
  /// The largest state that may be saved; as built in where the settings can't be read.
  [[nodiscard]] std::uint64_t state_bytes_max() const;
  /// Fails with checkpoints_off where the settings turn checkpoints off.
  [[nodiscard]] Result<void> need_checkpoints() const;
  [[nodiscard]] ConfigWorld config_world() const;
  [[nodiscard]] Result<std::unique_ptr<Store>> open_store(StoreAccess access) const;
  /// Where there is no store at `uri` yet.
  Result<void> make_encrypted(const std::string& uri, const Settings& settings) const;
  /// For what goes to standard output. Colours only on a terminal, without NO_COLOR, and not in JSON.
  [[nodiscard]] Style style() const;

  /// To standard output.
  void print(std::string_view text) const { context_.out.write(text); }
  /// To standard error, as a line of its own. Not with --json: the document says the same.
  void note(std::string_view text) const;

 private:
  CliContext& context_;
  const Globals& globals_;
  mutable std::optional<Result<Config>> config_;
};

/// Its error becomes the message and the exit status.
using Action = std::function<Result<void>(const Invocation&)>;

struct Command {
  CLI::App* app = nullptr;
  Action run;
};

// Each adds its command to `root`.
[[nodiscard]] Command add_run(CLI::App& root);
[[nodiscard]] Command add_resume(CLI::App& root);
[[nodiscard]] Command add_step(CLI::App& root);
[[nodiscard]] Command add_approve(CLI::App& root);
[[nodiscard]] Command add_reject(CLI::App& root);
[[nodiscard]] Command add_signal(CLI::App& root);
[[nodiscard]] Command add_cancel(CLI::App& root);
[[nodiscard]] Command add_dlq(CLI::App& root);
[[nodiscard]] Command add_check(CLI::App& root);
[[nodiscard]] Command add_schema(CLI::App& root);
[[nodiscard]] Command add_save(CLI::App& root);
[[nodiscard]] Command add_restore(CLI::App& root);
[[nodiscard]] Command add_list(CLI::App& root);
[[nodiscard]] Command add_show(CLI::App& root);
[[nodiscard]] Command add_logs(CLI::App& root);
[[nodiscard]] Command add_handoff(CLI::App& root);
[[nodiscard]] Command add_diff(CLI::App& root);
[[nodiscard]] Command add_replay(CLI::App& root);
[[nodiscard]] Command add_fork(CLI::App& root);
[[nodiscard]] Command add_rollback(CLI::App& root);
[[nodiscard]] Command add_init(CLI::App& root);
[[nodiscard]] Command add_rekey(CLI::App& root);
[[nodiscard]] Command add_audit(CLI::App& root);
[[nodiscard]] Command add_verify(CLI::App& root);
[[nodiscard]] Command add_fsck(CLI::App& root);
[[nodiscard]] Command add_stats(CLI::App& root);
[[nodiscard]] Command add_config(CLI::App& root);
[[nodiscard]] Command add_doctor(CLI::App& root);
[[nodiscard]] Command add_prune(CLI::App& root);
[[nodiscard]] Command add_erase(CLI::App& root);
[[nodiscard]] Command add_import(CLI::App& root);
[[nodiscard]] Command add_export(CLI::App& root);
[[nodiscard]] Command add_explain(CLI::App& root);
[[nodiscard]] Command add_help(CLI::App& root);
[[nodiscard]] Command add_version(CLI::App& root);
[[nodiscard]] Command add_completion(CLI::App& root);
[[nodiscard]] Command add_complete(CLI::App& root);
[[nodiscard]] Command add_man(CLI::App& root);

inline constexpr const char* kWorkflowGroup = "Running workflows";
inline constexpr const char* kCheckpointGroup = "Checkpoints";
inline constexpr const char* kLookGroup = "Looking at runs";
inline constexpr const char* kCareGroup = "Care and help";

inline constexpr std::size_t kColumnsDefault = 80;
inline constexpr std::size_t kRunsMax = 1'000'000;

struct Bounds {
  std::uint64_t lowest = 0;
  std::uint64_t highest = UINT64_MAX;
};

/// A whole decimal number within the bounds; anything else is a usage error.
CLI::Option* add_number(CLI::App& app, const std::string& names, std::optional<std::uint64_t>& target,
                        const std::string& help, Bounds bounds = {});
inline constexpr Bounds kLimitBounds{.lowest = 1, .highest = 1'000'000};

/// One of an enumeration's words, with a suggestion for a misspelt one.
template <class Enum>
CLI::Option* add_word(CLI::App& app, const std::string& name, std::optional<Enum>& target, const std::string& help,
                      Enum last, std::optional<Enum> (*parse)(std::string_view));

/// "unknown word 'x'; did you mean 'y'? One of: ..."
[[nodiscard]] std::string unknown_word(std::string_view word, const std::vector<std::string>& words);

template <class Enum>
CLI::Option* add_word(CLI::App& app, const std::string& name, std::optional<Enum>& target, const std::string& help,
                      Enum last, std::optional<Enum> (*parse)(std::string_view)) {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.emplace_back(to_text(static_cast<Enum>(i)));
  CLI::Option* option = app.add_option_function<std::string>(
      name, [&target, parse](const std::string& word) { target = parse(word); }, help);
  option->check(
      [words, parse](const std::string& word) { return parse(word) ? std::string() : unknown_word(word, words); });
  know_words(*option, words);
  option->type_name("WORD");
  return option;
}

}  // namespace pawl::cli
