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
#include "domain/erasure.hpp"
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
  std::optional<std::uint64_t> entry;
  std::optional<std::uint64_t> earlier;
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
                        fmt::format("{1}: not a time: '{0}'", text, option),
                        {},
                        "use 2026-01-11 or 2026-01-11T14:30:00Z (UTC)",
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
    return fail(Error{Code::usage, "missing argument: RUN (or pass --all)", {}, "run: pawl audit list RUN", 0});
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

std::vector<Cell> row_of(const Invocation& invocation, const std::string& run, const AuditEntry& entry) {
  std::string who = entry.agent == entry.user ? "" : entry.agent;
  if (!entry.user.empty()) who += fmt::format("{}{}@{}", who.empty() ? "" : " ", entry.user, entry.host);
  return {run,
          std::to_string(entry.index),
          invocation.time_text(entry.at),
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
  Table table({{.name = "RUN", .cut = Cut::middle, .rank = arguments.all ? 0 : 5, .least = 16},
               {.name = "ENTRY"},
               {.name = "TIME", .rank = 1},
               {.name = "TYPE"},
               {.name = "CHECKPOINT", .rank = 4},
               {.name = "WHO", .cut = Cut::middle, .rank = 2, .least = 12},
               {.name = "DATA", .cut = Cut::end, .rank = 3, .least = 12}});
  for (const RunId& run : runs) {
    const Result<void> listed = for_each_entry(*store, run, [&](const AuditEntry& entry) {
      if (!filter.takes(entry)) return;
      if (invocation.json())
        rows.push_back(entry_json(run.text(), entry));
      else
        table.add(row_of(invocation, run.text(), entry));
    });
    if (!listed && arguments.all && is_gone_or_missing(listed.error().code)) continue;  // removed meanwhile
    if (!listed) return listed;
  }
  invocation.print(invocation.json() ? json_array(rows) + "\n"
                                     : table.text(invocation.style(), invocation.table_width()));
  return {};
}

Result<void> add(const Invocation& invocation, const AuditArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  auto checked = check_json(arguments.data, kAuditDataBytesMax);
  if (!checked) return fail(at(checked.error(), "--data"));
  NewAuditEntry entry{arguments.type, arguments.agent, Json::parse(arguments.data, nullptr, false)};
  if (!entry.data.is_object())
    return fail(Error{Code::invalid_json, "the data is not a JSON object", "--data",
                      R"(pass an object, for example {"why": "tested"})", 0});
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
    invocation.print(fmt::format("{}: {} will write the entry\n", run.text(), printable(added.owner)));
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

/// Erased runs are still listed.
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
    invocation.note(fmt::format("{}: anchor of {}, signed with {}; keep it apart from the store", arguments.output,
                                counted(made.runs.size(), "run"), made.public_key));
  }
  return {};
}

