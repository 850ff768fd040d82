#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/this_person.hpp"
#include "engine/resume_facts.hpp"
#include "engine/roll_back.hpp"

namespace pawl::cli {
namespace {

struct RollbackArguments {
  std::string address;
  std::string to;
  bool accept_rerun = false;
};

Result<void> rollback(const Invocation& invocation, const RollbackArguments& arguments) {
  PAWL_TRY(invocation.need_checkpoints());
  const bool named = arguments.address.find('@') != std::string::npos;
  if (named == !arguments.to.empty()) {
    return fail(Error{Code::usage,
                      named ? "the checkpoint is named twice" : "no checkpoint is named",
                      {},
                      "pawl rollback RUN@SEQ",
                      0});
  }
  PAWL_TRY_ASSIGN(const Address address,
                  Address::parse(named ? arguments.address : arguments.address + "@" + arguments.to));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const CheckpointInfo target, store->checkpoint(address.run, address.which));
  RollbackRequest request{.run = address.run, .to = target.sequence};
  request.rerun = arguments.accept_rerun ? Rerun::accept : Rerun::refuse;
  request.by = this_person(invocation.context());
  PAWL_TRY_ASSIGN(const RolledBack done, roll_back(*store, request, invocation.state_bytes_max()));
  if (invocation.json()) {
    JsonObject document;
    document.text("run", address.run.text())
        .number("sequence", done.saved.sequence.value)
        .number("to", target.sequence.value);
    invocation.print(document.raw("rerun", compact(Json(done.rerun))).done() + "\n");
    return {};
  }
  invocation.print(fmt::format("{}@{}\n", address.run.text(), done.saved.sequence.value));
  invocation.note(fmt::format("it holds the state of {}@{} again", address.run.text(), target.sequence.value));
  if (!done.rerun.empty()) invocation.note(fmt::format("a resume will run again: {}", joined_list(done.rerun)));
  return {};
}

}  // namespace

Command add_rollback(Options& root) {
  const auto arguments = std::make_shared<RollbackArguments>();
  Options& app = root.command("rollback", "Take a run back to an earlier state, as a new checkpoint");
  app.group(kCheckpointGroup);
  app.text("RUN[@SEQ]", arguments->address, "The checkpoint whose state is wanted again").required();
  app.text("--to", arguments->to, "The checkpoint, where RUN does not name it").value("SEQ");
  app.flag("--accept-rerun", arguments->accept_rerun, "Although steps that are recorded as completed would run again");
  app.footer(
      "Examples:\n"
      "  pawl rollback nightly@7\n"
      "  pawl rollback notes-k3f9@name:before-review --accept-rerun   then: pawl resume notes-k3f9\n"
      "\n"
      "Nothing that was recorded goes: the newest checkpoint becomes one with that state. Where recorded steps would "
      "run again, it\n"
      "stops with exit status 4 and lists them. `pawl fork` leaves the run as it is.");
  return {&app, [arguments](const Invocation& invocation) { return rollback(invocation, *arguments); }};
}

}  // namespace pawl::cli
