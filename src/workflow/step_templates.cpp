#include "workflow/step_templates.hpp"

#include <algorithm>
#include <charconv>

#include "text/suggest.hpp"
#include "workflow/names.hpp"

namespace pawl {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kFilesMax = 100;
constexpr std::string_view kHeading = "# templates of ";
constexpr std::string_view kLineMark = "#|";

std::string as_comments(const std::string& name, std::string_view text) {
  std::string all = fmt::format("{}{} ({} bytes)\n", kHeading, name, text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all += fmt::format("{}{}\n", kLineMark, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

/// Returns the file that the comments at the end of a recorded workflow contain.
std::optional<std::string> from_comments(std::string_view workflow, const std::string& name) {
  const std::string heading = fmt::format("\n{}{} (", kHeading, name);
  const std::size_t at = workflow.rfind(heading);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = workflow.substr(at + heading.size());
  std::size_t size = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), size).ec != std::errc()) return std::nullopt;
  rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  std::string text;
  while (rest.starts_with(kLineMark)) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += std::string(rest.substr(kLineMark.size(), end - kLineMark.size())) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (text.size() < size) return std::nullopt;
  text.resize(size);
  return text;
}

/// Removes `./`, so that one file has one name.
std::string plain_path(std::string path) {
  while (path.starts_with("./")) path.erase(0, path.find_first_not_of('/', 1));
  return path;
}

/// The step's own keys replace those of the template.
YamlPtr merged(const YamlNode& step, const YamlNode& definition) {
  auto made = std::make_shared<YamlNode>();
  made->kind = YamlNode::Kind::map;
  made->place = step.place;
  for (const YamlMember& member : step.members) {
    if (member.key != "use" && member.key != "with") made->members.push_back(member);
  }
  for (const YamlMember& member : definition.members) {
    if (member.key != "inputs" && made->find(member.key) == nullptr) made->members.push_back(member);
  }
  return made;
}

std::vector<std::string> keys_of(const YamlNode& map) {
  std::vector<std::string> keys;
  for (const YamlMember& member : map.members) keys.push_back(member.key);
  return keys;
}

}  // namespace

std::optional<TemplateUse> StepTemplates::find(const YamlPtr& step) {
  const YamlNode& use = *step->find("use");
  if (use.place.file > 0) {
    faults_.add(use.place, "a template can't use another template", "copy the keys of that template");
    return {};
  }
  const std::size_t hash = use.is_scalar() ? use.text.rfind('#') : std::string::npos;
  const bool printable = std::ranges::none_of(use.text, [](char c) { return c >= 0 && c < 0x20; });
  if (hash == std::string::npos || hash == 0 || hash + 1 == use.text.size() || !printable) {
    faults_.add(use.place,
                fmt::format("'use' must name a template, not {}",
                            use.is_scalar() ? fmt::format("'{}'", use.text.substr(0, 60)) : kind_text(use)),
                use.text.find_first_of("./") == std::string::npos && use.is_scalar()
                    ? "write use: ./steps.yaml#NAME; for a limit write uses: [NAME]"
                    : "write use: ./steps.yaml#NAME");
    return {};
  }
  const File& file = open(plain_path(use.text.substr(0, hash)), use.place);
  if (file.templates == nullptr) return {};
  const std::string name = use.text.substr(hash + 1);
  const auto found = std::ranges::find(file.templates->members, name, &YamlMember::key);
  if (found == file.templates->members.end()) {
    const std::vector<std::string> known = keys_of(*file.templates);
    faults_.add(use.place, fmt::format("'{}' has no template '{}'", file.name, name.substr(0, 100)),
                did_you_mean(name, known, "templates in it: " + one_of(known)));
    return {};
  }
  const std::size_t before = faults_.size();
  if (checked_.insert(found->value.get()).second) check_definition(*found->value, name);
  if (faults_.size() != before || !found->value->is_map()) return {};
  return TemplateUse{.text = use.text,
                     .place = use.place,
                     .merged = merged(*step, *found->value),
                     .step = step,
                     .definition = found->value,
                     .with = step->find("with")};
}

