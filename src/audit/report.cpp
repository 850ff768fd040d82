#include "audit/report.hpp"

#include "base/json.hpp"
#include "domain/event_types.hpp"

namespace pawl {
namespace {

Json value_of(std::string_view run, const AuditEntry& entry) {
  Json value = {{"run", run},
                {"entry", entry.index},
                {"at", entry.at.text()},
                {"type", entry.type},
                {"sequence", entry.sequence.value}};
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) value[key] = text;
  };
  add("agent", entry.agent);
  add("user", entry.user);
  add("host", entry.host);
  if (!entry.data.empty()) value["data"] = Json::parse(entry.data, nullptr, false);
  add("payload", entry.payload);
  if (entry.event != 0) value["event"] = entry.event;
  add("events", entry.events);
  add("previous", entry.previous);
  add("hash", entry.hash);
  return value;
}

Json verdict_of(const AuditReport& report) {
  if (!report.verdict) return nullptr;
  const RunVerdict& verdict = *report.verdict;
  Json value = {{"ok", !verdict.bad},        {"entries", verdict.head.entries},    {"head", verdict.head.head},
                {"root", verdict.head.root}, {"checkpoints", verdict.checkpoints}, {"pruned", verdict.pruned},
                {"events", verdict.events}};
  if (verdict.bad)
    value["bad"] = {{"entry", verdict.bad->entry}, {"file", verdict.bad->file}, {"what", verdict.bad->what}};
  return value;
}

std::string cell(std::string_view text) {
  std::string out;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) out += '\'';
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') out += '"';
    quoted = quoted || c == '"' || c == ',' || c == '\n' || c == '\r';
    out += c;
  }
  return quoted ? fmt::format("\"{}\"", out) : out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

constexpr std::string_view kStyle = R"(<style>
:root{--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--accent:#0b6bcb;--good:#1a7f37;--bad:#b3261e;--paper:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--accent:#6cb6ff;--good:#57ab5a;--bad:#ff7b72;--paper:#0d1117}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1.25rem}
h1{font-size:1.5rem;margin:0 0 .25rem}
h2{font-size:1.05rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:1rem 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.verdict{border:1px solid;border-radius:6px;padding:.5rem .75rem;margin:1rem 0}
.good{color:var(--good)}.bad{color:var(--bad)}
ol{list-style:none;margin:0;padding:0 0 0 1rem;border-left:2px solid var(--line)}
li{position:relative;padding:.3rem 0 .3rem .5rem;break-inside:avoid}
li::before{content:"";position:absolute;left:calc(-1rem - 6px);top:.75rem;width:10px;height:10px;border-radius:50%;background:var(--paper);border:2px solid var(--line)}
li.act::before{background:var(--accent);border-color:var(--accent)}
time{color:var(--soft);font-variant-numeric:tabular-nums;margin-right:.75rem}
.who{color:var(--soft)}
code,pre{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap;margin:.15rem 0 0}
pre{border-left:3px solid var(--line);padding-left:.6rem}
.hash{color:var(--soft);font-size:12px}
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--accent:#000;--good:#000;--bad:#000}body{margin:0;max-width:none;font-size:11px}code,pre,.hash{font-size:9px}}
</style>
)";

std::string fact(std::string_view name, std::string_view value) {
  return value.empty() ? std::string() : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escaped(value));
}

std::string verdict_html(const AuditReport& report) {
  if (!report.verdict) return {};
  const RunVerdict& verdict = *report.verdict;
  if (verdict.bad) {
    return fmt::format("<p class=\"verdict bad\"><strong>Verification failed.</strong> Entry {}: {} ({})</p>\n",
                       verdict.bad->entry, escaped(verdict.bad->what), escaped(verdict.bad->file));
  }
  return fmt::format(
      "<p class=\"verdict good\"><strong>Verified.</strong> {} entries, {} checkpoints, {} pruned checkpoints and {} "
      "events match the audit trail.<br>"
      "<span class=\"hash\">head {}<br>Merkle root {}</span></p>\n",
      verdict.head.entries, verdict.checkpoints, verdict.pruned, verdict.events, verdict.head.head, verdict.head.root);
}

