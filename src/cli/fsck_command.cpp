#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"

namespace pawl::cli {
namespace {

struct FsckArguments {
  std::string address;
  bool repair = false;
};

Result<std::optional<Address>> address_of(const std::string& text) {
  if (text.empty()) return std::optional<Address>();
  PAWL_TRY_ASSIGN(Address address, Address::parse(text));
  return std::optional<Address>(std::move(address));
}

Result<CheckScope> scope_of(Store& store, const std::optional<Address>& address, bool one_checkpoint) {
  CheckScope scope;
  if (!address) return scope;
  scope.run = address->run;
  if (address->which.by == Which::By::sequence) {
    scope.sequence = address->which.sequence;
  } else if (one_checkpoint) {
    PAWL_TRY_ASSIGN(const CheckpointInfo info, store.checkpoint(address->run, address->which));
    scope.sequence = info.sequence;
  }
  return scope;
}

/// Returns whether the repair had to set acknowledged checkpoints aside.
bool has_lost(const CheckReport& report) {
  return std::ranges::find(report.findings, Code::records_lost, &Finding::code) != report.findings.end();
}

Colour colour_of(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::note: return Colour::none;
    case Finding::Severity::mended: return Colour::green;
    case Finding::Severity::mendable: return Colour::yellow;
    case Finding::Severity::damage: return Colour::red;
  }
  return Colour::none;
}

std::string finding_text(const Finding& finding, const Style& style, const HintStyle& hints) {
  std::string text = style(colour_of(finding.severity), to_text(finding.severity));
  if (finding.code != Code{}) text += " " + code_text(finding.code);
  text += ":";
  if (!finding.run.empty()) {
    text += " " + printable(finding.run);
    if (finding.sequence) text += fmt::format("@{}", finding.sequence.value);
    text += ":";
  }
  text += fmt::format(" {}", printable(finding.what));
  if (!finding.file.empty()) text += fmt::format(" ({})", printable(finding.file));
  text += "\n";
  if (const std::string advice = finding_advice(finding, hints); !advice.empty())
    text += fmt::format("  {}\n", printable(advice));
  return text;
}

std::size_t count(const CheckReport& report, Finding::Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(report.findings, severity, &Finding::severity));
}

/// Returns whether a crash or a power loss left something behind that the journals make up for.
bool is_recovered(const CheckReport& report) {
  return std::ranges::any_of(report.findings, [](const Finding& finding) {
    return finding.severity == Finding::Severity::note &&
           (finding.code == Code::journal_corrupt || finding.code == Code::checkpoint_corrupt ||
            finding.code == Code::checksum_mismatch);
  });
}

std::string verdict(const CheckReport& report) {
  if (report.damaged()) return "DAMAGED";
  return is_recovered(report) && !has_lost(report) ? "ok (recovered, nothing lost)" : "ok";
}

std::string summary(const CheckReport& report) {
  const std::string erased = report.erased == 0 ? std::string() : fmt::format(" ({} erased)", report.erased);
  std::string text =
      fmt::format("{}: {}{}, {}, {} checked", verdict(report), counted(report.runs + report.erased, "run"), erased,
                  counted(report.checkpoints, "checkpoint"), counted(report.files, "file"));
  for (const Finding::Severity severity :
       {Finding::Severity::damage, Finding::Severity::mendable, Finding::Severity::mended, Finding::Severity::note}) {
    if (const std::size_t found = count(report, severity); found > 0)
      text += fmt::format(", {}", severity == Finding::Severity::note ? counted(found, "note")
                                                                      : fmt::format("{} {}", found, to_text(severity)));
  }
  return text + "\n";
}

Error left_over(const CheckReport& report, const HintStyle& hints) {
  const std::size_t damage = count(report, Finding::Severity::damage);
  const std::size_t mendable = count(report, Finding::Severity::mendable);
  Error error{Code::findings, fmt::format("found {} damaged and {} repairable", damage, mendable), {}, {}, 0};
  error.hint = mendable > 0 ? "to repair what can be repaired, run: " + command_of(Advice::repair_store, {}, hints)
                            : "follow the advice at each finding";
  return error;
}

/// Names each run that lost checkpoints.
Error lost_records(const CheckReport& report) {
  std::vector<std::string> runs;
  for (const Finding& finding : report.findings) {
    if (finding.code == Code::records_lost) runs.push_back(finding.run);
  }
  return Error{Code::records_lost,
               fmt::format("repaired, but checkpoints were lost: {}", fmt::join(runs, ", ")),
               {},
               "the store works again; restore what was lost from a backup, if you have one",
               0};
}

Result<void> fsck(const Invocation& invocation, const FsckArguments& arguments) {
  PAWL_TRY_ASSIGN(const std::optional<Address> address, address_of(arguments.address));
  const bool one_checkpoint = arguments.address.find('@') != std::string::npos;
  PAWL_TRY_ASSIGN(const std::unique_ptr<Store> store, invocation.open_store(StoreAccess::read));
  PAWL_TRY_ASSIGN(const CheckScope scope, scope_of(*store, address, one_checkpoint));
  PAWL_TRY_ASSIGN(const CheckReport report, store->check(scope, arguments.repair ? Repair::yes : Repair::no));
  const HintStyle hints{.store = invocation.given_store()};
  if (invocation.json()) {
    invocation.print(report_json(report) + "\n");
  } else {
    for (const Finding& finding : report.findings) invocation.print(finding_text(finding, invocation.style(), hints));
    invocation.print(summary(report));
  }
  if (report.damaged()) return fail(left_over(report, hints));
  if (has_lost(report)) return fail(lost_records(report));
  return {};
}

}  // namespace

Command add_fsck(Options& root) {
  const auto arguments = std::make_shared<FsckArguments>();
  Options& app = root.command("fsck", "Check the store, a run or a checkpoint for damage; exit 4 if damaged");
  app.group(kCareGroup);
  app.text("RUN[@SEQ]", arguments->address, "Run or checkpoint to check (default: the whole store)");
  app.flag("--repair", arguments->repair, "Repair what can be repaired, and set aside damaged parts of a journal");
  app.footer(
      "A damaged part of a journal is moved to recovery/ in the store. If checkpoints\n"
      "were lost with it, they are listed, and the exit status is 4 once.\n"
      "\n"
      "Examples:\n"
      "  pawl fsck                    the whole store\n"
      "  pawl fsck nightly@7          one checkpoint\n"
      "  pawl fsck --repair --json");
  return {&app, [arguments](const Invocation& invocation) { return fsck(invocation, *arguments); }};
}

}  // namespace pawl::cli
