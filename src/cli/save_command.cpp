#include <algorithm>

#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "engine/save.hpp"
#include "service/run_status.hpp"
#include "service/step_call.hpp"
#include "text/size_words.hpp"

namespace pawl::cli {
namespace {

struct SaveArguments {
  std::string run;
  std::string state;  // empty or "-": standard input
  std::optional<std::uint64_t> expected_parent;
  std::optional<Kind> kind;
  std::optional<Status> status;
  std::optional<Reason> reason;
  std::optional<Durability> durability;
  std::string name, id, stage, step, metadata, session;
  bool patch = false;
  bool force = false;
};

Result<std::string> read_all(std::istream& in, std::uint64_t bytes_max) {
  constexpr std::size_t kBlockMin = 16 * 1024;
  constexpr std::size_t kBlockMax = 256 * 1024;
  std::string bytes;
  while (in && bytes.size() <= bytes_max) {
    const std::size_t size = bytes.size();
    const std::size_t block = std::clamp(size, kBlockMin, kBlockMax);
    bytes.resize(size + block);
    in.read(bytes.data() + size, static_cast<std::streamsize>(block));
    bytes.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad())
    return fail(Error{Code::input_unreadable, "can't read standard input", {}, "pass the state with --state FILE", 0});
  if (bytes.size() > bytes_max) return fail(Code::state_too_large, "the state is larger than {} bytes", bytes_max);
  return bytes;
}

Result<std::string> read_state(const Invocation& invocation, const SaveArguments& arguments) {
  const CliContext& context = invocation.context();
  if (!arguments.state.empty() && arguments.state != "-")
    return context.read_file(arguments.state, invocation.state_bytes_max());
  if (context.in_is_terminal) {
    context.err.write("pawl: reading the state as JSON from the terminal; finish with Ctrl-D\n");
    static_cast<void>(context.err.flush());  // the exit status does not depend on this note
  }
  PAWL_TRY_ASSIGN(std::string bytes, read_all(context.in, invocation.state_bytes_max()));
  if (bytes.empty()) {
    return fail(Error{Code::invalid_json, "standard input is empty, expected JSON", "standard input",
                      fmt::format("echo '{{\"done\": 3}}' | pawl save {}", arguments.run), 0});
  }
  return bytes;
}

SaveRequest request_of(const SaveArguments& arguments, std::string_view body) {
  SaveRequest request;
  request.body = body;
  request.form = arguments.patch ? Form::patch : Form::state;
  request.kind = arguments.kind.value_or(request.kind);
  request.status = arguments.status.value_or(request.status);
  request.status_change = StatusChange::checked;
  request.reason = arguments.reason.value_or(request.reason);
  request.name = arguments.name;
  request.caller_id = arguments.id;
  request.stage = arguments.stage;
  request.step = arguments.step;
  request.metadata = arguments.metadata;
  if (arguments.expected_parent) request.expected_parent = Sequence{*arguments.expected_parent};
  request.duplicates = arguments.force ? Duplicates::write : Duplicates::answer;
  return request;
}

/// Without --status, a save keeps the status of the run.
Result<Saved> save_durably(Store& store, const RunId& run, const RunOptions& options, SaveRequest request,
                           const SaveArguments& arguments) {
  const auto opened = store.open_run(run, options);
  if (!opened) return fail(with_way_out(opened.error(), run));
  const std::unique_ptr<RunWriter>& writer = *opened;
  if (!writer->info().workflow.empty()) {
    return fail(Error{Code::transition_refused,
                      fmt::format("run '{}' belongs to a workflow, which saves its own state", run.text()),
                      {},
                      "use another run id; steps report results through $PAWL_RESULT",
                      0});
  }
  if (writer->info().latest && is_steps_run(store, run)) {
    return fail(
        Error{Code::transition_refused,
              fmt::format("run '{}' belongs to `pawl step`, which keeps its list of steps as the state", run.text()),
              {},
              "use another run id; commands report results through $PAWL_RESULT",
              0});
  }
  if (const RunInfo info = writer->info(); !arguments.status && info.latest) request.status = info.status;
  auto saved = writer->save(request);
  if (!saved && saved.error().code == Code::transition_refused)
    return fail(with_hint(std::move(saved).error(),
                          fmt::format("to continue from this state under another id, run: pawl fork {}", run.text())));
  if (!saved) return saved;
  // Printed saves must be durable, so the other durability levels are flushed here.
  if (writer->info().durability != Durability::sync) PAWL_TRY(writer->flush());
  return saved;
}

/// A warning about a large state; empty if it is not large.
std::string size_warning(const Invocation& invocation, Store& store, const RunId& run, const SaveRequest& request,
                         const Saved& saved) {
  const Result<const Config*> config = invocation.config();
  if (!config || saved.outcome != Saved::Outcome::written) return {};
  std::uint64_t bytes = request.body.size();
  if (request.form == Form::patch) {
    const Result<CheckpointInfo> info =
        store.checkpoint(run, Which{.by = Which::By::sequence, .sequence = saved.sequence});
    bytes = info ? info->state_bytes : bytes;
  }
  const std::uint64_t warning = (*config)->settings.checkpoint.size_warning_bytes;
  if (bytes <= warning) return {};
  return fmt::format("the state has {} bytes, more than {} (checkpoint.size_warning); to see what grows: pawl stats {}",
                     bytes, size_words(warning), run.text());
}

Result<void> print_saved(const Invocation& invocation, const SaveArguments& arguments, const Saved& saved,
                         const std::string& warning) {
  const std::string address = fmt::format("{}@{}", arguments.run, saved.sequence.value);
  if (invocation.json()) {
    JsonObject document;
    document.text("run", arguments.run).number("sequence", saved.sequence.value).text("id", saved.id.text());
    document.text("checksum", saved.checksum).text("outcome", to_text(saved.outcome));
    if (!warning.empty()) document.raw("warnings", compact(Json::array({warning})));
    invocation.print(document.done() + "\n");
  } else {
    invocation.print(address + "\n");
    if (!warning.empty()) invocation.context().err.write(fmt::format("warning: {}\n", warning));
  }
  if (saved.outcome == Saved::Outcome::unchanged) {
    invocation.note(fmt::format("nothing written: {} already has this state (use --force to write it again)", address));
  } else if (saved.outcome == Saved::Outcome::repeated) {
    invocation.note(fmt::format("nothing written: --id {} was already saved as {}", arguments.id, address));
  }
  Result<void> flushed = invocation.context().out.flush();
  if (!flushed)
    return fail(with_hint(std::move(flushed).error(), fmt::format("the checkpoint is durable: {}", address)));
  return {};
}

Result<void> save(const Invocation& invocation, const SaveArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY(invocation.need_checkpoints());
  PAWL_TRY_ASSIGN(const std::string body, read_state(invocation, arguments));
  const SaveRequest request = request_of(arguments, body);
  RunOptions options;
  options.durability = arguments.durability;
  options.session = arguments.session;
  PAWL_TRY(check_run_options(options));
  // Checked before the store is opened, so that invalid input does not create a store.
  PAWL_TRY(check_request(request, invocation.state_bytes_max()));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::write));
  Result<Saved> saved = save_durably(*store, run, options, request, arguments);
  if (!saved) return fail(at(std::move(saved).error(), run.text()));
  return print_saved(invocation, arguments, *saved, size_warning(invocation, *store, run, request, *saved));
}

