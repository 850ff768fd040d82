// `pawl audit list|add|report|anchor|proof`.
#include <algorithm>
#include <charconv>

#include "audit/anchor.hpp"
#include "audit/audit_line.hpp"
#include "audit/merkle.hpp"
#include "audit/report.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/json_out.hpp"
#include "cli/verify_text.hpp"
#include "codec/json_check.hpp"
#include "engine/audit_entries.hpp"

namespace pawl::cli {
namespace {

struct AuditArguments {
  std::string run;
  bool all = false;
  std::string type;
  std::string agent;
  std::string since;
  std::string until;
  std::string text;
  std::string data = "{}";
  std::string format = "json";
  std::string output;
  std::uint64_t entry = 0;
  std::uint64_t earlier = 0;
};

constexpr std::size_t kEntriesPage = 100'000;

/// `2026-01-11`, `2026-01-11T14:30`, with seconds or not, with Z or not: UTC.
std::optional<Timestamp> parse_time(std::string text) {
  if (text.size() == 10) text += "T00:00";
  if (!text.empty() && text.ends_with('Z')) text.pop_back();
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  if (text.size() == 16) text += ":00";
  return Timestamp::parse(text + "Z");
}

struct Filter {
  const AuditArguments& arguments;
  Timestamp since = {INT64_MIN};
  Timestamp until = {INT64_MAX};

  [[nodiscard]] bool takes(const AuditEntry& entry) const {
    if (!arguments.type.empty() && entry.type != arguments.type) return false;
    if (!arguments.agent.empty() && entry.agent != arguments.agent && entry.user != arguments.agent) return false;
    if (entry.at < since || entry.at > until) return false;
    if (arguments.text.empty()) return true;
    for (const std::string* part :
         {&entry.type, &entry.agent, &entry.user, &entry.host, &entry.data, &entry.payload, &entry.hash}) {
      if (part->find(arguments.text) != std::string::npos) return true;
    }
    return false;
  }
};

Result<Filter> filter_of(const AuditArguments& arguments) {
  Filter filter{arguments};
  const auto parse = [](const std::string& text, const char* option, Timestamp& time) -> Result<void> {
    if (text.empty()) return {};
    const auto parsed = parse_time(text);
    if (!parsed)
      return fail(Error{Code::usage,
                        fmt::format("'{}' of {} is no time", text, option),
                        {},
                        "write it as 2026-01-11 or 2026-01-11T14:30:00Z (UTC)",
                        0});
    time = *parsed;
    return {};
  };
  PAWL_TRY(parse(arguments.since, "--since", filter.since));
  PAWL_TRY(parse(arguments.until, "--until", filter.until));
  return filter;
}

template <class Use>
Result<void> for_each_entry(Store& store, const RunId& run, const Use& use) {
  for (std::uint64_t after = 0;;) {
    PAWL_TRY_ASSIGN(const std::vector<AuditEntry> entries, store.audit(run, after, kEntriesPage));
    for (const AuditEntry& entry : entries) use(entry);
    if (entries.size() < kEntriesPage) return {};
    after = entries.back().index;
  }
}

Result<std::vector<RunId>> runs_of(Store& store, const AuditArguments& arguments) {
  std::vector<RunId> runs;
  if (arguments.run.empty() != arguments.all)
    return fail(Error{Code::usage, "name a run, or --all", {}, "`pawl audit list RUN`", 0});
  if (!arguments.all) {
    PAWL_TRY_ASSIGN(RunId id, RunId::parse(arguments.run));
    runs.push_back(std::move(id));
    return runs;
  }
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> all, store.runs(SIZE_MAX));
  for (const RunInfo& info : all) runs.push_back(info.id);
  std::ranges::sort(runs);
  return runs;
}

std::vector<std::string> row_of(const std::string& run, const AuditEntry& entry) {
  std::string who = entry.agent;
  if (!entry.user.empty()) who += fmt::format("{}{}@{}", who.empty() ? "" : " ", entry.user, entry.host);
  return {run,
          std::to_string(entry.index),
          entry.at.text(),
          printable(entry.type),
          fmt::format("@{}", entry.sequence.value),
          printable(who),
          printable(entry.data)};
}

Result<void> list(const Invocation& invocation, const AuditArguments& arguments) {
  PAWL_TRY_ASSIGN(const Filter filter, filter_of(arguments));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const std::vector<RunId> runs, runs_of(*store, arguments));
  std::vector<std::string> rows;
  Table table({"RUN", "ENTRY", "AT", "TYPE", "CHECKPOINT", "WHO", "DATA"});
  for (const RunId& run : runs) {
    PAWL_TRY(for_each_entry(*store, run, [&](const AuditEntry& entry) {
      if (!filter.takes(entry)) return;
      if (invocation.json())
        rows.push_back(entry_json(run.text(), entry));
      else
        table.add(row_of(run.text(), entry));
    }));
  }
  invocation.print(invocation.json() ? json_array(rows) + "\n" : table.text(invocation.style()));
  return {};
}

