// Reads typed values from a workflow file. If a value is invalid, a reader adds an error and returns nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/workflow.hpp"
#include "workflow/language.hpp"
#include "workflow/names.hpp"
#include "yaml/source_lines.hpp"
#include "yaml/yaml_tree.hpp"

namespace pawl {

/// A map in the file with the keys of `object`. Other keys are errors with a suggestion.
class Fields {
 public:
  Fields(const YamlNode& node, const LanguageObject& object, std::string_view what, Faults& faults);
  /// Returns null if the key is missing.
  [[nodiscard]] const YamlNode* find(std::string_view key) const { return map_ ? node_.find(key) : nullptr; }
  /// The same, for a key that exists.
  [[nodiscard]] YamlPtr share(std::string_view key) const;
  [[nodiscard]] Place place_of(std::string_view key) const;
  [[nodiscard]] bool is_map() const { return map_; }
  [[nodiscard]] Place place() const { return node_.place; }
  /// Returns whether an unknown key of the map is another tool's name for this one.
  [[nodiscard]] bool meant(std::string_view key) const;

 private:
  const YamlNode& node_;
  bool map_;
  std::vector<std::string> meant_;
};

class Reader {
 public:
  /// `vars` are the declared variables.
  Reader(Faults& faults, const SourceLines& lines, std::vector<std::string> vars)
      : faults_(faults), lines_(lines), vars_(std::move(vars)) {}

  // Plain values. `key` is used in messages.
  [[nodiscard]] std::optional<std::string> text(const YamlNode& node, std::string_view key) const;
  /// Reads a list of texts, or one text.
  [[nodiscard]] std::vector<std::pair<std::string, Place>> texts(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] std::optional<std::uint64_t> whole(const YamlNode& node, std::string_view key, std::uint64_t least,
                                                   std::uint64_t most) const;
  [[nodiscard]] std::optional<double> number(const YamlNode& node, std::string_view key, double least,
                                             double most) const;
  [[nodiscard]] std::optional<Milliseconds> duration(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] std::optional<std::uint64_t> size_bytes(const YamlNode& node, std::string_view key) const;
  /// Returns the index of the word in `words`.
  [[nodiscard]] std::optional<std::size_t> word(const YamlNode& node, std::string_view key,
                                                const std::vector<std::string>& words) const;

  // Texts that contain names, checked against `view`.
  [[nodiscard]] std::optional<TextTemplate> text_template(const YamlNode& node, std::string_view key, const View& view,
                                                          TextTemplate::Unknown unknown) const;
  [[nodiscard]] std::optional<Expression> expression(const YamlNode& node, std::string_view key,
                                                     const View& view) const;
  [[nodiscard]] std::optional<ValueTemplate> value(const YamlNode& node, const View& view,
                                                   ValueTemplate::Form form = ValueTemplate::Form::value) const;
  [[nodiscard]] std::optional<ShellCommand> command(const YamlNode& node, std::string_view key, Shell shell,
                                                    const View& view) const;
  [[nodiscard]] EnvTemplates env(const YamlNode& node, const View& view) const;

  /// Returns the node to read if the setting is a constant. Otherwise adds the setting to `computed`, or an error.
  [[nodiscard]] std::optional<YamlNode> constant(const YamlNode& node, Setting setting, const View& view,
                                                 std::vector<ComputedSetting>& computed) const;
  // Reads a constant or computed setting.
  void duration_setting(const YamlNode* node, Setting setting, const View& view, std::vector<ComputedSetting>& computed,
                        std::optional<Milliseconds>& value) const;
  void whole_setting(const YamlNode* node, Setting setting, const View& view, std::vector<ComputedSetting>& computed,
                     std::uint32_t& value) const;
  [[nodiscard]] std::optional<double> number_setting(const YamlNode* node, Setting setting, const View& view,
                                                     std::vector<ComputedSetting>& computed) const;

  /// Adds an error if the duration is constant and invalid.
  void check_sleep(const YamlNode& node, const TextTemplate& sleep) const;

  [[nodiscard]] Faults& faults() const { return faults_; }

 private:
  void refuse(const YamlNode& node, std::string_view key, std::string_view expected, std::string hint = {}) const;
  void check_references(const YamlNode& node, const TextTemplate& text, const View& view) const;
  void check_stable(const YamlNode& node, std::string_view key, const TextTemplate& text) const;
  void add_inner(const YamlNode& node, const Error& error, std::size_t shift) const;
  void check_value(const YamlNode& node, const View& view) const;

  Faults& faults_;
  const SourceLines& lines_;
  std::vector<std::string> vars_;
};

}  // namespace pawl
