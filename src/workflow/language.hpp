// The keys of the language: the one table behind the parser's check for unknown keys and the JSON Schema.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct LanguageKey {
  std::string_view name;
  std::string_view schema;  // JSON, without the description
  std::string_view text;    // what it is, for people and editors
};

struct LanguageObject {
  std::string_view name;  // in the schema's $defs; the first one is the document
  std::string_view text;
  std::span<const LanguageKey> keys;
  std::string_view also;  // more members of its schema, as JSON: required, oneOf
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
}  // namespace language

[[nodiscard]] std::span<const LanguageObject* const> language_objects();
[[nodiscard]] std::vector<std::string> key_names(const LanguageObject& object);

/// The keys of which a step has exactly one: what it does.
[[nodiscard]] std::span<const std::string_view> kind_keys();

}  // namespace pawl
