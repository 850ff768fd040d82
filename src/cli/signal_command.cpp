#include "cli/command.hpp"
#include "cli/recipient_text.hpp"
#include "codec/json_check.hpp"
#include "engine/save.hpp"
#include "text/utf8.hpp"

namespace pawl::cli {
namespace {

struct SignalArguments {
  std::string run;
  std::string name;
  std::optional<std::string> text;
  std::optional<std::string> json;
};

Result<Json> payload_of(const SignalArguments& arguments) {
  if (arguments.json) {
    if (const Result<void> checked = check_json(*arguments.json, kMessageBytesMax); !checked)
      return fail(at(checked.error(), "--json-payload"));
    return Json::parse(*arguments.json, nullptr, false);
  }
  if (!arguments.text) return Json();
  if (!is_valid_utf8(*arguments.text)) return fail(Code::invalid_utf8, "the payload is not valid UTF-8");
  return Json(*arguments.text);
}

Result<void> signal(const Invocation& invocation, const SignalArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const Json payload, payload_of(arguments));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const Recipient to, send_signal(*store, invocation.context().clock, run, arguments.name, payload));
  if (invocation.json()) {
    JsonObject document;
    document.text("run", run.text()).text("signal", arguments.name);
    invocation.print(add_recipient(document, to).done() + "\n");
    return {};
  }
  invocation.print(fmt::format("{}: signal {} sent\n", run.text(), printable(arguments.name)));
  invocation.note(recipient_text(to));
  return {};
}

}  // namespace

Command add_signal(Options& root) {
  const auto arguments = std::make_shared<SignalArguments>();
  Options& app = root.command("signal", "Send a signal to a run");
  app.group(kWorkflowGroup);
  app.text("RUN", arguments->run, "Run id").required();
  app.text("NAME", arguments->name, "Name of the signal, as in the step's `wait_for`").required();
  Option& text =
      app.text("--payload", arguments->text, "Text that becomes the output of the waiting step").value("TEXT");
  app.text("--json-payload", arguments->json, "JSON value that becomes the output of the waiting step")
      .value("JSON")
      .excludes(text);
  app.footer(
      "Examples:\n"
      "  pawl signal notes-k3f9 release\n"
      "  pawl signal notes-k3f9 release --json-payload '{\"version\": 3}'\n"
      "\n"
      "The signal is durable once the command returns. If no step waits for it yet, it\n"
      "is kept until one does.");
  return {&app, [arguments](const Invocation& invocation) { return signal(invocation, *arguments); }};
}

}  // namespace pawl::cli
