#include "machine/records.hpp"

#include <type_traits>

namespace pawl::machine {
namespace {

using namespace recorded;

// One list of members per record serves for writing and reading.
template <class Visit>
void members(auto& r, const Visit& v) {
  using T = std::remove_cvref_t<decltype(r)>;
  if constexpr (requires { r.path; }) v("path", r.path);
  if constexpr (std::is_same_v<T, RunBegan>) v("workflow", r.workflow_hash);
  if constexpr (std::is_same_v<T, RunResumed>) {
    v("automatic", r.automatic);
    v("changes_accepted", r.changes_accepted);
    v("workflow", r.workflow_hash);
    v("budget", r.budget);
  }
  if constexpr (requires { r.start; }) v("start", r.start);
  if constexpr (requires { r.usage; }) v("usage", r.usage);
  if constexpr (requires { r.progress; }) v("progress", r.progress);
  if constexpr (requires { r.confidence; }) v("confidence", r.confidence);
  if constexpr (requires { r.decisions; }) v("decisions", r.decisions);
  if constexpr (requires { r.how; }) v("how", r.how);
  if constexpr (requires { r.error; }) v("error", r.error);
  if constexpr (requires { r.exit_code; }) v("exit_code", r.exit_code);
  if constexpr (requires { r.retryable; }) v("retryable", r.retryable);
  if constexpr (requires { r.ms; }) v("ms", r.ms);
  if constexpr (requires { r.left; }) v("left", r.left);
  if constexpr (requires { r.aside; }) v("aside", r.aside);
  if constexpr (requires { r.status; }) v("status", r.status);
  if constexpr (requires { r.reason; }) v("reason", r.reason);
  if constexpr (requires { r.detail; }) v("detail", r.detail);
  if constexpr (requires { r.output; }) v("output", r.output);
  if constexpr (requires { r.output_of; }) v("output_of", r.output_of);
  if constexpr (requires { r.no_output; }) v("no_output", r.no_output);
  if constexpr (requires { r.definition; }) v("def", r.definition);
  if constexpr (requires { r.cached_from; }) v("cached_from", r.cached_from);
  if constexpr (requires { r.binding; }) v("binding", r.binding);
  if constexpr (requires { r.due; }) v("due", r.due);
  if constexpr (requires { r.iteration; }) v("iteration", r.iteration);
  if constexpr (requires { r.satisfied; }) v("satisfied", r.satisfied);
  if constexpr (requires { r.total; }) v("total", r.total);
  if constexpr (requires { r.items_hash; }) v("items_hash", r.items_hash);
  if constexpr (requires { r.kept; }) v("kept", r.kept);
  if constexpr (requires { r.index; }) v("index", r.index);
  if constexpr (requires { r.hash; }) v("hash", r.hash);
  if constexpr (requires { r.failed; }) v("failed", r.failed);
  if constexpr (requires { r.item; }) v("item", r.item);
  if constexpr (requires { r.number; }) v("number", r.number);
  if constexpr (requires { r.with_hash; }) v("with_hash", r.with_hash);
  if constexpr (requires { r.run; }) v("run", r.run);
  if constexpr (requires { r.steps; }) v("steps", r.steps);
  if constexpr (requires { r.id; }) v("id", r.id);
  if constexpr (requires { r.answer; }) v("answer", r.answer);
  if constexpr (requires { r.why; }) v("why", r.why);
  if constexpr (requires { r.signal; }) v("signal", r.signal);
  if constexpr (requires { r.entry; }) v("entry", r.entry);
  if constexpr (requires { r.agent; }) v("agent", r.agent);
  if constexpr (requires { r.payload; }) v("payload", r.payload);
  if constexpr (requires { r.sent; }) v("sent", r.sent);
  if constexpr (requires { r.approved; }) v("approved", r.approved);
  if constexpr (requires { r.timed_out; }) v("timed_out", r.timed_out);
  if constexpr (requires { r.by; }) v("by", r.by);
  if constexpr (requires { r.comment; }) v("comment", r.comment);
  if constexpr (requires { r.indices; }) v("indices", r.indices);
  if constexpr (requires { r.dependents; }) v("dependents", r.dependents);
  if constexpr (requires { r.after; }) v("after", r.after);
  if constexpr (requires { r.stage; }) v("stage", r.stage);
  if constexpr (requires { r.layer; }) v("layer", r.layer);
  if constexpr (requires { r.outputs; }) v("outputs", r.outputs);
}

Json encode(const Json& value) { return value; }
Json encode(const std::shared_ptr<const Json>& value) { return value == nullptr ? Json() : *value; }
Json encode(const std::string& value) { return value; }
Json encode(bool value) { return value; }
Json encode(std::uint32_t value) { return value; }
Json encode(std::uint64_t value) { return value; }
Json encode(int value) { return value; }
Json encode(Timestamp value) { return value.us; }
Json encode(StepStatus value) { return to_text(value); }
Json encode(StepReason value) { return to_text(value); }
Json encode(RunStatus value) { return to_text(value); }
Json encode(Aside value) { return value == Aside::none ? "" : value == Aside::on_failure ? "on_failure" : "then"; }
Json encode(AttemptEnd value) { return value == AttemptEnd::failed ? "failed" : "interrupted"; }
Json encode(Answer value) { return value == Answer::consumed ? "consumed" : "refused"; }
Json encode(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json encode(const Usage& value) { return Json::array({value.tokens, value.usd, value.api_calls}); }

bool decode(const Json& from, Json& to) { return to = from, true; }
bool decode(const Json& from, std::shared_ptr<const Json>& to) { return to = std::make_shared<const Json>(from), true; }
bool decode(const Json& from, std::string& to) { return from.is_string() && (to = from.get<std::string>(), true); }
bool decode(const Json& from, bool& to) { return from.is_boolean() && (to = from.get<bool>(), true); }
bool decode(const Json& from, std::uint32_t& to) {
  return from.is_number_unsigned() && from.get<std::uint64_t>() <= UINT32_MAX && (to = from.get<std::uint32_t>(), true);
}
bool decode(const Json& from, std::uint64_t& to) {
  return from.is_number_unsigned() && (to = from.get<std::uint64_t>(), true);
}
bool decode(const Json& from, int& to) { return from.is_number_integer() && (to = from.get<int>(), true); }
bool decode(const Json& from, Timestamp& to) {
  return from.is_number_integer() && (to.us = from.get<std::int64_t>(), true);
}
template <class Enum>
bool take(const std::optional<Enum>& parsed, Enum& to) {
  return parsed && (to = *parsed, true);
}
bool decode(const Json& from, StepStatus& to) {
  return from.is_string() && take(parse_step_status(from.get<std::string>()), to);
}
bool decode(const Json& from, StepReason& to) {
  return from.is_string() && take(parse_step_reason(from.get<std::string>()), to);
}
bool decode(const Json& from, RunStatus& to) {
  return from.is_string() && take(parse_run_status(from.get<std::string>()), to);
}
bool decode(const Json& from, Aside& to) {
  to = from == Json("on_failure") ? Aside::on_failure : Aside::low_confidence;
  return from == encode(to);
}
bool decode(const Json& from, AttemptEnd& to) {
  to = from == Json("failed") ? AttemptEnd::failed : AttemptEnd::interrupted;
  return from == encode(to);
}
bool decode(const Json& from, Answer& to) {
  to = from == Json("consumed") ? Answer::consumed : Answer::refused;
  return from == encode(to);
}
bool decode(const Json& from, std::optional<double>& to) { return from.is_number() && (to = from.get<double>(), true); }
bool decode(const Json& from, Usage& to) {
  if (!from.is_array() || from.size() != 3 || !from[1].is_number()) return false;
  to.usd = from[1].get<double>();
  return decode(from[0], to.tokens) && decode(from[2], to.api_calls);
}

template <std::size_t i = 0>
Result<RecordedFact> read(std::string_view type, const Json& value) {
  if constexpr (i == std::variant_size_v<RecordedFact>) {
    return fail(Code::state_reconstruction_failed, "unknown type of a record: '{}'", type);
  } else {
    using T = std::variant_alternative_t<i, RecordedFact>;
    if (type != T::kType) return read<i + 1>(type, value);
    T fact;
    std::string wrong;
    members(fact, [&](const char* name, auto& member) {
      const auto found = value.find(name);
      if (found != value.end() && !decode(*found, member) && wrong.empty()) wrong = name;
    });
    if (!wrong.empty()) return fail(Code::state_reconstruction_failed, "'{}' of a record '{}' is invalid", wrong, type);
    return RecordedFact(std::move(fact));
  }
}

}  // namespace

std::string_view type_of(const RecordedFact& fact) {
  return std::visit([](const auto& f) { return std::string_view(std::remove_cvref_t<decltype(f)>::kType); }, fact);
}

std::string_view path_of(const RecordedFact& fact) {
  return std::visit(
      [](const auto& f) -> std::string_view {
        if constexpr (requires { f.path; }) return f.path;
        return {};
      },
      fact);
}

Json to_json(const Record& record) {
  Json out = {{"type", type_of(record.fact)}, {"at", record.at.us}};
  std::visit(
      [&out](const auto& fact) {
        static const std::remove_cvref_t<decltype(fact)> kDefault = {};
        Json defaults = Json::object();
        members(kDefault, [&](const char* name, const auto& member) { defaults[name] = encode(member); });
        members(fact, [&](const char* name, const auto& member) {
          Json value = encode(member);
          if (value != defaults[name]) out[name] = std::move(value);
        });
      },
      record.fact);
  return out;
}

Result<Record> record_from_json(const Json& value) {
  if (!value.is_object()) return fail(Code::state_reconstruction_failed, "a record must be an object");
  Record record;
  const auto at = value.find("at");
  if (at == value.end() || !decode(*at, record.at))
    return fail(Code::state_reconstruction_failed, "a record has no time");
  PAWL_TRY_ASSIGN(record.fact, read(text_in(value, "type"), value));
  return record;
}

}  // namespace pawl::machine
