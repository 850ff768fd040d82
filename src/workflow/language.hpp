// The keys of workflow files. The check for unknown keys and the JSON Schema are based on this table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct LanguageKey {
  std::string_view name;
  std::string_view schema;  // JSON, without the description
  std::string_view text;    // description for people and editors
};

struct LanguageObject {
  std::string_view name;  // in the schema's $defs; the first one is the document
  std::string_view text;
  std::span<const LanguageKey> keys;
  std::string_view also;  // additional members of its schema, as JSON: required, oneOf
};

namespace language {
extern const LanguageObject kWorkflow;
extern const LanguageObject kStep;
extern const LanguageObject kStage;
extern const LanguageObject kRetry;
extern const LanguageObject kBudget;
extern const LanguageObject kCheckpoint;
extern const LanguageObject kLoop;
extern const LanguageObject kMap;
extern const LanguageObject kCircuitBreaker;
extern const LanguageObject kWaitFor;
extern const LanguageObject kCapture;
extern const LanguageObject kConfidence;
extern const LanguageObject kLimit;
extern const LanguageObject kCache;
}  // namespace language

[[nodiscard]] std::span<const LanguageObject* const> language_objects();
[[nodiscard]] std::vector<std::string> key_names(const LanguageObject& object);

/// The keys that say what a step does. A step has exactly one of them.
[[nodiscard]] std::span<const std::string_view> kind_keys();

}  // namespace pawl
