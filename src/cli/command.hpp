// Shared by all commands. There is one file per command.
#pragma once

#include <functional>

#include "cli/cli.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "config/config.hpp"
#include "text/duration.hpp"

namespace pawl::cli {

/// The options of all commands, given before or after the command's name.
struct Globals {
  std::optional<std::string> store;  // not set: PAWL_STORE, otherwise ./.pawl
  bool json = false;
  bool utc = false;
  std::optional<Milliseconds> wait_lock;  // for a run that another process has open
  std::vector<std::string> command;       // what follows `--` of `pawl step` and `pawl __complete`, unchanged
};

/// One call of one command.
class Invocation {
 public:
  Invocation(CliContext& context, const Globals& globals) : context_(context), globals_(globals) {}

  [[nodiscard]] CliContext& context() const { return context_; }
  [[nodiscard]] bool json() const { return globals_.json; }
  [[nodiscard]] const std::vector<std::string>& command() const { return globals_.command; }
  /// Returns the store to use. If the settings can't be read, they are ignored.
  [[nodiscard]] std::string store_uri() const { return store_place().uri; }
  [[nodiscard]] StorePlace store_place() const;
  /// The store as given with --store, so that hints name it too.
  [[nodiscard]] const std::optional<std::string>& given_store() const { return globals_.store; }
  /// The same for a store that will be created: one in a parent folder does not count.
  [[nodiscard]] StorePlace new_store_place() const;
  /// Returns the effective settings, read at the first call. Fails with invalid_config if a file or a variable is
  /// invalid.
  [[nodiscard]] Result<const Config*> config() const;
  /// The settings in effect; the defaults if they can't be read.
  [[nodiscard]] Settings settings() const;
  /// Returns the effective settings, overridden by the options of this call.
  [[nodiscard]] Result<Settings> call_settings() const;
  /// Returns the maximum size of a state, or the built-in one if the settings can't be read.
  [[nodiscard]] std::uint64_t state_bytes_max() const;
  /// Fails with checkpoints_off if the settings turn checkpoints off.
  [[nodiscard]] Result<void> need_checkpoints() const;
  [[nodiscard]] ConfigWorld config_world() const;
  [[nodiscard]] Result<std::unique_ptr<Store>> open_store(StoreAccess access) const;
  /// Creates an encrypted store if there is no store at `uri`.
  Result<void> make_encrypted(const std::string& uri, const Settings& settings) const;
  /// The style of standard output: coloured on a terminal, unless NO_COLOR is set or --json is given.
  [[nodiscard]] Style style() const;
  /// COLUMNS if set, otherwise the width of the terminal, otherwise 80.
  [[nodiscard]] std::size_t columns() const;
  /// The width of tables; none if standard output is not a terminal, because values are then printed in full.
  [[nodiscard]] std::optional<std::size_t> table_width() const;
  /// The width of messages; none if standard error is not a terminal.
  [[nodiscard]] std::optional<std::size_t> message_width() const;
  /// For tables: "3 min ago" on a terminal, otherwise the local time; the exact time in UTC with --utc.
  [[nodiscard]] std::string time_text(Timestamp time) const;
  /// For single lines: the local time, with its age on a terminal; the exact time in UTC with --utc.
  [[nodiscard]] std::string long_time_text(Timestamp time) const;
  [[nodiscard]] bool utc() const { return globals_.utc; }

  /// Returns the time by which ages are judged (Store::believable_now). Says so if the clock is not believed.
  [[nodiscard]] Timestamp now_for_ages(Store& store) const;

  /// Writes to standard output.
  void print(std::string_view text) const { context_.out.write(text); }
  /// Writes a line to standard error. Does nothing with --json, because the document contains the same.
  void note(std::string_view text) const;

 private:
  CliContext& context_;
  const Globals& globals_;
  mutable std::optional<Result<Config>> config_;
};

/// COLUMNS if set, otherwise the width of the terminal if `is_terminal`, otherwise 80.
[[nodiscard]] std::size_t columns_of(const CliContext& context, bool is_terminal);

/// Converts an error to a message and an exit status.
using Action = std::function<Result<void>(const Invocation&)>;

struct Command {
  Options* options = nullptr;
  Action run;
};

// Each function adds its command to `root`.
[[nodiscard]] Command add_run(Options& root);
[[nodiscard]] Command add_resume(Options& root);
[[nodiscard]] Command add_step(Options& root);
[[nodiscard]] Command add_approve(Options& root);
[[nodiscard]] Command add_reject(Options& root);
[[nodiscard]] Command add_signal(Options& root);
[[nodiscard]] Command add_cancel(Options& root);
[[nodiscard]] Command add_dlq(Options& root);
[[nodiscard]] Command add_check(Options& root);
[[nodiscard]] Command add_schema(Options& root);
[[nodiscard]] Command add_save(Options& root);
[[nodiscard]] Command add_restore(Options& root);
[[nodiscard]] Command add_list(Options& root);
[[nodiscard]] Command add_show(Options& root);
[[nodiscard]] Command add_logs(Options& root);
[[nodiscard]] Command add_handoff(Options& root);
[[nodiscard]] Command add_diff(Options& root);
[[nodiscard]] Command add_replay(Options& root);
[[nodiscard]] Command add_fork(Options& root);
[[nodiscard]] Command add_rollback(Options& root);
[[nodiscard]] Command add_init(Options& root);
[[nodiscard]] Command add_rekey(Options& root);
[[nodiscard]] Command add_audit(Options& root);
[[nodiscard]] Command add_verify(Options& root);
[[nodiscard]] Command add_fsck(Options& root);
[[nodiscard]] Command add_stats(Options& root);
[[nodiscard]] Command add_config(Options& root);
[[nodiscard]] Command add_doctor(Options& root);
[[nodiscard]] Command add_prune(Options& root);
[[nodiscard]] Command add_erase(Options& root);
[[nodiscard]] Command add_rm(Options& root);
[[nodiscard]] Command add_import(Options& root);
[[nodiscard]] Command add_export(Options& root);
[[nodiscard]] Command add_backup(Options& root);
[[nodiscard]] Command add_explain(Options& root);
[[nodiscard]] Command add_help(Options& root);
[[nodiscard]] Command add_version(Options& root);
[[nodiscard]] Command add_completion(Options& root);
[[nodiscard]] Command add_complete(Options& root);
[[nodiscard]] Command add_man(Options& root);

inline constexpr const char* kWorkflowGroup = "Running workflows";
inline constexpr const char* kCheckpointGroup = "Checkpoints";
inline constexpr const char* kLookGroup = "Inspecting runs";
inline constexpr const char* kCareGroup = "Maintenance and help";

inline constexpr std::size_t kColumnsDefault = 80;
inline constexpr std::size_t kMessageIndent = 6;  // as wide as `pawl: ` and `hint: `

/// Says where the key of a store comes from, and that a new one must not be lost.
[[nodiscard]] std::string key_advice(const StoreKeyPlace& key);

/// For people: "keeps the newest 100 checkpoints of a run, plus named ones, stage ends and fork points".
[[nodiscard]] std::string retention_text(const RetentionSettings& retention);

enum class LowestDuration : std::uint8_t { positive, zero };

/// Takes a duration: 30s, 5m, 2h.
[[nodiscard]] Option::Take take_duration(std::optional<Milliseconds>& target,
                                         LowestDuration lowest = LowestDuration::positive);

}  // namespace pawl::cli
