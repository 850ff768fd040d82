#include "cli/audited_read.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"

namespace pawl::cli {
namespace {

struct RestoreArguments {
  std::string address;
  std::string output;
};

Result<void> restore(const Invocation& invocation, const RestoreArguments& arguments) {
  PAWL_TRY_ASSIGN(const Address address, Address::parse(arguments.address));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(Restored restored, store->restore(address.run, address.which));
  PAWL_TRY(note_read(invocation, *store, address.run, restored.info.sequence, "restore"));
  std::string document = std::move(restored.state);
  if (invocation.json()) {
    document = checkpoint_object(address.run.text(), restored.info).raw("state", document).done() + "\n";
  }
  if (!arguments.output.empty() && arguments.output != "-")
    return invocation.context().write_file(arguments.output, document);
  invocation.print(document);
  return {};
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
  app->footer(
      "Examples:\n"
      "  pawl restore nightly                  the newest state\n"
      "  pawl restore nightly@7 -o state.json  the state of checkpoint 7, into a file\n"
      "  pawl restore nightly@name:ok          also @stage:X, @step:X, @latest and @UUID");
  return {app, [arguments](const Invocation& invocation) { return restore(invocation, *arguments); }};
}

}  // namespace pawl::cli
