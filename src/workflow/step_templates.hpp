// Templates of steps: `use: ./steps.yaml#lint` with `with:`.
//
// A file of templates is YAML: `templates: { NAME: { inputs: { INPUT: DEFAULT }, run: ..., ... } }`. The step that uses
// a template has its keys, and its own keys replace them. The text of the file is part of the workflow's text, so that
// the recorded text is complete: it follows as comments.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "workflow/parse_workflow.hpp"
#include "yaml/source_lines.hpp"
#include "yaml/yaml_tree.hpp"

namespace pawl {

/// A step that uses a template.
struct TemplateUse {
  std::string text = {};           // FILE#NAME, as written
  Place place = {};                // of `use`
  YamlPtr merged = {};             // the step with the keys of the template
  YamlPtr step = {};               // as written
  YamlPtr definition = {};         // of the template
  const YamlNode* with = nullptr;  // of the step; may be null
};

class StepTemplates {
 public:
  /// Files are read by `source.read`, or else taken from the comments of `source.text`. All arguments must outlive this
  /// object. `lines` must also contain the text of `source`.
  StepTemplates(const WorkflowSource& source, SourceLines& lines, Faults& faults)
      : source_(source), lines_(lines), faults_(faults) {}

  /// Returns nothing and adds an error if the step can't use the template that it names.
  [[nodiscard]] std::optional<TemplateUse> find(const YamlPtr& step);
  /// Returns what follows the text of the workflow; empty without templates, or if the text contains them already.
  [[nodiscard]] std::string comments() const;

 private:
  struct File {
    std::string name;
    std::string text;
    YamlPtr root;
    const YamlNode* templates = nullptr;  // null if it has an error, which was reported
  };
  [[nodiscard]] const File& open(const std::string& name, Place place);
  [[nodiscard]] std::optional<std::string> read(const std::string& name, Place place);
  void check_definition(const YamlNode& definition, const std::string& name);

  const WorkflowSource& source_;
  SourceLines& lines_;
  Faults& faults_;
  std::map<std::string, std::unique_ptr<File>> files_;
  std::set<const YamlNode*> checked_;
};

}  // namespace pawl
