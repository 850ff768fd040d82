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
                      named ? "--to and RUN@SEQ can't be used together" : "missing checkpoint",
                      {},
                      "run: pawl rollback RUN@SEQ",
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
  invocation.note(fmt::format("same state as {}@{}", address.run.text(), target.sequence.value));
  if (!done.rerun.empty()) invocation.note(fmt::format("`pawl resume` will re-run: {}", joined_list(done.rerun)));
  return {};
}

}  // namespace

Command add_rollback(Options& root) {
  const auto arguments = std::make_shared<RollbackArguments>();
  Options& app = root.command("rollback", "Return a run to an earlier state, saved as a new checkpoint");
  app.group(kCheckpointGroup);
  app.text("RUN[@SEQ]", arguments->address, "Checkpoint to return to").required();
  app.text("--to", arguments->to, "Checkpoint, if not given as RUN@SEQ").value("SEQ");
  app.flag("--accept-rerun", arguments->accept_rerun, "Accept that completed steps will run again");
  app.footer(
      "Examples:\n"
      "  pawl rollback nightly@7\n"
      "  pawl rollback notes-k3f9@name:before-review --accept-rerun\n"
      "\n"
      "Deletes nothing: the old state becomes the newest checkpoint. If completed steps\n"
      "would run again, it lists them and exits with status 4. To leave the run\n"
      "unchanged, use `pawl fork`.");
  return {&app, [arguments](const Invocation& invocation) { return rollback(invocation, *arguments); }};
}

}  // namespace pawl::cli