Result<void> add(const Invocation& invocation, const AuditArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  auto checked = check_json(arguments.data, kAuditDataBytesMax);
  if (!checked) return fail(at(checked.error(), "--data"));
  NewAuditEntry entry{arguments.type, arguments.agent, Json::parse(arguments.data, nullptr, false)};
  if (!entry.data.is_object())
    return fail(Error{Code::invalid_json, "the data is not a JSON object", "--data",
                      R"(give an object, such as {"why": "tested"})", 0});
  PAWL_TRY_ASSIGN(const Config* const config, invocation.config());
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const AddedEntry added,
                  add_audit_entry(*store, run, std::move(entry), config->settings, invocation.context().clock));
  if (invocation.json()) {
    invocation.print(JsonObject()
                         .text("run", run.text())
                         .text("type", arguments.type)
                         .boolean("asked", added.asked)
                         .text("owner", added.owner)
                         .number("sequence", added.sequence.value)
                         .done() +
                     "\n");
  } else if (added.asked) {
    invocation.print(fmt::format("{}: {} writes the entry\n", run.text(), printable(added.owner)));
  } else {
    invocation.print(fmt::format("{}@{}: {} added\n", run.text(), added.sequence.value, printable(arguments.type)));
  }
  return {};
}

Result<void> deliver(const Invocation& invocation, const std::string& output, std::string_view document) {
  if (!output.empty() && output != "-") return invocation.context().write_file(output, document);
  invocation.print(document);
  return {};
}

/// Of an erased run the list still knows something.
Result<RunInfo> info_of(Store& store, const RunId& run) {
  auto info = store.run(run);
  if (info || info.error().code != Code::run_erased) return info;
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> runs, store.runs(SIZE_MAX));
  const auto found = std::ranges::find(runs, run, &RunInfo::id);
  return found == runs.end() ? info : *found;
}

Result<void> report(const Invocation& invocation, const AuditArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(RunInfo info, info_of(*store, run));
  AuditReport made{.run = std::move(info), .entries = {}, .made = invocation.context().clock.now(), .verdict = {}};
  PAWL_TRY(for_each_entry(*store, run, [&](const AuditEntry& entry) { made.entries.push_back(entry); }));
  if (invocation.context().audit.open_evidence) {
    PAWL_TRY_ASSIGN(const auto evidence, open_evidence(invocation));
    PAWL_TRY_ASSIGN(made.verdict, verify_with_progress(invocation, *evidence, run, nullptr));
  }
  const std::string document = arguments.format == "csv"    ? report_as_csv(made)
                               : arguments.format == "html" ? report_as_html(made)
                                                            : report_as_json(made);
  PAWL_TRY(deliver(invocation, arguments.output, document));
  if (made.verdict && made.verdict->bad) return fail(error_of(*made.verdict));
  return {};
}

