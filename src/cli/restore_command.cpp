#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/recovery_options.hpp"
#include "domain/execution_context.hpp"
#include "service/audited_read.hpp"
#include "service/run_status.hpp"

namespace pawl::cli {
namespace {

struct RestoreArguments {
  std::string address;
  std::string output;
  std::optional<RecoveryMode> mode;
  std::string at;
  std::optional<Level> level;
  bool fallback = false;
  bool skip_bad_events = false;
  bool report = false;
};

Result<RecoveryRequest> wanted_recovery(const Invocation& invocation, const RestoreArguments& arguments,
                                        const Address& address) {
  RecoveryRequest request{.run = address.run};
  request.mode = arguments.mode.value_or(arguments.at.empty() ? RecoveryMode::latest : RecoveryMode::point_in_time);
  const bool numbered = address.which.by == Which::By::sequence;
  const bool timed = request.mode == RecoveryMode::point_in_time;
  if (address.which.by != Which::By::latest && !(timed && numbered)) {
    return fail(Error{Code::usage,
                      "--mode and --at require a run, not a checkpoint",
                      {},
                      fmt::format("run: pawl restore {} --at SEQ", address.run.text()),
                      0});
  }
  if (!timed && !arguments.at.empty())
    return fail(Error{
        Code::usage, fmt::format("--at can't be used with --mode {}", to_text(request.mode)), {}, "remove --mode", 0});
  if (timed && arguments.at.empty() && !numbered)
    return fail(Error{Code::usage, "--mode point-in-time requires --at", {}, "add --at SEQ or --at TIME", 0});
  if (numbered) request.up_to = address.which.sequence;
  if (!arguments.at.empty()) PAWL_TRY(parse_point(arguments.at, request));
  PAWL_TRY_ASSIGN(request.fallback, fallback_of(invocation, arguments.fallback ? Fallback::allow : Fallback::refuse));
  request.bad_events = arguments.skip_bad_events ? BadEvents::skip : BadEvents::refuse;
  return request;
}

Result<void> print_state(const Invocation& invocation, const RestoreArguments& arguments, const std::string& document) {
  if (!arguments.output.empty() && arguments.output != "-")
    return invocation.context().write_file(arguments.output, document);
  invocation.print(document);
  return {};
}

/// Prints only the state to standard output; the report goes to standard error or into the JSON document.
Result<void> recover(const Invocation& invocation, const RestoreArguments& arguments, const Address& address) {
  PAWL_TRY_ASSIGN(const RecoveryRequest request, wanted_recovery(invocation, arguments, address));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  Result<RecoveryResult> recovered = recover_run(*store, invocation.context().clock, request);
  if (!recovered) {
    if (is_refusal(recovered.error().code)) note_failure(*store, address.run, recovered.error());
    return fail(std::move(recovered).error());
  }
  const RecoveryResult& result = *recovered;
  PAWL_TRY(note_read(*store, invocation.settings(), invocation.context().clock, address.run,
                     result.checkpoint.info.sequence, "restore"));
  if (result.fell_back)
    note_failure(*store, address.run,
                 Error{Code::checkpoint_set_aside,
                       fmt::format("restore fell back to checkpoint {}: {}", result.checkpoint.info.sequence.value,
                                   result.warnings.front()),
                       {},
                       {},
                       0});
  if (invocation.json()) {
    return print_state(invocation, arguments,
                       checkpoint_object(address.run.text(), result.checkpoint.info)
                               .raw("recovery", compact(to_json(result)))
                               .raw("state", result.checkpoint.state)
                               .done() +
                           "\n");
  }
  for (const std::string& warning : result.warnings) invocation.note("warning: " + printable(warning));
  if (arguments.report) {
    invocation.context().err.write(compact(to_json(result)) + "\n");
  } else if (arguments.mode || result.fell_back) {
    invocation.note(recovery_text(result));
  }
  return print_state(invocation, arguments, result.checkpoint.state);
}

Result<void> restore(const Invocation& invocation, const RestoreArguments& arguments) {
  PAWL_TRY_ASSIGN(const Address address, Address::parse(arguments.address));
  const bool plain =
      !arguments.mode && arguments.at.empty() && !arguments.fallback && !arguments.skip_bad_events && !arguments.report;
  if (!plain && arguments.level) {
    return fail(Error{Code::usage,
                      "--level can't be used with --mode, --at, --fallback, --skip-bad-events or --report",
                      {},
                      "restore the whole state, then extract the member from it",
                      0});
  }
  if (!plain) return recover(invocation, arguments, address);
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  auto found = store->restore(address.run, address.which);
  if (!found) return fail(with_way_out(found.error(), address.run));
  Restored& restored = *found;
  PAWL_TRY(note_read(*store, invocation.settings(), invocation.context().clock, address.run, restored.info.sequence,
                     "restore"));
  std::string document = arguments.level ? levels_of(restored.state).at(*arguments.level) : std::move(restored.state);
  if (invocation.json())
    document = checkpoint_object(address.run.text(), restored.info).raw("state", document).done() + "\n";
  return print_state(invocation, arguments, document);
}

}  // namespace

Command add_restore(Options& root) {
  const auto arguments = std::make_shared<RestoreArguments>();
  Options& app = root.command("restore", "Print the state of a checkpoint, byte for byte as saved");
  app.group(kCheckpointGroup);
  app.text("RUN[@SEQ]", arguments->address, "Checkpoint (default: the newest)").required();
  app.text("-o,--output", arguments->output, "Write to this file instead of standard output").value("FILE");
  app.word("--mode", arguments->mode, "latest, full (rebuild and check everything) or point-in-time (default: latest)",
           RecoveryMode::point_in_time, parse_recovery_mode);
  app.text("--at", arguments->at, "Newest checkpoint at or before this sequence or ISO 8601 time").value("POINT");
  app.flag("--fallback", arguments->fallback, "If it is damaged, use the newest undamaged one before it");
  app.flag("--skip-bad-events", arguments->skip_bad_events, "Continue despite unreadable later events");
  app.word("--level", arguments->level, "Print only the member workflow, stage or agent of the state; {} if missing",
           Level::agent, parse_level);
  app.flag("--report", arguments->report, "Print a JSON report of the recovery to standard error");
  app.footer(
      "Examples:\n"
      "  pawl restore nightly                          newest state\n"
      "  pawl restore nightly@7 -o state.json          state of checkpoint 7, to a file\n"
      "  pawl restore nightly@name:ok                  also @stage:X, @step:X, @UUID\n"
      "  pawl restore nightly --mode full              check every checkpoint first\n"
      "  pawl restore nightly --at 2026-01-11T14:30Z   state at that time\n"
      "  pawl restore nightly --fallback               newest undamaged state");
  return {&app, [arguments](const Invocation& invocation) { return restore(invocation, *arguments); }};
}

}  // namespace pawl::cli
