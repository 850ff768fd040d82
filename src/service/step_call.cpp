#include "service/step_call.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "domain/event_types.hpp"
#include "engine/environment_entries.hpp"
#include "engine/mask_json.hpp"
#include "engine/secret_log.hpp"
#include "engine/step_output.hpp"
#include "engine/step_report.hpp"
#include "text/duration.hpp"

namespace pawl {
namespace {

constexpr int kInterruptedStatus = 130;
constexpr int kTimeoutStatus = 124;  // as for timeout(1)
constexpr std::size_t kLogTailBytes = 2048;
constexpr std::uint64_t kReportBytesMax = 64ULL << 20;
constexpr std::int64_t kLockStep_us = 20'000;

std::string lock_name(const std::string& step) { return fmt::format("step-{}.lock", step); }

/// One finished attempt.
struct StepAttempt {
  ForegroundEnd end;
  std::uint64_t took_ms = 0;
  StepRecord record;
  Json output;
  StepReport report;
  std::string report_error;  // why the report can't be read; the step fails, because its result is unknown
  std::string log_tail;
};

class StepCall {
 public:
  StepCall(const StepCallWorld& world, const RunId& run, const StepCallOptions& options)
      : world_(world),
        options_(options),
        ledger_(world.store, world.clock, run),
        hash_(command_hash(options.command)) {}

  Result<int> call() {
    PAWL_TRY_ASSIGN(uuid_, ledger_.open());
    PAWL_TRY_ASSIGN(LedgerState state, ledger_.load());
    if (is_done(state)) return replay(*state.find(options_.name));
    PAWL_TRY_ASSIGN(folder_, world_.store.local_folder(ledger_.run()));
    PAWL_TRY_ASSIGN(cipher_, world_.store.log_cipher(ledger_.run()));
    PAWL_TRY_ASSIGN(patterns_, SecretPatterns::make(world_.settings.secrets, {}));
    PAWL_TRY_ASSIGN(work_, cipher_ ? world_.files.private_folder(uuid_.text()) : Result<std::string>(folder_));
    PAWL_TRY(ledger_.reach());
    PAWL_TRY_ASSIGN(const std::unique_ptr<StepLock> lock, take_lock());
    PAWL_TRY(ledger_.reach());  // a program that holds the run may have begun the step before it saw the lock
    PAWL_TRY_ASSIGN(state, ledger_.load());
    if (is_done(state)) return replay(*state.find(options_.name));  // the previous holder of the lock completed it
    mark_ = fmt::format("PAWL_STEP_LOCK={}@{}", key(), lock->place());
    if (lock->was_left()) PAWL_TRY(world_.foreground.end_left(mark_));
    const StepRecord* known = state.find(options_.name);
    return run_attempts(known == nullptr ? StepRecord{} : *known);
  }

 private:
  [[nodiscard]] bool is_done(const LedgerState& state) const {
    const StepRecord* record = state.find(options_.name);
    return !options_.again && record != nullptr && record->status == StepStatus::completed;
  }
  [[nodiscard]] std::string key() const { return uuid_.text() + "/" + options_.name; }

  Result<std::unique_ptr<StepLock>> take_lock() {
    const std::int64_t until_us =
        world_.clock.monotonic_us() + std::chrono::microseconds(world_.settings.lock_wait).count();
    while (true) {
      Result<std::unique_ptr<StepLock>> lock = world_.foreground.lock(folder_ + "/" + lock_name(options_.name));
      if (lock || lock.error().code != Code::step_busy) return lock;
      if (world_.clock.monotonic_us() >= until_us) return fail(busy_step(lock.error(), ledger_.run(), options_.name));
      world_.clock.sleep_us(kLockStep_us);
    }
  }

