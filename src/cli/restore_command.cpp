#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/recovery_options.hpp"
#include "domain/execution_context.hpp"
#include "service/audited_read.hpp"

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
                      "a recovery needs a run, not one of its checkpoints",
                      {},
                      fmt::format("pawl restore {} --at SEQ", address.run.text()),
                      0});
  }
  if (!timed && !arguments.at.empty())
    return fail(Error{Code::usage,
                      fmt::format("--at goes with the mode point-in-time, not with {}", to_text(request.mode)),
                      {},
                      "leave out --mode",
                      0});
  if (timed && arguments.at.empty() && !numbered)
    return fail(Error{Code::usage, "point-in-time needs a point", {}, "add --at SEQ or --at TIME", 0});
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

/// Standard output is the state alone; what was done to get it goes to standard error, or into the document.
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
                       fmt::format("a restore went back to checkpoint {}: {}", result.checkpoint.info.sequence.value,
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
                      "--level can't be combined with options of a recovery",
                      {},
                      "restore the whole state and take the member from it",
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

Command add_restore(CLI::App& root) {
  const auto arguments = std::make_shared<RestoreArguments>();
  CLI::App* app = root.add_subcommand("restore", "Print a checkpoint's state, byte for byte as it was saved");
  app->group(kCheckpointGroup);
  app->add_option("RUN[@SEQ]", arguments->address, "The checkpoint; the newest one without @SEQ")
      ->required()
      ->type_name("");
  app->add_option("-o,--output", arguments->output, "Write to this file instead, whole or not at all")
      ->type_name("FILE");
  add_word(*app, "--mode", arguments->mode, "Recover: latest, full (rebuild and check everything) or point-in-time",
           RecoveryMode::point_in_time, parse_recovery_mode);
  app->add_option("--at", arguments->at, "The newest checkpoint at or before a sequence or an ISO 8601 time")
      ->type_name("POINT");
  app->add_flag(
      "--fallback", arguments->fallback,
      "Where it is damaged: the newest older one that is whole. A recovery does that unless the settings forbid it");
  app->add_flag("--skip-bad-events", arguments->skip_bad_events, "Go on although events after it can't be read");
  add_word(*app, "--level", arguments->level,
           "Print only the member workflow, stage or agent of the state; {} if missing", Level::agent, parse_level);
  app->add_flag("--report", arguments->report, "What was done to get it, as JSON on standard error");
  app->footer(
      "Examples:\n"
      "  pawl restore nightly                  the newest state\n"
      "  pawl restore nightly@7 -o state.json  the state of checkpoint 7, into a file\n"
      "  pawl restore nightly@name:ok          also @stage:X, @step:X, @latest and @UUID\n"
      "  pawl restore nightly --mode full      rebuild every checkpoint and check every sum first\n"
      "  pawl restore nightly --at 2026-01-11T14:30Z   the state at that time\n"
      "  pawl restore nightly --fallback       the newest state that is whole, where the last is damaged");
  return {app, [arguments](const Invocation& invocation) { return restore(invocation, *arguments); }};
}

}  // namespace pawl::cli