Result<void> anchor(const Invocation& invocation, const AuditArguments& arguments) {
  const CliContext& context = invocation.context();
  PAWL_TRY_ASSIGN(const auto evidence, open_evidence(invocation));
  PAWL_TRY_ASSIGN(Anchor made, collect_anchor(*evidence, context.clock.now(), verifier(invocation)));
  PAWL_TRY_ASSIGN(const SigningKey key, context.audit.signing_key());
  PAWL_TRY_ASSIGN(const std::string text, sign_anchor(made, key));
  PAWL_TRY(deliver(invocation, arguments.output, text));
  if (!arguments.output.empty() && arguments.output != "-") {
    invocation.note(
        fmt::format("{}: {} runs, signed with {}; keep it where nobody can change it together with the store",
                    arguments.output, made.runs.size(), made.public_key));
  }
  return {};
}

Result<void> proof(const Invocation& invocation, const AuditArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  std::vector<Sha256> leaves;
  std::string hash;
  PAWL_TRY(for_each_entry(*store, run, [&](const AuditEntry& entry) {
    leaves.push_back(merkle_leaf(from_hex(entry.hash)));
    if (entry.index == arguments.entry) hash = entry.hash;
  }));
  const bool grew = arguments.earlier > 0;
  const std::uint64_t number = grew ? arguments.earlier : arguments.entry;
  if (number == 0 || number > leaves.size()) {
    return fail(Error{Code::usage,
                      fmt::format("run '{}' has entries 1 to {}", run.text(), leaves.size()),
                      {},
                      fmt::format("`pawl audit list {}` shows them", run.text()),
                      0});
  }
  JsonObject document;
  document.text("run", run.text());
  if (grew) {
    document.number("earlier_size", number).text("earlier_root", to_hex(merkle_root(std::span(leaves).first(number))));
  } else {
    document.number("entry", number).text("hash", hash);
  }
  std::vector<std::string> path;
  for (const Sha256& node : grew ? consistency_proof(leaves, number) : inclusion_proof(leaves, number - 1))
    path.push_back(fmt::format("\"{}\"", to_hex(node)));
  invocation.print(document.number("size", leaves.size())
                       .text("root", to_hex(merkle_root(leaves)))
                       .raw("proof", json_array(path))
                       .done() +
                   "\n");
  return {};
}

CLI::App* add_part(CLI::App& audit, const std::string& name, const std::string& help) {
  CLI::App* app = audit.add_subcommand(name, help);
  app->fallthrough();  // for --json and --store
  app->set_help_flag("-h,--help", "Show this help");
  return app;
}

CLI::App* add_list_part(CLI::App& audit, AuditArguments& arguments) {
  CLI::App* app = add_part(audit, "list", "Entries, by run, type, agent, time and text");
  app->add_option("RUN", arguments.run, "The run")->type_name("");
  app->add_flag("--all", arguments.all, "All runs of the store");
  app->add_option("--type", arguments.type, "Only entries of this type, such as approved")->type_name("TYPE");
  app->add_option("--agent", arguments.agent, "Only what this agent or user did")->type_name("NAME");
  app->add_option("--since", arguments.since, "Not before: 2026-01-11 or 2026-01-11T14:30Z (UTC)")->type_name("TIME");
  app->add_option("--until", arguments.until, "Not after")->type_name("TIME");
  app->add_option("--text", arguments.text, "Only entries that contain it")->type_name("TEXT");
  app->footer(
      "Examples:\n"
      "  pawl audit list notes-k3f9\n"
      "  pawl audit list notes-k3f9 --type approved --json\n"
      "  pawl audit list --all --since 2026-01-11 --agent alice");
  return app;
}