Result<void> proof(const Invocation& invocation, const AuditArguments& arguments) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(arguments.run));
  if (!arguments.entry && !arguments.earlier) {
    return fail(Error{Code::usage,
                      "missing argument: ENTRY (or pass --since SIZE)",
                      {},
                      fmt::format("to list the entries, run: pawl audit list {}", run.text()),
                      0});
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  std::vector<Sha256> leaves;
  std::string hash;
  PAWL_TRY(for_each_entry(*store, run, [&](const AuditEntry& entry) {
    leaves.push_back(merkle_leaf(from_hex(entry.hash)));
    if (entry.index == arguments.entry) hash = entry.hash;
  }));
  const bool grew = arguments.earlier.has_value();
  const std::uint64_t number = (grew ? arguments.earlier : arguments.entry).value_or(0);
  if (number == 0 || number > leaves.size()) {
    return fail(Error{Code::usage,
                      fmt::format("no such entry: run '{}' has entries 1 to {}", run.text(), leaves.size()),
                      {},
                      fmt::format("to list them, run: pawl audit list {}", run.text()),
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

Options& add_list_part(Options& audit, AuditArguments& arguments) {
  Options& app = audit.command("list", "List entries, filtered by run, type, agent, time or text");
  app.text("RUN", arguments.run, "Run id");
  app.flag("--all", arguments.all, "All runs in the store");
  app.text("--type", arguments.type, "Only entries of this type, for example approved").value("TYPE");
  app.text("--agent", arguments.agent, "Only entries by this agent or user").value("NAME");
  app.text("--since", arguments.since, "Only entries at or after this time: 2026-01-11 or 2026-01-11T14:30Z (UTC)")
      .value("TIME");
  app.text("--until", arguments.until, "Only entries at or before this time").value("TIME");
  app.text("--text", arguments.text, "Only entries that contain this text").value("TEXT");
  app.footer(
      "Examples:\n"
      "  pawl audit list notes-k3f9\n"
      "  pawl audit list notes-k3f9 --type approved --json\n"
      "  pawl audit list --all --since 2026-01-11 --agent alice");
  return app;
}

Options& add_add_part(Options& audit, AuditArguments& arguments) {
  Options& app = audit.command("add", "Add your own entry");
  app.text("RUN", arguments.run, "Run id").required();
  app.text("--type", arguments.type, "Type of the entry, for example reviewed").value("TYPE").required();
  app.text("--agent", arguments.agent, "Who did it (default: none)").value("NAME");
  app.text("--data", arguments.data, "Details as a JSON object").value("JSON");
  app.footer(
      "Examples:\n"
      "  pawl audit add notes-k3f9 --type reviewed --data '{\"verdict\": \"fine\"}'\n"
      "  pawl audit add notes-k3f9 --type note --data '{\"text\": \"mirror is slow\"}'\n"
      "  pawl audit add notes-k3f9 --type blocker --data '{\"text\": \"smtp is down\"}'\n"
      "\n"
      "`pawl handoff` includes notes and blockers. Types that Pawl writes itself,\n"
      "such as approved, are reserved.");
  return app;
}

Options& add_report_part(Options& audit, AuditArguments& arguments) {
  Options& app = audit.command("report", "Print the whole trail as JSON, CSV or HTML");
  app.footer(
      "Examples:\n"
      "  pawl audit report notes-k3f9 > audit.json\n"
      "  pawl audit report notes-k3f9 --format html -o audit.html");
  app.text("RUN", arguments.run, "Run id").required();
  app.text("--format", arguments.format, "json, csv or html (default: json)")
      .value("WORD")
      .words({"json", "csv", "html"});
  app.text("-o,--output", arguments.output, "Write to this file instead of standard output").value("FILE");
  return app;
}

}  // namespace

Command add_audit(Options& root) {
  const auto arguments = std::make_shared<AuditArguments>();
  Options& app = root.command("audit", "Show, add to, export and prove the tamper-evident audit trail");
  app.group(kLookGroup);
  const Options& listed = add_list_part(app, *arguments);
  const Options& added = add_add_part(app, *arguments);
  const Options& reported = add_report_part(app, *arguments);
  Options& anchored = app.command("anchor", "Print a signed list of the last audit entry of every run");
  anchored.text("-o,--output", arguments->output, "Write to this file instead of standard output").value("FILE");
  anchored.footer(
      "Examples:\n"
      "  pawl audit anchor -o anchor.json   keep the file apart from the store\n"
      "  pawl verify --all --anchor anchor.json\n"
      "                                     later: detects changed or removed entries");
  Options& proved =
      app.command("proof", "Print a Merkle proof that an entry is in the trail, or that the trail only grew");
  proved.text("RUN", arguments->run, "Run id").required();
  Option& entry = proved.number("ENTRY", arguments->entry, "Number of the entry");
  proved.number("--since", arguments->earlier, "Prove that the first N entries are unchanged")
      .value("SIZE")
      .excludes(entry);
  proved.footer(
      "Examples:\n"
      "  pawl audit proof notes-k3f9 7            prove that entry 7 is in the trail\n"
      "  pawl audit proof notes-k3f9 --since 40   prove that 1 to 40 are unchanged");
  app.footer(
      "Examples:\n"
      "  pawl audit list notes-k3f9 --type approved\n"
      "  pawl audit list --all --since 2026-01-11 --agent alice\n"
      "  pawl audit add notes-k3f9 --type reviewed --data '{\"verdict\": \"fine\"}'\n"
      "  pawl audit report notes-k3f9 --format html -o audit.html\n"
      "  pawl audit anchor -o anchor.json\n"
      "  pawl audit proof notes-k3f9 7\n"
      "  pawl audit proof notes-k3f9 --since 40");
  return {&app, [arguments, &listed, &added, &reported, &anchored](const Invocation& invocation) {
            if (listed.chosen()) return list(invocation, *arguments);
            if (added.chosen()) return add(invocation, *arguments);
            if (reported.chosen()) return report(invocation, *arguments);
            return anchored.chosen() ? anchor(invocation, *arguments) : proof(invocation, *arguments);
          }};
}

}  // namespace pawl::cli
