#include "cli/verify_text.hpp"

#include "base/json.hpp"
#include "cli/hints.hpp"
#include "cli/json_out.hpp"

namespace pawl::cli {
namespace {

constexpr std::int64_t kProgressEvery_us = 100'000;
constexpr std::string_view kClearLine = "\r\x1b[K";

std::string bad_json(const RunVerdict& verdict) {
  const BadEntry& bad = *verdict.bad;
  return JsonObject()
      .text("code", code_text(bad.code))
      .number("entry", bad.entry)
      .number("sequence", bad.sequence.value)
      .text("file", bad.file)
      .text("what", bad.what)
      .text("hint", hint_text(error_of(verdict)))
      .done();
}

}  // namespace

Result<std::unique_ptr<Evidence>> open_evidence(const Invocation& invocation) {
  const CliContext& context = invocation.context();
  if (!context.audit.open_evidence)
    return fail(Error{Code::usage, "this store has no files to verify", {}, "pass a folder: --store ./.pawl", 0});
  return context.audit.open_evidence(invocation.store_uri());
}

Result<RunVerdict> verify_with_progress(const Invocation& invocation, Evidence& evidence, const RunId& run,
                                        const AnchorPoint* anchor) {
  CliContext& context = invocation.context();
  VerifyProgress progress;
  bool shown = false;
  std::int64_t last_us = context.clock.monotonic_us();
  if (context.err_is_terminal && !invocation.json()) {
    progress = [&](std::uint64_t entries) {
      if (context.clock.monotonic_us() - last_us < kProgressEvery_us) return;
      last_us = context.clock.monotonic_us();
      shown = true;
      context.err.write(fmt::format("{}{}: {} entries", kClearLine, run.text(), entries));
      static_cast<void>(context.err.flush());
    };
  }
  auto verdict = verify_run(evidence, run, anchor, progress);
  if (shown) {
    context.err.write(kClearLine);
    static_cast<void>(context.err.flush());  // before the verdict is printed on the same line
  }
  return verdict;
}

VerifyOne verifier(const Invocation& invocation) {
  return [&invocation](Evidence& evidence, const RunId& run, const AnchorPoint* anchor) {
    return verify_with_progress(invocation, evidence, run, anchor);
  };
}

std::string verdict_text(const RunVerdict& verdict, const Style& style) {
  const std::string run = printable(verdict.head.run);
  std::string text;
  if (verdict.bad) {
    text = fmt::format("{}: {}: entry {}: {} ({})\n", run, style(Colour::red, "BAD"), verdict.bad->entry,
                       printable(verdict.bad->what), printable(verdict.bad->file));
  } else if (verdict.removed) {
    const std::string& why = verdict.removed->reason;
    text = fmt::format("{}: removed on {} by {}{}{}\n", run, verdict.removed->at.text(), printable(verdict.removed->by),
                       why.empty() ? "" : ": ", printable(why));
  } else {
    text = fmt::format("{}: {}: {}, {}", run, style(Colour::green, "fine"),
                       counted(verdict.head.entries, "entry", "entries"), counted(verdict.checkpoints, "checkpoint"));
    if (verdict.pruned > 0) text += fmt::format(" and the hashes of {} pruned ones", verdict.pruned);
    text += fmt::format(", {}\n", counted(verdict.events, "event"));
  }
  for (const std::string& note : verdict.notes) text += fmt::format("  {}\n", style(Colour::dim, note));
  return text;
}

std::string verdict_json(const RunVerdict& verdict) {
  std::vector<std::string> notes;
  for (const std::string& note : verdict.notes) notes.push_back(compact(Json(note)));
  JsonObject document;
  document.text("run", verdict.head.run)
      .boolean("ok", !verdict.bad)
      .text("uuid", verdict.head.uuid.text())
      .number("entries", verdict.head.entries)
      .text("head", verdict.head.head)
      .text("root", verdict.head.root)
      .number("checkpoints", verdict.checkpoints)
      .number("pruned", verdict.pruned)
      .number("events", verdict.events)
      .number("settled", verdict.settled)
      .raw("removed", verdict.removed ? JsonObject()
                                            .text("at", verdict.removed->at.text())
                                            .text("by", verdict.removed->by)
                                            .text("reason", verdict.removed->reason)
                                            .done()
                                      : std::string())
      .raw("notes", json_array(notes))
      .raw("bad", verdict.bad ? bad_json(verdict) : std::string());
  return document.done();
}

}  // namespace pawl::cli