CLI::App* add_add_part(CLI::App& audit, AuditArguments& arguments) {
  CLI::App* app = add_part(audit, "add", "Add an entry of your own");
  app->add_option("RUN", arguments.run, "The run")->type_name("")->required();
  app->add_option("--type", arguments.type, "What happened, in a word: reviewed")->type_name("TYPE")->required();
  app->add_option("--agent", arguments.agent, "Who did it")->type_name("NAME");
  app->add_option("--data", arguments.data, "A JSON object that says more")->type_name("JSON");
  app->footer(
      "Examples:\n"
      "  pawl audit add notes-k3f9 --type reviewed --agent alice --data '{\"verdict\": \"fine\"}'\n"
      "  pawl audit add notes-k3f9 --type note --data '{\"text\": \"the mirror is slow until Monday\"}'     for the "
      "next shift\n"
      "  pawl audit add notes-k3f9 --type blocker --data '{\"text\": \"smtp is down\", \"step\": \"send\"}'\n"
      "\n"
      "`pawl handoff` tells notes and blockers to whoever goes on. Types that Pawl writes itself, such as approved, "
      "can't be taken.");
  return app;
}

CLI::App* add_report_part(CLI::App& audit, AuditArguments& arguments) {
  CLI::App* app = add_part(audit, "report", "The whole trail as JSON, CSV or a page to print");
  app->footer(
      "Examples:\n"
      "  pawl audit report notes-k3f9 > audit.json\n"
      "  pawl audit report notes-k3f9 --format html -o audit.html");
  app->add_option("RUN", arguments.run, "The run")->type_name("")->required();
  app->add_option("--format", arguments.format, "json, csv or html (json)")
      ->type_name("WORD")
      ->check(CLI::IsMember({"json", "csv", "html"}));
  app->add_option("-o,--output", arguments.output, "Write to this file instead, whole or not at all")
      ->type_name("FILE");
  return app;
}

}  // namespace

Command add_audit(CLI::App& root) {
  const auto arguments = std::make_shared<AuditArguments>();
  CLI::App* app = root.add_subcommand("audit", "The tamper-evident record of what was done and decided");
  app->group(kLookGroup);
  app->require_subcommand(1);
  const CLI::App* listed = add_list_part(*app, *arguments);
  const CLI::App* added = add_add_part(*app, *arguments);
  const CLI::App* reported = add_report_part(*app, *arguments);
  CLI::App* anchored =
      add_part(*app, "anchor", "A signed list of where every run's trail ends, for `pawl verify --anchor`");
  anchored->add_option("-o,--output", arguments->output, "Write to this file instead, whole or not at all")
      ->type_name("FILE");
  anchored->footer(
      "Examples:\n"
      "  pawl audit anchor -o anchor.json     keep it where nobody can change it together with the store\n"
      "  pawl verify --anchor anchor.json     later: nothing before it was changed or cut off");
  CLI::App* proved =
      add_part(*app, "proof", "The Merkle path that shows that an entry is in the trail, or that the trail only grew");
  proved->add_option("RUN", arguments->run, "The run")->type_name("")->required();
  CLI::Option* entry = proved->add_option("ENTRY", arguments->entry, "The entry's number")->type_name("");
  proved
      ->add_option("--since", arguments->earlier, "That the trail begins with what it was when it had so many entries")
      ->type_name("SIZE")
      ->excludes(entry);
  proved->footer(
      "Examples:\n"
      "  pawl audit proof notes-k3f9 7            that entry 7 is in the trail\n"
      "  pawl audit proof notes-k3f9 --since 40   that the trail begins with its first 40 entries, unchanged");
  app->footer(
      "Examples:\n"
      "  pawl audit list notes-k3f9 --type approved\n"
      "  pawl audit list --all --since 2026-01-11 --agent alice\n"
      "  pawl audit add notes-k3f9 --type reviewed --agent alice --data '{\"verdict\": \"fine\"}'\n"
      "  pawl audit report notes-k3f9 --format html -o audit.html\n"
      "  pawl audit anchor -o anchor.json\n"
      "  pawl audit proof notes-k3f9 7\n"
      "  pawl audit proof notes-k3f9 --since 40");
  return {app, [=](const Invocation& invocation) {
            if (listed->parsed()) return list(invocation, *arguments);
            if (added->parsed()) return add(invocation, *arguments);
            if (reported->parsed()) return report(invocation, *arguments);
            return anchored->parsed() ? anchor(invocation, *arguments) : proof(invocation, *arguments);
          }};
}

}  // namespace pawl::cli
