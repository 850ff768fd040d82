#include "engine/save.hpp"

#include "codec/json_check.hpp"
#include "domain/labels.hpp"
#include "domain/save_rules.hpp"
#include "text/json_text.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::size_t kWorkflowBytesMax = 4096;
constexpr std::size_t kAppendedBytesMin = 16U << 10;  // checking a smaller state is faster than comparing it

Result<void> check_text(std::string_view what, std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return fail(Code::invalid_label, "the {} has {} bytes; the limit is {}", what, text.size(), bytes_max);
  }
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint point = first_code_point(rest);
    if (point.size == 0) return fail(Code::invalid_label, "the {} is not valid UTF-8", what);
    if (is_control(point.value))
      return fail(Code::invalid_label, "the {} contains a control character (U+{:04X})", what, point.value);
    rest.remove_prefix(point.size);
  }
  return {};
}

Result<void> check_document(std::string_view what, std::string_view json, std::uint64_t bytes_max) {
  Result<void> checked = check_json(json, bytes_max);
  if (!checked) return fail(at(std::move(checked).error(), std::string(what)));
  return {};
}

Result<void> check_metadata(std::string_view metadata) {
  if (metadata.empty()) return {};
  PAWL_TRY(check_document("metadata", metadata, kMetadataBytesMax));
  if (json_type(trim_json(metadata)) == JsonType::object) return {};
  return fail(Error{Code::invalid_json, "the metadata is not a JSON object", "metadata",
                    R"(pass an object, for example {"key": "value"})", 0});
}

Result<void> check_events(const SaveRequest& request) {
  std::uint64_t bytes = 0;
  for (const NewEvent& event : request.events) {
    if (event.type.empty()) return fail(Code::invalid_label, "an event has no type");
    PAWL_TRY(check_label("event type", event.type));
    PAWL_TRY(check_label("agent", event.agent));
    PAWL_TRY(check_document("event data", event.data, kEventBytesMax));
    bytes += event.data.size();
  }
  if (bytes > kEventsBytesMax) {
    return fail(Error{Code::state_too_large,
                      fmt::format("the events of one save have {} bytes; the limit is {}", bytes, kEventsBytesMax),
                      "event data", "split them over several saves", 0});
  }
  return {};
}

}  // namespace

Result<void> check_label(std::string_view what, std::string_view label) {
  return check_text(what, label, kLabelBytesMax);
}

Result<void> check_run_options(const RunOptions& options) {
  PAWL_TRY(check_label("session", options.session));
  PAWL_TRY(check_label("workflow hash", options.workflow_hash));
  return check_text("workflow", options.workflow, kWorkflowBytesMax);
}

namespace {

Result<void> check_more_labels(const SaveRequest& request) {
  if (request.also.size() > kMoreLabelsMax)
    return fail(
        Error{Code::invalid_label,
              fmt::format("the checkpoint has {} more labels; the limit is {}", request.also.size(), kMoreLabelsMax),
              {},
              "save more often, or leave some labels out",
              0});
  for (const SaveLabel& label : request.also) {
    PAWL_TRY(check_label("stage", label.stage));
    PAWL_TRY(check_label("step", label.step));
  }
  return {};
}

Result<void> check_labels(const SaveRequest& request) {
  PAWL_TRY(check_label("name", request.name));
  PAWL_TRY(check_label("caller's id", request.caller_id));
  PAWL_TRY(check_label("stage", request.stage));
  PAWL_TRY(check_label("step", request.step));
  PAWL_TRY(check_more_labels(request));
  PAWL_TRY(check_metadata(request.metadata));
  return check_events(request);
}

/// Most states only append to the last one. Returns true if that is so and the appended part is valid.
bool appends_valid_elements(const RunWriter& writer, const SaveRequest& request, std::uint64_t state_bytes_max) {
  if (request.form != Form::state || request.body.size() < kAppendedBytesMin || request.body.size() > state_bytes_max)
    return false;
  const auto appended = writer.appended(request.body);
  if (!appended) return false;
  const std::string array = fmt::format("[{}]", appended->elements);
  return json_depth(array) + appended->depth <= kJsonDepthMax && check_json(array, state_bytes_max).has_value();
}

}  // namespace

Result<void> check_request(const SaveRequest& request, std::uint64_t state_bytes_max) {
  PAWL_TRY(check_labels(request));
  return check_document(request.form == Form::patch ? "patch" : "state", request.body, state_bytes_max);
}

Result<Saved> checked_save(RunWriter& writer, const SaveRequest& request, std::uint64_t state_bytes_max) {
  if (appends_valid_elements(writer, request, state_bytes_max)) {
    PAWL_TRY(check_labels(request));
  } else {
    PAWL_TRY(check_request(request, state_bytes_max));
  }
  return writer.save(request);
}

Result<Saved> checked_change(RunWriter& writer, const SaveRequest& request, std::span<const Splice> change) {
  PAWL_TRY(check_labels(request));
  return writer.save_change(request, change);
}

Result<std::string> checked_post(Store& store, const RunId& run, std::string_view body) {
  PAWL_TRY(check_document("message", body, kMessageBytesMax));
  return store.post(run, one_line(trim_json(body)));
}

}  // namespace pawl
