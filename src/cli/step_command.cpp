#include "cli/command.hpp"
#include "cli/workflow_session.hpp"
#include "domain/event_types.hpp"
#include "engine/environment_entries.hpp"
#include "engine/secret_log.hpp"
#include "engine/step_ledger.hpp"

namespace pawl::cli {
namespace {

constexpr int kInterrupted = 130;
constexpr int kOutputClosed = 141;  // as of a program that SIGPIPE ended

struct StepArguments {
  std::string name;
  std::string run;
  bool any_status = false;
  bool again = false;
  bool strict = false;
};

Error missing_command() {
  return Error{Code::usage, "missing command after --", {}, "for example: pawl step fetch -- curl -fsS URL", 0};
}

Result<RunId> chosen_run(const Invocation& invocation, const StepArguments& arguments) {
  std::string name = arguments.run;
  if (name.empty()) name = invocation.context().environment("PAWL_RUN").value_or("");
  if (name.empty()) {
    return fail(Error{Code::usage,
                      "no run given",
                      {},
                      "put `export PAWL_RUN=my-job` at the top of the script, or pass --run my-job",
                      0});
  }
  return RunId::parse(name);
}

/// One call of `pawl step`.
class StepCall {
 public:
  StepCall(const Invocation& invocation, const StepArguments& arguments, Store& store, const RunId& run)
      : invocation_(invocation),
        arguments_(arguments),
        world_(*invocation.context().workflows),
        store_(store),
        ledger_(store, invocation.context().clock, run),
        hash_(command_hash(invocation.command())) {}

  Result<void> call() {
    PAWL_TRY_ASSIGN(uuid_, ledger_.open());
    PAWL_TRY_ASSIGN(LedgerState state, ledger_.load());
    if (is_done(state)) return replay(*state.find(arguments_.name));
    PAWL_TRY_ASSIGN(folder_, store_.local_folder(ledger_.run()));
    PAWL_TRY_ASSIGN(cipher_, store_.log_cipher(ledger_.run()));
    PAWL_TRY_ASSIGN(const std::unique_ptr<StepLock> lock,
                    world_.foreground->lock(fmt::format("{}/step-{}.lock", folder_, arguments_.name)));
    PAWL_TRY_ASSIGN(state, ledger_.load());
    if (is_done(state)) return replay(*state.find(arguments_.name));  // by the one that had the lock before
    if (lock->was_left()) PAWL_TRY(world_.foreground->end_left("PAWL_IDEMPOTENCY_KEY=" + key()));
    const StepRecord* record = state.find(arguments_.name);
    PAWL_TRY(execute(record == nullptr ? 1 : record->attempts + 1));
    if (record != nullptr) drop_file(*record);
    return {};
  }

 private:
  [[nodiscard]] bool is_done(const LedgerState& state) const {
    const StepRecord* record = state.find(arguments_.name);
    return !arguments_.again && record != nullptr && record->status == StepStatus::completed;
  }
  [[nodiscard]] std::string key() const { return uuid_.text() + "/" + arguments_.name; }

  Result<void> replay(const StepRecord& record) {
    if (!record.definition.empty() && record.definition != hash_) {
      if (arguments_.strict) {
        return fail(Error{
            Code::step_changed,
            fmt::format("step '{}' of run {} was recorded with another command", arguments_.name, ledger_.run().text()),
            {},
            "give the step a new name, or run it again with --again",
            0});
      }
      invocation_.note(
          fmt::format("step {} was recorded with another command; printing the output of that one", arguments_.name));
    }
    PAWL_TRY(ledger_.replay(arguments_.name, record, world_.files,
                            [this](std::string_view bytes) { invocation_.print(bytes); }));
    invocation_.context().status = record.exit_code;
    return {};
  }

  /// Deletes the large output of an earlier attempt once it is replaced.
  void drop_file(const StepRecord& before) {
    if (!before.output.is_object() || !before.output.contains("file") || !recorded_) return;
    world_.files.remove(fmt::format("{}/step-{}.{}.out", folder_, arguments_.name, before.attempts));
  }

  [[nodiscard]] std::vector<std::string> environment(std::uint32_t attempt) const {
    std::vector<std::string> entries = world_.environment;
    set_entry(entries, "PAWL_RUN=" + ledger_.run().text());
    set_entry(entries, "PAWL_RUN_UUID=" + uuid_.text());
    set_entry(entries, "PAWL_STEP=" + arguments_.name);
    set_entry(entries, fmt::format("PAWL_ATTEMPT={}", attempt));
    set_entry(entries, "PAWL_IDEMPOTENCY_KEY=" + key());
    set_entry(entries, "PAWL_STORE=" + absolute_path(invocation_.context(), invocation_.store_uri()));
    return entries;
  }