void StepTemplates::check_definition(const YamlNode& definition, const std::string& name) {
  if (!definition.is_map()) {
    faults_.add(definition.place, fmt::format("the template '{}' must be a map, not {}", name, kind_text(definition)),
                "write for example: { inputs: { path: null }, run: \"./lint.sh ${inputs.path}\" }");
    return;
  }
  for (const YamlMember& member : definition.members) {
    if (member.key == "id" || member.key == "needs") {
      faults_.add(member.key_place, fmt::format("a template can't have '{}'", member.key),
                  "write it into the step that uses the template");
    } else if (member.key == "use") {
      faults_.add(member.key_place, "a template can't use another template", "copy the keys of that template");
    } else if (member.key == "inputs" && !member.value->is_map()) {
      faults_.add(member.value->place, fmt::format("'inputs' must be a map, not {}", kind_text(*member.value)),
                  "write inputs: { path: null }; null means that the step must give it");
    } else if (member.key == "inputs") {
      for (const YamlMember& input : member.value->members) {
        if (!is_step_id(input.key))
          faults_.add(input.key_place, fmt::format("invalid name of an input: '{}'", input.key.substr(0, 100)),
                      "use a letter, then letters, digits, '_' or '-'; at most 64 characters");
      }
    }
  }
}

const StepTemplates::File& StepTemplates::open(const std::string& name, Place place) {
  if (const auto known = files_.find(name); known != files_.end()) return *known->second;
  File& file = *(files_[name] = std::make_unique<File>());
  file.name = name;
  if (files_.size() > kFilesMax) {
    faults_.add(place, fmt::format("more than {} files of templates", kFilesMax),
                "put several templates into one file");
    return file;
  }
  auto text = read(name, place);
  if (!text) return file;
  file.text = std::move(*text);
  const std::uint32_t number = faults_.add_file(name);
  lines_.add(file.text);
  const std::size_t before = faults_.size();
  file.root = read_yaml_file(file.text, number, faults_);
  const YamlNode* templates = file.root == nullptr ? nullptr : file.root->find("templates");
  if (faults_.size() != before) return file;
  const Place top = file.root == nullptr ? Place{1, 1, number} : file.root->place;
  if (templates == nullptr || !templates->is_map()) {
    faults_.add(templates == nullptr ? top : templates->place, "a file of templates requires the map 'templates'",
                "write templates: { NAME: { run: ... } }");
    return file;
  }
  for (const YamlMember& member : file.root->members) {
    if (member.key != "templates" && !member.key.starts_with("x-"))
      faults_.add(member.key_place, fmt::format("unknown key '{}' in a file of templates", member.key.substr(0, 100)),
                  "its only key is 'templates'");
  }
  file.templates = templates;
  return file;
}

std::optional<std::string> StepTemplates::read(const std::string& name, Place place) {
  if (!source_.read) {
    auto recorded = from_comments(source_.text, name);
    if (!recorded)
      faults_.add(place, fmt::format("the templates in '{}' can't be read here", name),
                  "templates require a workflow file; write the keys of the template into the step");
    return recorded;
  }
  const std::string folder = source_.file.substr(0, source_.file.find_last_of('/') + 1);
  auto text = source_.read(name.starts_with('/') ? name : folder + name);
  if (!text) {
    faults_.add(place, fmt::format("the templates in '{}' can't be read: {}", name, text.error().message),
                "the path is relative to the folder of the workflow file");
    return {};
  }
  if (text->size() > kFileBytesMax) {
    faults_.add(place, fmt::format("'{}' has {} bytes, more than {} MiB", name, text->size(), kFileBytesMax >> 20U),
                "split the file");
    return {};
  }
  return std::move(*text);
}

std::string StepTemplates::comments() const {
  if (!source_.read) return {};
  std::string all;
  for (const auto& [name, file] : files_) all += as_comments(name, file->text);
  if (all.empty()) return all;
  return (source_.text.ends_with('\n') ? "\n" : "\n\n") + all;
}

}  // namespace pawl