  Result<int> replay(const StepRecord& record) {
    if (!record.definition.empty() && record.definition != hash_) {
      if (options_.strict) {
        return fail(Error{
            Code::step_changed,
            fmt::format("step '{}' of run {} was recorded with another command", options_.name, ledger_.run().text()),
            {},
            "give the step a new name",
            0,
            Advice::repeat_step,
            {.step = options_.name}});
      }
      world_.note(
          fmt::format("step {} was recorded with another command; its output is what that printed", options_.name));
    }
    PAWL_TRY(ledger_.replay(options_.name, record, world_.files, world_.print));
    return record.exit_code;
  }

  Result<int> run_attempts(StepRecord before) {
    const std::int64_t began_us = world_.clock.monotonic_us();
    const bool first = before.status == StepStatus::completed || before.attempts == 0;
    const std::uint64_t earlier_ms = first ? 0 : before.duration_ms;
    before.started = world_.clock.now();
    for (std::uint32_t in_this_call = 1;; ++in_this_call) {
      PAWL_TRY(record_start(before));
      PAWL_TRY_ASSIGN(StepAttempt attempt, execute(before));
      attempt.record.duration_ms = earlier_ms + ms_since(began_us);
      PAWL_TRY(record_end(attempt));
      drop_output_file(before);
      const StepRecord& made = attempt.record;
      const bool again =
          made.status == StepStatus::failed && options_.retry.allows_after(in_this_call) && attempt.end.error.empty();
      if (!again) {
        tell_failure(attempt, in_this_call);
        return attempt.end.status;
      }
      const double chance = static_cast<double>(world_.random.next() >> 11U) * 0x1.0p-53;
      const std::uint64_t delay_ms = options_.retry.delay_ms(in_this_call, chance);
      world_.note(fmt::format("step {} failed ({}); retrying in {} (attempt {} of {})", options_.name, made.error,
                              duration_text(Milliseconds(delay_ms)), in_this_call + 1, options_.retry.attempts));
      world_.clock.sleep_us(static_cast<std::int64_t>(delay_ms) * 1000);
      before = made;
    }
  }

  [[nodiscard]] std::uint64_t ms_since(std::int64_t began_us) const {
    return static_cast<std::uint64_t>((world_.clock.monotonic_us() - began_us) / 1000);
  }

  /// The command itself says why it failed; it can't say that it was stopped, nor how often it was tried.
  void tell_failure(const StepAttempt& attempt, std::uint32_t attempts) {
    const ForegroundEnd& end = attempt.end;
    if (attempt.record.status != StepStatus::failed || !end.error.empty()) return;
    if (!end.timed_out && attempts == 1) return;
    const std::string tried = attempts == 1 ? "" : fmt::format(" ({} attempts)", attempts);
    world_.note(
        fmt::format("step {} {}{}{}", options_.name, end.timed_out ? "" : "failed: ", attempt.record.error, tried));
  }

  /// Lets others see the step running. A completed step that runs again stays completed until it exits.
  Result<void> record_start(StepRecord& record) {
    if (record.status == StepStatus::completed) return {};
    ++record.starts;
    record.status = StepStatus::running;
    record.error.clear();
    return ledger_.update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
      state.at(options_.name) = record;
      change.step = options_.name;
      change.kind = Kind::step_start;
      change.reason = Reason::before_step;
      change.events.push_back(
          {event_type::kStepStarted, compact({{"step", options_.name}, {"attempt", record.attempts + 1}})});
      return {};
    });
  }

  /// Removes the large output of an earlier attempt, once a newer record has replaced it.
  void drop_output_file(const StepRecord& before) {
    if (!before.output.is_object() || !before.output.contains("file")) return;
    world_.files.remove(folder_ + "/" + output_name(before.attempts));
  }
  [[nodiscard]] std::string output_name(std::uint32_t attempt) const {
    return fmt::format("step-{}.{}.out", options_.name, attempt);
  }

