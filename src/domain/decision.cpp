#include "domain/decision.hpp"

#include <cmath>

#include "text/json_text.hpp"

namespace pawl {
namespace {

void append_text(std::string& out, std::string_view key, std::string_view value) {
  out += out.size() > 1 ? "," : "";
  append_json_string(out, key);
  out += ':';
  append_json_string(out, value);
}

}  // namespace

Result<void> check_decision(const Decision& decision) {
  if (decision.agent.empty()) return fail(Code::invalid_label, "the decision does not say which agent made it");
  if (decision.description.empty()) return fail(Code::invalid_label, "the decision does not say what was decided");
  if (!(decision.confidence >= 0.0 && decision.confidence <= 1.0)) {
    return fail(Code::invalid_label, "the decision's confidence is {}, not between 0 and 1", decision.confidence);
  }
  return {};
}

std::string to_json(const Decision& decision) {
  std::string out = "{";
  append_text(out, "timestamp", decision.at.text());
  append_text(out, "agent", decision.agent);
  append_text(out, "type", decision.type);
  append_text(out, "description", decision.description);
  append_text(out, "rationale", decision.rationale);
  out += ",\"confidence\":" + (std::isfinite(decision.confidence) ? fmt::format("{}", decision.confidence) : "null");
  out += ",\"alternatives_considered\":[";
  for (std::size_t i = 0; i < decision.alternatives.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, decision.alternatives[i]);
  }
  return out + "]}";
}

std::string to_json(const Blocker& blocker) {
  std::string out = "{";
  append_text(out, "timestamp", blocker.at.text());
  append_text(out, "agent", blocker.agent);
  append_text(out, "description", blocker.description);
  return out + "}";
}

}  // namespace pawl
