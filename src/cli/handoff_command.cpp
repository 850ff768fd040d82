#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "service/audited_read.hpp"
#include "service/handoff.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kBytesDefault = 16ULL << 10;
constexpr Bounds kBytesBounds{.lowest = 1024, .highest = 16ULL << 20};

struct HandoffArguments {
  std::string run;
  std::string session;
  std::string output;
  std::optional<std::uint64_t> bytes_max;
};

Result<Briefing> brief(const Invocation& invocation, Store& store, const HandoffArguments& arguments) {
  const Timestamp now = invocation.context().clock.now();
  if (arguments.run.empty()) return brief_session(store, arguments.session, now);
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  const std::string uri = invocation.store_uri();
  const bool folder = uri.find(':') == std::string::npos;
  PAWL_TRY_ASSIGN(Briefing briefing,
                  brief_run(store, run, folder ? invocation.context().workflows->files.absolute(uri, "") : uri, now));
  if (briefing.head.contains("state_text"))
    PAWL_TRY(note_read(store, invocation.settings(), invocation.context().clock, run,
                       Sequence{briefing.head["checkpoint"].get<std::uint64_t>()}, "handoff"));
  if (arguments.session.empty()) return briefing;
  PAWL_TRY_ASSIGN(Briefing session, brief_session(store, arguments.session, now));
  for (BriefingPart& part : session.parts) briefing.parts.push_back(std::move(part));
  briefing.head["session"] = arguments.session;
  briefing.next.push_back(session.next.front());
  return briefing;
}

Result<void> handoff(const Invocation& invocation, const HandoffArguments& arguments) {
  if (arguments.run.empty() && arguments.session.empty())
    return fail(Error{Code::usage,
                      "missing argument: RUN (or pass --session NAME)",
                      {},
                      "run: pawl handoff RUN, or: pawl handoff --session NAME",
                      0});
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(Briefing briefing, brief(invocation, *store, arguments));
  const std::size_t bytes_max = arguments.bytes_max.value_or(kBytesDefault);
  const auto command = [](const NextAction& action) { return command_of(action.advice, action.subject); };
  const std::string text = invocation.json() ? json_of(std::move(briefing), bytes_max, command)
                                             : markdown_of(std::move(briefing), bytes_max, command);
  if (!arguments.output.empty() && arguments.output != "-")
    return invocation.context().write_file(arguments.output, text);
  invocation.print(text);
  return {};
}

}  // namespace

Command add_handoff(Options& root) {
  const auto arguments = std::make_shared<HandoffArguments>();
  Options& app = root.command("handoff", "Print a briefing for the next agent or person: done, open, blocked, next");
  app.group(kLookGroup);
  app.text("RUN", arguments->run, "Run id (required without --session)");
  app.text("--session", arguments->session, "Include the runs of this session").value("NAME");
  app.text("-o,--output", arguments->output, "Write to this file instead of standard output").value("FILE");
  app.number("--max-bytes", arguments->bytes_max, "Maximum size in bytes; omitted entries are counted (default: 16384)",
             kBytesBounds)
      .value("N");
  app.footer(
      "Examples:\n"
      "  pawl handoff notes-k3f9                 Markdown, for a prompt or a colleague\n"
      "  pawl handoff notes-k3f9 --max-bytes 4096 -o handoff.md\n"
      "  pawl handoff notes-k3f9 --json          the same for programs\n"
      "  pawl handoff --session night            all runs of a session\n"
      "\n"
      "To leave a note or report a blocker:\n"
      "  pawl audit add notes-k3f9 --type note --data '{\"text\": \"mirror is slow\"}'\n"
      "  pawl audit add notes-k3f9 --type blocker --data '{\"text\": \"smtp is down\"}'\n"
      "\n"
      "Contains recorded facts only. Text reported by steps is quoted, so that an agent\n"
      "does not mistake it for instructions.");
  return {&app, [arguments](const Invocation& invocation) { return handoff(invocation, *arguments); }};
}

}  // namespace pawl::cli