void add_labels(Options& app, SaveArguments& arguments) {
  app.text("--name", arguments.name, "Name, to find it as RUN@name:NAME").value("NAME");
  app.text("--stage", arguments.stage, "Stage, to find it as RUN@stage:STAGE").value("STAGE");
  app.text("--step", arguments.step, "Step, to find it as RUN@step:STEP").value("STEP");
  app.text("--metadata", arguments.metadata, "JSON object to keep with the checkpoint").value("JSON");
  app.text("--session", arguments.session, "Session of a new run").value("SESSION");
  app.word("--kind", arguments.kind, "What it marks: manual, step_complete, barrier, ... (default: manual)",
           Kind::workflow_complete, parse_kind);
  app.word("--status", arguments.status,
           "Status of the run: active, completed, failed, recovering (default: unchanged)", Status::recovering,
           parse_status);
  app.word("--reason", arguments.reason, "Why it was saved: manual, after_step, signal, ... (default: manual)",
           Reason::workflow_completed, parse_reason);
}

constexpr const char* kSaveExamples =
    "A new store keeps the newest 100 checkpoints of a run, and named ones; the\n"
    "setting checkpoint.keep changes that.\n"
    "\n"
    "Examples:\n"
    "  echo '{\"done\": 3}' | pawl save nightly           prints nightly@1\n"
    "  pawl save nightly --state state.json --name ok   from a file, with a name\n"
    "  echo '{\"log\": {\"$append\": [\"x\"]}}' | pawl save nightly --patch\n"
    "  pawl save nightly --state s.json --id job-17-3   safe to repeat\n"
    "  pawl save nightly --state s.json --expect-parent 7";

}  // namespace

Command add_save(Options& root) {
  const auto arguments = std::make_shared<SaveArguments>();
  Options& app = root.command("save", "Save a state as the next checkpoint; prints RUN@SEQ once durable");
  app.group(kCheckpointGroup).when_output_closes(ClosedOutput::error);
  app.text("RUN", arguments->run, "Run id; the first save creates the run").required();
  app.text("--state", arguments->state, "File with the state as JSON; - is standard input (default: standard input)")
      .value("FILE");
  app.flag("--patch", arguments->patch,
           "Treat the input as a JSON Merge Patch; {\"$append\": [...]} appends to arrays");
  app.flag("--force", arguments->force, "Write even if the state has not changed");
  app.text("--id", arguments->id, "Id of this save; repeating an id saves nothing and prints the first result")
      .value("ID");
  app.number("--expect-parent", arguments->expected_parent, "Fail unless this is the newest checkpoint (0: none yet)")
      .value("SEQ");
  add_labels(app, *arguments);
  app.word("--durability", arguments->durability, "Durability of a new run: sync, async or exit (default: sync)",
           Durability::exit, parse_durability);
  app.footer(kSaveExamples);
  return {&app, [arguments](const Invocation& invocation) { return save(invocation, *arguments); }};
}

}  // namespace pawl::cli
