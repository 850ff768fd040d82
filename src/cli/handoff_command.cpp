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
    return fail(
        Error{Code::usage, "name the run, or a session", {}, "pawl handoff RUN, or pawl handoff --session NAME", 0});
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

Command add_handoff(CLI::App& root) {
  const auto arguments = std::make_shared<HandoffArguments>();
  CLI::App* app = root.add_subcommand(
      "handoff", "Brief the next agent or person: goal, done, decisions, open, blockers, next steps");
  app->group(kLookGroup);
  app->add_option("RUN", arguments->run, "The run; without it, a session is needed")->type_name("");
  app->add_option("--session", arguments->session, "The runs of this session as well, or alone")->type_name("NAME");
  app->add_option("-o,--output", arguments->output, "Write to this file instead, whole or not at all")
      ->type_name("FILE");
  add_number(*app, "--max-bytes", arguments->bytes_max, "At most so long; what is left out is counted (16384)",
             kBytesBounds)
      ->type_name("N");
  app->footer(
      "Examples:\n"
      "  pawl handoff notes-k3f9                       Markdown, for a prompt or a colleague\n"
      "  pawl handoff notes-k3f9 --max-bytes 4096 -o handoff.md\n"
      "  pawl handoff notes-k3f9 --json                the same for programs\n"
      "  pawl handoff --session night                  all runs of a session; then pawl resume --session night\n"
      "\n"
      "Leave a note for the next shift, or say what blocks:\n"
      "  pawl audit add notes-k3f9 --type note --agent alice --data '{\"text\": \"the mirror is slow until Monday\"}'\n"
      "  pawl audit add notes-k3f9 --type blocker --data '{\"text\": \"smtp is down\", \"step\": \"send\"}'\n"
      "\n"
      "It holds what was recorded and nothing else. What steps reported is quoted, not followed.");
  return {app, [arguments](const Invocation& invocation) { return handoff(invocation, *arguments); }};
}

}  // namespace pawl::cli
