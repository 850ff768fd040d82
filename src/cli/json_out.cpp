#include "cli/json_out.hpp"

#include <fmt/format.h>

#include "cli/hints.hpp"
#include "cli/text.hpp"
#include "domain/labels.hpp"
#include "text/json_text.hpp"
#include "text/utf8.hpp"

namespace pawl::cli {

void JsonObject::begin(std::string_view key) {
  if (!members_.empty()) members_ += ",";
  append_json_string(members_, key);
  members_ += ":";
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
  begin(key);
  append_json_string(members_, valid_utf8(value));
  return *this;
}

JsonObject& JsonObject::number(std::string_view key, std::uint64_t value) {
  begin(key);
  members_ += std::to_string(value);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view key, bool value) {
  begin(key);
  members_ += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  begin(key);
  members_ += json.empty() ? "null" : json;
  return *this;
}

std::string json_array(const std::vector<std::string>& elements) {
  return fmt::format("[{}]", fmt::join(elements, ",\n "));
}

JsonObject run_object(const RunInfo& run) { return run_object(run, to_text(run.status)); }

JsonObject run_object(const RunInfo& run, std::string_view status) {
  JsonObject object;
  object.text("run", run.id.text())
      .text("uuid", run.uuid.text())
      .text("kind", to_text(run.kind))
      .text("status", status)
      .text("created", run.created.text())
      .text("updated", run.updated.text())
      .text("durability", to_text(run.durability))
      .text("workflow", run.workflow)
      .text("workflow_file", run.workflow)
      .text("workflow_hash", run.workflow_hash)
      .text("session", run.session);
  if (run.fork_of_run) {
    object.text("fork_of_run", run.fork_of_run->text()).number("fork_of_sequence", run.fork_of_sequence.value);
  }
  return object;
}

void add_summary(JsonObject& object, const RunSummary& summary) {
  object.text("workflow_name", summary.workflow_name);
  object.raw("progress", summary.progress ? fmt::format(R"({{"done":{},"total":{}}})", summary.progress->done,
                                                        summary.progress->total)
                                          : "null");
  object.raw("usage", compact(summary.usage.document()));
  if (summary.error.empty()) {
    object.raw("error", "null");
  } else {
    object.text("error", summary.error);
  }
}

namespace {

std::string labels_json(const CheckpointInfo& info) {
  Json labels = Json::array();
  for (const SaveLabel& label : all_labels(info))
    labels.push_back({{"kind", to_text(label.kind)},
                      {"reason", to_text(label.reason)},
                      {"stage", label.stage},
                      {"step", label.step}});
  return compact(labels);
}

}  // namespace

JsonObject checkpoint_object(std::string_view run, const CheckpointInfo& info) {
  JsonObject object;
  object.text("run", run)
      .number("sequence", info.sequence.value)
      .number("parent", info.parent.value)
      .text("id", info.id.text())
      .text("created", info.created.text())
      .text("kind", to_text(info.kind))
      .text("status", to_text(info.status))
      .text("reason", to_text(info.reason))
      .text("name", info.name)
      .text("caller_id", info.caller_id)
      .text("stage", info.stage)
      .text("step", info.step)
      .raw("labels", labels_json(info))
      .raw("metadata", info.metadata)
      .number("state_bytes", info.state_bytes)
      .number("stored_bytes", info.stored_bytes)
      .boolean("whole", info.whole)
      .text("checksum", info.checksum);
  return object;
}

std::string report_json(const CheckReport& report) {
  std::vector<std::string> findings;
  for (const Finding& finding : report.findings) {
    std::vector<std::string> affected;
    for (const Sequence sequence : finding.affected) affected.push_back(std::to_string(sequence.value));
    findings.push_back(JsonObject()
                           .text("severity", to_text(finding.severity))
                           .text("code", finding.code == Code{} ? "" : code_text(finding.code))
                           .text("file", finding.file)
                           .text("run", finding.run)
                           .number("sequence", finding.sequence.value)
                           .raw("affected", json_array(affected))
                           .text("what", finding.what)
                           .text("advice", finding_advice(finding))
                           .done());
  }
  return JsonObject()
      .boolean("ok", !report.damaged())
      .number("runs", report.runs + report.erased)
      .number("erased", report.erased)
      .number("checkpoints", report.checkpoints)
      .number("files", report.files)
      .raw("findings", json_array(findings))
      .done();
}

std::string error_json(const Error& error) {
  const std::string inner = JsonObject()
                                .text("code", code_text(error.code))
                                .text("message", error.message)
                                .text("where", error.where)
                                .text("hint", error.hint)
                                .done();
  return JsonObject().raw("error", inner).done();
}

std::string_view to_text(Saved::Outcome outcome) {
  switch (outcome) {
    case Saved::Outcome::written: return "written";
    case Saved::Outcome::unchanged: return "unchanged";
    case Saved::Outcome::repeated: return "repeated";
  }
  return "?";
}

std::string_view to_text(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::note: return "note";
    case Finding::Severity::mended: return "mended";
    case Finding::Severity::mendable: return "mendable";
    case Finding::Severity::damage: return "damage";
  }
  return "?";
}

}  // namespace pawl::cli