  [[nodiscard]] std::vector<std::string> environment(const StepRecord& before, const std::string& result) const {
    std::vector<std::string> entries = world_.environment;
    const std::uint32_t attempt = before.attempts + 1;
    set_entry(entries, "PAWL_RUN=" + ledger_.run().text());
    set_entry(entries, "PAWL_RUN_UUID=" + uuid_.text());
    set_entry(entries, "PAWL_STEP=" + options_.name);
    set_entry(entries, fmt::format("PAWL_ATTEMPT={}", attempt));
    set_entry(entries, fmt::format("PAWL_ATTEMPT_ID={}#{}", key(), before.starts));
    set_entry(entries, "PAWL_IDEMPOTENCY_KEY=" + key());
    set_entry(entries, mark_);
    set_entry(entries, "PAWL_RESULT=" + result);
    set_entry(entries, "PAWL_PREVIOUS=" + (before.partial.is_null() ? std::string() : compact(before.partial)));
    set_entry(entries, "PAWL_STORE=" + world_.store_uri);
    return entries;
  }

  [[nodiscard]] std::shared_ptr<StepOutput> open_log(std::uint32_t attempt) {
    const std::string path = fmt::format("{}/{}.{}.log", folder_, options_.name, attempt);
    const OpenOutputFile open =
        cipher_ ? secret_output_files(world_.files, cipher_, folder_) : plain_output_files(world_.files);
    return std::make_shared<StepOutput>(open(path), patterns_, masked_,
                                        StepOutput::Wanted{.tail_bytes = kLogTailBytes});
  }

  Result<StepAttempt> execute(const StepRecord& before) {
    const std::uint32_t number = before.attempts + 1;
    const std::string file = output_name(number);
    const std::string result = fmt::format("{}/step-{}.{}.result", work_, options_.name, number);
    world_.files.remove_folder(result);  // left by an interrupted attempt
    const std::shared_ptr<StepOutput> log = open_log(number);
    const ForegroundSpec spec{.argv = options_.command,
                              .environment = environment(before, result),
                              .output_path = work_ + "/" + file,
                              .output_bytes_max = kOutputInEvent,
                              .log = log,
                              .timeout_us = options_.timeout_us};
    StepAttempt attempt;
    attempt.record = before;
    StepRecord& made = attempt.record;
    const std::int64_t began_us = world_.clock.monotonic_us();
    PAWL_TRY_ASSIGN(attempt.end, world_.foreground.run(spec));
    attempt.took_ms = ms_since(began_us);
    made.ended = world_.clock.now();
    log->close();
    attempt.log_tail = log->tail();
    ForegroundEnd& end = attempt.end;
    if (!end.error.empty()) world_.note(end.error);
    note_lost_output(end.output_error);
    if (cipher_ && end.in_file) PAWL_TRY(encrypt_output(spec.output_path, folder_ + "/" + file));
    if (end.in_file) PAWL_TRY(keep_output(folder_ + "/" + file));
    attempt.output = end.in_file ? Json{{"file", file}, {"size", end.output_bytes}, {"sha256", end.output_sha256}}
                                 : output_json(end.output);
    read_report(attempt, result);
    judge(attempt);
    return attempt;
  }

  /// A reader that has closed the stream does not want the output. A full disk loses it.
  void note_lost_output(int os_error) const {
    if (os_error == 0 || os_error == EPIPE || os_error == EBADF) return;
    world_.note(
        fmt::format("can't write to standard output: {}; the output is recorded: repeat this command to print it",
                    std::generic_category().message(os_error)));
  }

  void read_report(StepAttempt& attempt, const std::string& path) {
    const Result<std::optional<std::string>> text = world_.files.read_regular(path, kReportBytesMax);
    if (text && !*text) return;
    const bool cut = attempt.end.interrupted != 0 || attempt.end.timed_out;
    if (text) attempt.report = parse_report(**text, cut ? LastLine::may_be_cut : LastLine::finished);
    if (!text) {
      attempt.report_error = fmt::format("can't read $PAWL_RESULT: {}", text.error().message);
      attempt.report.faults.push_back(attempt.report_error);
    }
    world_.files.remove_folder(path);  // whatever it is
    for (const std::string& fault : attempt.report.faults) world_.note(fault);
    for (const std::string& message : attempt.report.messages)
      world_.note(fmt::format("{}: {}", options_.name, message));
  }