  Result<void> execute(std::uint32_t attempt) {
    CliContext& context = invocation_.context();
    const std::string file = fmt::format("step-{}.{}.out", arguments_.name, attempt);
    std::string output_folder = folder_;
    if (cipher_) {
      PAWL_TRY_ASSIGN(output_folder, world_.files.private_folder(uuid_.text()));
    }
    const ForegroundSpec spec{.argv = invocation_.command(),
                              .environment = environment(attempt),
                              .output_path = output_folder + "/" + file,
                              .output_bytes_max = kOutputInEvent};
    const Timestamp started = context.clock.now();
    const std::int64_t began_us = context.clock.monotonic_us();
    PAWL_TRY_ASSIGN(ForegroundEnd end, world_.foreground->run(spec));
    const std::int64_t took_us = context.clock.monotonic_us() - began_us;
    if (!end.error.empty()) invocation_.note(end.error);
    if (end.interrupted != 0) {  // it is not known to be done, and the attempt does not count
      context.status = end.status == 0 ? kInterrupted : end.status;
      return {};
    }
    if (end.output_closed && end.status == 0) end.status = kOutputClosed;
    if (cipher_ && end.in_file) PAWL_TRY(encrypt_output(spec.output_path, folder_ + "/" + file));
    StepRecord made;
    made.status =
        end.status == 0 || (arguments_.any_status && !end.output_closed) ? StepStatus::completed : StepStatus::failed;
    made.attempts = made.starts = made.spent = attempt;
    made.exit_code = end.status;
    made.started = started;
    made.ended = context.clock.now();
    made.duration_ms = static_cast<std::uint64_t>(took_us / 1000);
    made.definition = hash_;
    if (made.status == StepStatus::failed)
      made.error = end.error.empty() ? fmt::format("exit status {}", end.status) : end.error;
    Json output = end.in_file ? Json{{"file", file}, {"size", end.output_bytes}, {"sha256", end.output_sha256}}
                              : output_json(end.output);
    PAWL_TRY(record(made, std::move(output)));
    context.status = end.status;
    return {};
  }

  /// Moves output that is too large for the checkpoint into the store.
  Result<void> encrypt_output(const std::string& plain, const std::string& path) {
    constexpr std::uint64_t kBlock = 256U << 10U;
    world_.files.remove(path);
    const auto out = secret_output_files(world_.files, cipher_, folder_)(path);
    const std::uint64_t size = world_.files.size(plain);
    for (std::uint64_t at = 0; at < size; at += kBlock) {
      PAWL_TRY_ASSIGN(const std::string block, world_.files.read_range(plain, at, std::min(kBlock, size - at)));
      PAWL_TRY(out->append(block));
    }
    world_.files.remove(plain);
    return world_.files.make_durable(path);  // before the record that names it
  }

  Result<void> record(const StepRecord& made, Json output) {
    const Result<void> recorded = ledger_.update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
      StepRecord& record = state.at(arguments_.name);
      record = made;
      change.step = arguments_.name;
      const bool done = made.status == StepStatus::completed;
      if (!done) {
        change.kind = Kind::error;
        change.reason = Reason::step_failed;
      }
      place_output(state, change, record, std::move(output),
                   {{"step", arguments_.name},
                    {"attempt", made.attempts},
                    {"exit_code", made.exit_code},
                    {"ms", made.duration_ms}},
                   done ? event_type::kStepCompleted : event_type::kAttemptFailed);
      return {};
    });
    recorded_ = recorded.has_value();
    if (recorded) return {};
    return fail(with_hint(
        recorded.error(),
        fmt::format("the command exited with {}, but this may not be recorded; it may run again", made.exit_code)));
  }

  const Invocation& invocation_;
  const StepArguments& arguments_;
  WorkflowWorld& world_;
  Store& store_;
  StepLedger ledger_;
  const std::string hash_;
  Uuid uuid_;
  std::string folder_;
  std::shared_ptr<LogCipher> cipher_;  // null: the run is not encrypted
  bool recorded_ = false;
};

Result<void> step(const Invocation& invocation, const StepArguments& arguments) {
  if (invocation.command().empty()) return fail(missing_command());
  PAWL_TRY(check_step_name(arguments.name));
  PAWL_TRY_ASSIGN(const RunId run, chosen_run(invocation, arguments));
  PAWL_TRY(invocation.need_checkpoints());
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::write));
  const Result<void> called = StepCall(invocation, arguments, *store, run).call();
  if (!called) return fail(at(called.error(), run.text()));
  return {};
}

constexpr const char* kStepExamples =
    "Examples, in any script:\n"
    "  export PAWL_RUN=nightly\n"
    "  pawl step fetch -- curl -fsS https://example.org/data.json > data.json\n"
    "  pawl step load -- psql -f load.sql\n"
    "\n"
    "After a crash, run the script again: completed steps print their recorded output\n"
    "and are not run again. In a loop, use unique names:\n"
    "  pawl step \"page-$n\" -- ./page.sh \"$n\"\n"
    "\n"
    "Set for the command: PAWL_RUN, PAWL_STEP, PAWL_ATTEMPT and\n"
    "PAWL_IDEMPOTENCY_KEY.";

}  // namespace

Command add_step(Options& root) {
  const auto arguments = std::make_shared<StepArguments>();
  Options& app =
      root.command("step", "Run a command once: `step NAME -- COMMAND...`; if already done, print its output");
  app.group(kWorkflowGroup).when_output_closes(ClosedOutput::ignored);
  app.text("NAME", arguments->name, "Step name, unique in its run").required();
  app.text("--run", arguments->run, "Run id (default: $PAWL_RUN); the first step creates the run").value("RUN");
  app.flag("--any-status", arguments->any_status, "Count any exit status as done (default: only 0)");
  app.flag("--again", arguments->again, "Run it even if already done");
  app.flag("--strict", arguments->strict, "Fail if it was recorded with another command");
  app.footer(kStepExamples);
  return {&app, [arguments](const Invocation& invocation) { return step(invocation, *arguments); }};
}

}  // namespace pawl::cli
