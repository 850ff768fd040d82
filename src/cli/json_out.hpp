// The JSON that commands print: one line per object, members in a fixed order.
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
  /// Adds a string; replaces invalid UTF-8.
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, std::uint64_t value);
  JsonObject& boolean(std::string_view key, bool value);
  /// Adds JSON text verbatim; empty text becomes null.
  JsonObject& raw(std::string_view key, std::string_view json);
  [[nodiscard]] std::string done() const { return "{" + members_ + "}"; }

 private:
  void begin(std::string_view key);
  std::string members_;
};

/// An array with one element per line.
[[nodiscard]] std::string json_array(const std::vector<std::string>& elements);

/// The fields of a run, without "latest".
[[nodiscard]] JsonObject run_object(const RunInfo& run);
/// The same, with another status.
[[nodiscard]] JsonObject run_object(const RunInfo& run, std::string_view status);
/// Adds "workflow_name", "progress" (null without a workflow), "usage" and "error" (null if there is none).
void add_summary(JsonObject& object, const RunSummary& summary);
[[nodiscard]] JsonObject checkpoint_object(std::string_view run, const CheckpointInfo& info);
[[nodiscard]] std::string report_json(const CheckReport& report);
[[nodiscard]] std::string error_json(const Error& error);

[[nodiscard]] std::string_view to_text(Saved::Outcome outcome);
[[nodiscard]] std::string_view to_text(Finding::Severity severity);

}  // namespace pawl::cli