  void judge(StepAttempt& attempt) {
    ForegroundEnd& end = attempt.end;
    StepRecord& made = attempt.record;
    made.definition = hash_;
    made.usage.add(attempt.report.usage);
    if (attempt.report.confidence) made.confidence = attempt.report.confidence;
    if (attempt.report.output) attempt.output["result"] = *attempt.report.output;
    if (end.interrupted != 0) {  // the step may be incomplete, and the attempt does not count
      end.status = end.status == 0 ? kInterruptedStatus : end.status;
      made.status = StepStatus::interrupted;
      made.error = fmt::format("interrupted by signal {}", end.interrupted);
      if (attempt.report.progress) made.partial = *attempt.report.progress;
      return;
    }
    if (end.timed_out) end.status = kTimeoutStatus;
    const bool lost = !attempt.report_error.empty();
    if (lost && end.status == 0) end.status = 1;
    ++made.attempts;
    ++made.spent;
    made.exit_code = end.status;
    const bool fine = end.status == 0 || (options_.any_status && !end.timed_out && !lost);
    made.status = fine ? StepStatus::completed : StepStatus::failed;
    made.partial = fine || !attempt.report.progress ? Json() : *attempt.report.progress;
    made.error.clear();
    if (fine) return;
    made.error = !end.error.empty() ? end.error
                 : lost             ? attempt.report_error
                 : end.timed_out
                     ? fmt::format("timed out after {}", duration_text(Milliseconds(options_.timeout_us / 1000)))
                     : fmt::format("exit status {}", end.status);
  }

  /// Moves an output that is too large for the checkpoint into the store.
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
    return {};
  }

  /// Makes a large output durable before the record that names it. Nobody else has synced the folders of a new run.
  Result<void> keep_output(const std::string& path) {
    const std::filesystem::path logs(folder_);  // STORE/runs/RUN/logs
    return world_.files.make_durable(path, logs.parent_path().parent_path().parent_path().string());
  }

  void add_event(LedgerChange& change, const char* type, Json data) {
    data["step"] = options_.name;
    mask_event(data, patterns_, *masked_);
    change.events.push_back({type, compact(data)});
  }

  void add_report(LedgerChange& change, const StepReport& report) {
    for (const Json& decision : report.decisions) add_event(change, event_type::kDecision, decision);
    for (const std::string& text : report.blockers) add_event(change, event_type::kBlocker, {{"description", text}});
    for (const std::string& text : report.messages) add_event(change, event_type::kMessage, {{"text", text}});
    for (const std::string& text : report.faults) add_event(change, event_type::kReportFault, {{"error", text}});
    for (const Json& value : report.evaluations) add_event(change, event_type::kEvaluation, {{"evaluation", value}});
    if (report.confidence) add_event(change, event_type::kConfidence, {{"value", *report.confidence}});
    if (report.context_usage) add_event(change, event_type::kContextUsage, {{"share", *report.context_usage}});
  }

  Result<void> record_end(const StepAttempt& attempt) {
    const StepRecord& made = attempt.record;
    const Result<void> recorded = ledger_.update([&](LedgerState& state, LedgerChange& change) -> Result<void> {
      StepRecord& record = state.at(options_.name);
      if (made.status == StepStatus::interrupted && record.status == StepStatus::completed) return {};
      record = made;
      change.step = options_.name;
      add_report(change, attempt.report);
      Json data = {{"step", options_.name}, {"attempt", made.attempts}, {"ms", attempt.took_ms}};
      if (made.status == StepStatus::interrupted) {
        change.kind = Kind::step_complete;
        change.reason = Reason::signal;
        data["error"] = made.error;
        change.events.push_back({event_type::kAttemptInterrupted, compact(data)});
        return {};
      }
      data["exit_code"] = made.exit_code;
      if (made.usage != Usage{}) data["usd"] = made.usage.usd, data["tokens"] = made.usage.tokens;
      const bool done = made.status == StepStatus::completed;
      if (done) data["ms"] = made.duration_ms;  // of all attempts
      if (!done) {
        change.kind = Kind::error;
        change.reason = Reason::step_failed;
        data["error"] = made.error;
        if (!attempt.log_tail.empty()) data["log"] = valid_text(attempt.log_tail);
      }
      place_output(state, change, record, attempt.output, std::move(data),
                   done ? event_type::kStepCompleted : event_type::kAttemptFailed);
      return {};
    });
    if (recorded) return {};
    return fail(with_hint(
        recorded.error(),
        fmt::format(
            "the command exited with status {}, but this may not have been recorded; the next call then runs it again",
            attempt.end.status)));
  }

  /// Replaces invalid UTF-8, for example where the text was truncated, by replacement characters.
  static std::string valid_text(const std::string& text) {
    return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  }

  const StepCallWorld& world_;
  const StepCallOptions& options_;
  StepLedger ledger_;
  const std::string hash_;
  Uuid uuid_;
  std::string folder_;
  std::string mark_;                   // environment entry that all processes of this step have
  std::string work_;                   // for outputs and reports until they are recorded
  std::shared_ptr<LogCipher> cipher_;  // null: the run is not encrypted
  std::shared_ptr<const SecretPatterns> patterns_;
  const std::shared_ptr<MaskCounts> masked_ = std::make_shared<MaskCounts>();
};

}  // namespace

