// Plain lines, and events as JSON: for pipes, logs and programs.
#include "cli/live_view.hpp"
#include "cli/output_lines.hpp"
#include "cli/run_view.hpp"
#include "domain/event_types.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kProgressInterval_us = 10'000'000;

/// Returns the interval of progress lines of maps: $PAWL_PROGRESS_INTERVAL, default 10s.
/// Loading the settings has refused an invalid one.
std::int64_t progress_interval(const CliContext& context) {
  const std::optional<Milliseconds> given = parse_duration(context.environment("PAWL_PROGRESS_INTERVAL").value_or(""));
  return given ? std::chrono::microseconds(*given).count() : kProgressInterval_us;
}

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += fmt::format("    | {}\n", printable(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

std::string needs_approval(const std::string& step, const std::string& prompt) {
  if (is_one_line(prompt)) return fmt::format("{}: needs approval: {}\n", step, printable(summary_line(prompt)));
  return fmt::format("{}: needs approval:\n{}", step, indented_lines(prompt, "    "));
}

class PlainView final : public RunView {
 public:
  PlainView(const Invocation& invocation, const ViewOptions& options)
      : out_(invocation.context().out),
        err_(invocation.context().err),
        clock_(invocation.context().clock),
        options_(options),
        progress_(invocation.context().clock, progress_interval(invocation.context())),
        lines_(invocation.style().colours() ? Colours::keep : Colours::remove) {}

  void begin(const RunId& run, const Workflow&, const RunState&) override { main_run_ = run.text(); }

  void on_event(const RunEvent& event) override {
    if (event.type == event_type::kCheckpointSaved) return;  // for programs
    if (options_.step_output && !event.step.empty()) lines_.end(source(event.run, event.step), out_);
    progress_.take(event);
    const std::string text = line(event);
    if (text.empty()) return;
    leave_question();
    out_.write(event.run != main_run_ ? fmt::format("[{}] {}", event.run, text) : text);
    static_cast<void>(out_.flush());
  }

  [[nodiscard]] bool wants_output() const override { return options_.step_output; }
  void on_output(const std::string& run, const std::string& step, std::string_view text) override {
    leave_question();
    lines_.add(source(run, step), text, out_);
    static_cast<void>(out_.flush());
  }

  void on_tick() override {
    const std::string text = progress_.lines(main_run_);
    if (text.empty()) return;
    leave_question();
    out_.write(text);
    static_cast<void>(out_.flush());
  }

  void hold() override {
    static_cast<void>(out_.flush());
    at_question_ = true;
  }
  void release() override { at_question_ = false; }
  void end() override { lines_.end_all(out_); }

 private:
  void leave_question() {
    if (std::exchange(at_question_, false)) out_.write("\n");
  }

  [[nodiscard]] std::string source(const std::string& run, const std::string& step) const {
    return run == main_run_ ? printable(step) : fmt::format("[{}] {}", run, printable(step));
  }

  std::string line(const RunEvent& event) {
    const Json& data = event.data;
    const auto text = [&](const char* key) {
      return data.contains(key) && data[key].is_string() ? printable(data[key].get<std::string>()) : std::string();
    };
    const auto number = [&](const char* key) {
      return data.contains(key) && data[key].is_number() ? data[key].get<std::uint64_t>() : 0;
    };
    const std::string step = printable(event.step);
    if (event.type == event_type::kStepStarted)
      return fmt::format("{}: started{}\n", step, data.value("again", false) ? " again" : "");
    if (event.type == event_type::kStepCompleted)
      return fmt::format("{}: completed in {}\n", step, elapsed_text(static_cast<std::int64_t>(number("ms"))));
    if (event.type == event_type::kStepFailed) return fmt::format("{}: failed: {}\n", step, text("error"));
    if (event.type == event_type::kStepSkipped) return fmt::format("{}: skipped: {}\n", step, text("reason"));
    if (event.type == event_type::kAttemptFailed) {
      const std::string log = !options_.step_output && data.contains("log") && data["log"].is_string()
                                  ? indented(data["log"].get<std::string>())
                                  : "";
      if (!data.contains("again_in_ms"))
        return fmt::format("{}: attempt {} failed: {}\n{}", step, number("attempt"), text("error"), log);
      return fmt::format("{}: attempt {} failed: {}; again in {}\n{}", step, number("attempt"), text("error"),
                         elapsed_text(static_cast<std::int64_t>(number("again_in_ms"))), log);
    }
    if (event.type == event_type::kMapStarted)
      return fmt::format("{}: {} items, {} at once\n", step, number("items"), number("parallel"));
    if (event.type == event_type::kItemFailed)
      return fmt::format("{}[{}]: failed: {}\n", step, number("index"), text("error"));
    if (event.type == event_type::kMapCompleted)
      return fmt::format("{}: {} of {} items completed\n", step, number("total") - number("failed"), number("total"));
    if (event.type == event_type::kIterationStarted)
      return fmt::format("{}: iteration {} of {}\n", step, number("iteration"), number("max"));
    if (event.type == event_type::kApprovalRequested) return needs_approval(step, text_in(data, "prompt"));
    if (event.type == event_type::kApproved) return fmt::format("{}: approved by {}\n", step, text("by"));
    if (event.type == event_type::kRejected) return fmt::format("{}: rejected by {}\n", step, text("by"));
    if (event.type == event_type::kTimerSet) return fmt::format("{}: sleeps until {}\n", step, text("due"));
    if (event.type == event_type::kWaitingForSignal)
      return fmt::format("{}: waits for signal '{}'\n", step, text("signal"));
    if (event.type == event_type::kBreakpoint) return fmt::format("{}: breakpoint {} it\n", step, text("where"));
    if (event.type == event_type::kMessage) return fmt::format("{}: {}\n", step, text("text"));
    if (event.type == event_type::kMessageRefused) return fmt::format("refused: {}\n", text("error"));
    if (event.type == event_type::kCircuitOpened)
      return fmt::format("{}: circuit opened after {} failures in a row\n", step, number("failures_in_a_row"));
    if (event.type == event_type::kBranchesKept) return fmt::format("{}: {}\n", step, branches_text(data));
    if (event.type == event_type::kChildStarted) return fmt::format("{}: run {}\n", step, text("run"));
    if (event.type == event_type::kStorageTrouble) {
      if (const auto trouble = troubles_.line(event, clock_.monotonic_us())) {
        err_.write(fmt::format("pawl: {}\n", *trouble));
        static_cast<void>(err_.flush());
      }
      return {};
    }
    if (event.type == event_type::kStorageRecovered) {
      err_.write(fmt::format("pawl: storage works again, at checkpoint {}\n", number("sequence")));
      static_cast<void>(err_.flush());
      return {};
    }
    if (event.type == event_type::kNotifyFailed) {
      err_.write(fmt::format("warning: the command of `notify` failed: {}\n", text("error")));
      static_cast<void>(err_.flush());
      return {};
    }
    if (event.type == event_type::kLargeCheckpoint) {
      err_.write(fmt::format("warning: {}\n", text("why")));
      static_cast<void>(err_.flush());
      return {};
    }
    if (event.type == event_type::kInterrupting || event.type == event_type::kCancelling)
      return fmt::format("{}: {}\n", event.type, text("why"));
    return {};
  }

  Output& out_;
  Output& err_;
  Clock& clock_;
  const ViewOptions options_;
  MapProgressLines progress_;
  TroubleLines troubles_;
  OutputLines lines_;
  std::string main_run_;
  bool at_question_ = false;  // the cursor is behind a question
};

class JsonView final : public RunView {
 public:
  explicit JsonView(const Invocation& invocation) : out_(invocation.context().out) {}
  void begin(const RunId&, const Workflow&, const RunState&) override {}
  void on_event(const RunEvent& event) override {
    Json line = {{"event", event.type}, {"run", event.run}, {"at", event.at.text()}};
    if (!event.step.empty()) line["step"] = event.step;
    for (const auto& [key, value] : event.data.items()) {
      if (!line.contains(key)) line[key] = value;
    }
    out_.write(compact(line) + "\n");
    static_cast<void>(out_.flush());
  }

 private:
  Output& out_;
};

}  // namespace

std::unique_ptr<RunView> make_plain_view(const Invocation& invocation, const ViewOptions& options) {
  return std::make_unique<PlainView>(invocation, options);
}
std::unique_ptr<RunView> make_json_view(const Invocation& invocation) { return std::make_unique<JsonView>(invocation); }

bool shows_live(const Invocation& invocation, const ViewOptions& options) {
  const CliContext& context = invocation.context();
  const WorkflowWorld* world = context.workflows;
  return context.out_is_terminal && !invocation.json() && !options.step_output &&
         context.environment("TERM").value_or("dumb") != "dumb" && world != nullptr && world->columns && world->rows;
}

namespace {

/// The C locale guarantees only ASCII. If no locale is set, today's terminals support UTF-8.
Marks marks_of(const CliContext& context) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = context.environment(name).value_or("");
    if (!locale.empty()) return locale == "C" || locale == "POSIX" ? Marks::ascii : Marks::unicode;
  }
  return Marks::unicode;
}

}  // namespace

std::unique_ptr<RunView> make_view(const Invocation& invocation, const ViewOptions& options) {
  if (invocation.json()) return make_json_view(invocation);
  if (shows_live(invocation, options)) {
    CliContext& context = invocation.context();
    const auto size = [world = context.workflows] {
      return TerminalSize{.columns = world->columns(), .rows = world->rows()};
    };
    return make_live_view({.out = context.out,
                           .clock = context.clock,
                           .size = size,
                           .style = invocation.style(),
                           .marks = marks_of(context)});
  }
  return make_plain_view(invocation, options);
}

}  // namespace pawl::cli
