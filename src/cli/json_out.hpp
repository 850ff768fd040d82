// JSON that commands print: objects in a fixed order of members, on one line.
#pragma once

#include <pawl/check.hpp>
#include <pawl/error.hpp>
#include <pawl/save.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "service/run_summary.hpp"

namespace pawl::cli {

class JsonObject {
 public:
  /// A string; invalid UTF-8 is replaced.
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, std::uint64_t value);
  JsonObject& boolean(std::string_view key, bool value);
  /// A value that is JSON already, kept verbatim; empty becomes null.
  JsonObject& raw(std::string_view key, std::string_view json);
  [[nodiscard]] std::string done() const { return "{" + members_ + "}"; }

 private:
  void begin(std::string_view key);
  std::string members_;
};

/// `[a,b]`, a line each.
[[nodiscard]] std::string json_array(const std::vector<std::string>& elements);

/// All of a run except its checkpoints, without "latest".
[[nodiscard]] JsonObject run_object(const RunInfo& run);
/// With another word for its status.
[[nodiscard]] JsonObject run_object(const RunInfo& run, std::string_view status);
/// Adds "workflow_name", "progress" (null without a workflow), "usage" and "error" (null where there is none).
void add_summary(JsonObject& object, const RunSummary& summary);
[[nodiscard]] JsonObject checkpoint_object(std::string_view run, const CheckpointInfo& info);
[[nodiscard]] std::string report_json(const CheckReport& report);
[[nodiscard]] std::string error_json(const Error& error);

[[nodiscard]] std::string_view to_text(Saved::Outcome outcome);
[[nodiscard]] std::string_view to_text(Finding::Severity severity);

}  // namespace pawl::cli