std::string who_of(const AuditEntry& entry) {
  std::string who = entry.agent;
  if (!entry.user.empty()) who += fmt::format("{}{}@{}", who.empty() ? "" : ", ", entry.user, entry.host);
  return who;
}

/// Returns whether the entry only says that a checkpoint was saved.
bool is_plain(const AuditEntry& entry) { return entry.type == event_type::kCheckpointSaved; }

std::string item_html(const AuditEntry& entry) {
  std::string out =
      fmt::format("<li class=\"act\"><time>{}</time><strong>{}</strong> <span class=\"who\">{}</span> <code>@{}</code>",
                  entry.at.text(), escaped(entry.type), escaped(who_of(entry)), entry.sequence.value);
  if (!entry.data.empty() && entry.data != "{}") {
    const Json data = Json::parse(entry.data, nullptr, false);
    out += fmt::format(
        "<pre>{}</pre>",
        escaped(data.is_discarded() ? entry.data : data.dump(2, ' ', false, Json::error_handler_t::replace)));
  }
  return out + fmt::format("<div class=\"hash\">entry {} · {}</div></li>\n", entry.index, entry.hash);
}

std::string stretch_html(const AuditEntry& first, const AuditEntry& last) {
  if (first.index == last.index) {
    return fmt::format(
        "<li><time>{}</time>checkpoint <code>@{}</code> <span class=\"hash\">entry {} · {}</span></li>\n",
        first.at.text(), first.sequence.value, first.index, first.hash);
  }
  return fmt::format(
      "<li><time>{}</time>checkpoints <code>@{}</code> to <code>@{}</code>, until {} <span class=\"hash\">entries {} "
      "to {} · {}</span></li>\n",
      first.at.text(), first.sequence.value, last.sequence.value, last.at.text(), first.index, last.index, last.hash);
}

}  // namespace

std::string entry_json(std::string_view run, const AuditEntry& entry) { return compact(value_of(run, entry)); }

std::string report_as_json(const AuditReport& report) {
  const std::string run = report.run.id.text();
  std::string out =
      fmt::format("{{\"run\":{},\"uuid\":\"{}\",\"made\":\"{}\",\"verification\":{},\"entries\":[", compact(Json(run)),
                  report.run.uuid.text(), report.made.text(), compact(verdict_of(report)));
  for (const AuditEntry& entry : report.entries)
    out += fmt::format("{}\n{}", entry.index == report.entries.front().index ? "" : ",", entry_json(run, entry));
  return out + "\n]}\n";
}

std::string report_as_csv(const AuditReport& report) {
  std::string out = "run,entry,at,type,sequence,agent,user,host,data,payload,hash\r\n";
  for (const AuditEntry& entry : report.entries) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\r\n", cell(report.run.id.text()), entry.index, entry.at.text(),
                       cell(entry.type), entry.sequence.value, cell(entry.agent), cell(entry.user), cell(entry.host),
                       cell(entry.data), entry.payload, entry.hash);
  }
  return out;
}

std::string report_as_html(const AuditReport& report) {
  const RunInfo& run = report.run;
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n"
      "<title>Audit of {0}</title>\n{1}</head>\n<body>\n<h1>Audit of {0}</h1>\n",
      escaped(run.id.text()), kStyle);
  out += fmt::format("<dl>\n{}{}{}{}{}{}{}</dl>\n", fact("Run", run.uuid.text()), fact("Workflow", run.workflow),
                     fact("Session", run.session), fact("Made", run.created.text()),
                     fact("Last saved", run.updated.text()), fact("Status", to_text(run.status)),
                     fact("This report", report.made.text()));
  out += verdict_html(report);
  out += "<h2>Timeline</h2>\n<ol>\n";
  for (std::size_t i = 0; i < report.entries.size(); ++i) {
    if (!is_plain(report.entries[i])) {
      out += item_html(report.entries[i]);
      continue;
    }
    const std::size_t first = i;
    while (i + 1 < report.entries.size() && is_plain(report.entries[i + 1])) ++i;
    out += stretch_html(report.entries[first], report.entries[i]);
  }
  return out + "</ol>\n</body>\n</html>\n";
}

}  // namespace pawl