Result<int> call_step(const StepCallWorld& world, const RunId& run, const StepCallOptions& options) {
  PAWL_TRY(check_step_name(options.name));
  Result<int> status = StepCall(world, run, options).call();
  if (!status) return fail(at(status.error(), run.text()));
  return status;
}

Result<StepsStatus> steps_status(Store& store, const RunId& run) {
  StepsStatus out;
  PAWL_TRY_ASSIGN(out.ledger, load_ledger(store, run));
  const LedgerState before = out.ledger;
  const bool started =
      std::ranges::any_of(before.steps, [](const auto& step) { return step.second.status == StepStatus::running; });
  std::vector<std::string> held;
  if (started) {
    PAWL_TRY_ASSIGN(held, store.held_locks(run));
    PAWL_TRY_ASSIGN(out.ledger, load_ledger(store, run));
  }
  // A step that ended in between is recorded by now, and one that began in between was not running before.
  const auto died = [&](const std::string& name, const StepRecord& record) {
    const StepRecord* const earlier = before.find(name);
    return earlier != nullptr && earlier->status == StepStatus::running && earlier->starts == record.starts &&
           std::ranges::find(held, lock_name(name)) == held.end();
  };
  bool failed = false;
  bool running = false;
  bool interrupted = false;
  for (auto& [name, record] : out.ledger.steps) {
    if (record.status == StepStatus::running && died(name, record)) {
      record.status = StepStatus::interrupted;
      record.error = "its process died";
    }
    failed = failed || record.status == StepStatus::failed;
    running = running || record.status == StepStatus::running;
    interrupted = interrupted || record.status == StepStatus::interrupted;
    out.usage.add(record.usage);
  }
  out.status = running       ? RunStatus::running
               : failed      ? RunStatus::failed
               : interrupted ? RunStatus::interrupted
                             : RunStatus::completed;
  return out;
}

Result<bool> created_by_steps(Store& store, const RunId& run) {
  PAWL_TRY_ASSIGN(const std::vector<Event> first, store.events(run, 0, 1));
  if (first.empty() || first.front().type != event_type::kRunStarted) return false;
  const Json data = Json::parse(first.front().data, nullptr, false);
  return data.is_object() && data.value("by", Json()) == Json("steps");
}

bool is_steps_run(Store& store, const RunId& run) { return created_by_steps(store, run).value_or(false); }

}  // namespace pawl
