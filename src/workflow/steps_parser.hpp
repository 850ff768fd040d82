// Parses lists of steps: ids, order, names and what each step does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workflow/honoured_keys.hpp"
#include "workflow/reader.hpp"
#include "workflow/step_templates.hpp"

namespace pawl {

/// A step of a list that has not been read yet.
struct StepEntry {
  YamlPtr node;  // null for an empty barrier
  std::size_t stage = 0;
  std::string given_id;  // the id of a reduce step or barrier, which the file does not contain
  Place place;
  std::optional<TemplateUse> use = {};
};

struct ParsedSteps {
  std::shared_ptr<const Steps> steps;
  std::shared_ptr<const Scope> scope;
};

class StepsParser {
 public:
  static constexpr std::size_t kStepsMax = 10'000;

  /// What steps inherit: settings of the workflow, and aliases that are already used.
  struct Inherited {
    RetrySettings retry;
    Shell shell = Shell::sh;
    std::map<std::string, Place, std::less<>> aliases;
    std::size_t steps_left = kStepsMax;
    std::vector<Limit> limits = {};
    StepTemplates* templates = nullptr;  // may be null: steps can't use templates
    Unhonoured unhonoured = Unhonoured::refuse;
  };

  StepsParser(const Reader& reader, Inherited inherited) : reader_(reader), inherited_(std::move(inherited)) {}

  /// Parses the list `node`, as seen from `outer`. The steps are null if it is not a list or empty.
  [[nodiscard]] ParsedSteps parse(const YamlNode& node, std::string_view key, const View& outer);
  /// The same for entries from several lists (`stages`).
  [[nodiscard]] ParsedSteps parse(const std::vector<StepEntry>& entries, const std::vector<Stage>& stages,
                                  const View& outer);
  /// Parses steps that follow `siblings`. The result contains only the new ones.
  [[nodiscard]] ParsedSteps parse_added(const std::vector<StepEntry>& entries, const Steps& siblings, std::size_t after,
                                        const View& outer);
  [[nodiscard]] RetrySettings retry(const YamlNode& node, const View& view) const;
  /// Returns the names of `uses`, added to those of the view.
  [[nodiscard]] std::vector<std::string> uses(const YamlNode* node, const View& view) const;

 private:
  struct Outline {
    std::vector<StepEntry> entries;
    std::vector<OrderEntry> order;
    std::shared_ptr<Scope> scope = std::make_shared<Scope>();
  };

  [[nodiscard]] std::vector<StepEntry> entries_of(const YamlNode& node);
  void outline(Outline& outline, const std::vector<StepEntry>& entries);
  void outline_step(Outline& outline, StepEntry entry);
  [[nodiscard]] bool expand(StepEntry& entry);
  [[nodiscard]] std::string step_id(const StepEntry& entry, std::size_t position) const;
  void declare_alias(Outline& outline, const YamlNode& step, std::size_t index);
  [[nodiscard]] ParsedSteps finish(const Outline& outline, const std::vector<Stage>& stages, std::size_t first,
                                   const View& outer);

  [[nodiscard]] Step step(const StepEntry& entry, const std::string& id, const View& view);
  [[nodiscard]] View inside_template(const TemplateUse& use, const View& view) const;
  void settings(Step& step, const Fields& fields, const View& view);
  void consequences(Step& step, const Fields& fields, const View& view);
  [[nodiscard]] Capture capture(const Fields& fields, const Work& work) const;
  [[nodiscard]] std::optional<std::string_view> kind(const Fields& fields) const;
  void timeouts(Step& step, const Fields& fields, const View& view) const;
  void cache(Step& step, const YamlNode& node, const View& view) const;
  void exit_codes(const Fields& retry, std::string_view key, std::optional<std::vector<int>>& codes) const;
  [[nodiscard]] Work work(std::string_view kind, const Fields& fields, const View& view);
  [[nodiscard]] Work run_command(const YamlNode& node, const Fields& fields, const View& view) const;
  [[nodiscard]] Work call(std::string_view kind, const YamlNode& node, const Fields& fields, const View& view) const;
  [[nodiscard]] Work wait_for(const YamlNode& node, const View& view);
  [[nodiscard]] Work loop(const YamlNode& node, const Fields& fields, const View& view);
  [[nodiscard]] Work map(const YamlNode& node, const Fields& fields, const View& view);
  void map_items(Map& map, const Fields& settings, const View& view) const;
  void map_matrix(Map& map, const YamlNode& matrix, const View& view) const;
  void max_failures(Map& map, const YamlNode& node, const View& view);
  [[nodiscard]] CircuitBreaker circuit_breaker(const YamlNode& node, const View& view);

  const Reader& reader_;
  Inherited inherited_;
  std::vector<ComputedSetting> computed_;  // of the action that is being read
};

}  // namespace pawl
