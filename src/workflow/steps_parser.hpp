// Parses lists of steps: ids, order, names and what each step does.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workflow/reader.hpp"

namespace pawl {

/// A step of a list that has not been read yet.
struct StepEntry {
  const YamlNode* node = nullptr;  // null for an empty barrier
  std::size_t stage = 0;
  std::string given_id;  // the id of a reduce step or barrier, which the file does not contain
  Place place;
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
  [[nodiscard]] RetrySettings retry(const YamlNode& node) const;

 private:
  struct Outline {
    std::vector<StepEntry> entries;
    std::vector<OrderEntry> order;
    std::shared_ptr<Scope> scope = std::make_shared<Scope>();
  };

  [[nodiscard]] std::vector<StepEntry> entries_of(const YamlNode& node);
  void outline(Outline& outline, const std::vector<StepEntry>& entries);
  void outline_step(Outline& outline, const StepEntry& entry);
  [[nodiscard]] std::string step_id(const StepEntry& entry, std::size_t position) const;
  void declare_alias(Outline& outline, const YamlNode& step, std::size_t index);
  [[nodiscard]] ParsedSteps finish(const Outline& outline, const std::vector<Stage>& stages, std::size_t first,
                                   const View& outer);

  [[nodiscard]] Step step(const StepEntry& entry, const std::string& id, const View& view);
  void settings(Step& step, const Fields& fields, const View& view);
  void consequences(Step& step, const Fields& fields, const View& view);
  [[nodiscard]] Capture capture(const Fields& fields, const Work& work) const;
  [[nodiscard]] std::optional<std::string_view> kind(const Fields& fields) const;
  void check_companions(const Fields& fields, std::string_view kind) const;
  [[nodiscard]] Work work(std::string_view kind, const Fields& fields, const View& view);
  [[nodiscard]] Work run_command(const YamlNode& node, const Fields& fields, const View& view) const;
  [[nodiscard]] Work call(std::string_view kind, const YamlNode& node, const Fields& fields, const View& view) const;
  [[nodiscard]] Work wait_for(const YamlNode& node) const;
  [[nodiscard]] Work loop(const YamlNode& node, const Fields& fields, const View& view);
  [[nodiscard]] Work map(const YamlNode& node, const Fields& fields, const View& view);
  void map_items(Map& map, const Fields& settings, const View& view) const;
  [[nodiscard]] CircuitBreaker circuit_breaker(const YamlNode& node) const;

  const Reader& reader_;
  Inherited inherited_;
};

}  // namespace pawl
