#include "workflow/reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "language/foreign_syntax.hpp"
#include "text/size_words.hpp"
#include "text/suggest.hpp"
#include "text/utf8.hpp"
#include "workflow/habits.hpp"

namespace pawl {
namespace {

/// Where a key belongs that exists elsewhere in the language.
std::string home_of(std::string_view key) {
  using namespace language;
  for (const LanguageObject* object : {&kWorkflow, &kStep, &kMap, &kLoop, &kRetry, &kCheckpoint, &kBudget, &kLimit}) {
    const std::vector<std::string> keys = key_names(*object);
    if (std::ranges::find(keys, key) == keys.end()) continue;
    if (object == &kWorkflow) return fmt::format("'{}' belongs to the top level of the file", key);
    if (object == &kStep) return fmt::format("'{}' belongs to a step", key);
    return fmt::format("'{}' belongs into '{}'", key, object == &kLimit ? "limits" : object->name);
  }
  return {};
}

std::string key_hint(std::string_view key, const KeyHabit& habit, const LanguageObject& object) {
  const std::vector<std::string> known = key_names(object);
  const bool fits = habit.ours.empty() || std::ranges::find(known, habit.ours) != known.end();
  if (!habit.hint.empty() && fits) return habit.hint;
  const std::string elsewhere = suggest(key, known).empty() ? home_of(key) : std::string();
  return did_you_mean(key, known, elsewhere.empty() ? "known keys: " + one_of(known) : elsewhere);
}

/// "column 7" and "line 2, column 7" of the errors of expressions, templates and commands.
std::pair<std::size_t, std::size_t> parse_where(std::string_view where) {
  const auto number_behind = [&](std::string_view word) {
    std::size_t value = 0;
    const std::size_t at = where.find(word);
    if (at != std::string_view::npos) {
      const std::string_view rest = where.substr(at + word.size());
      std::from_chars(rest.data(), rest.data() + rest.size(), value);
    }
    return value;
  };
  return {number_behind("line "), number_behind("column ")};
}

std::size_t offset_of(std::string_view text, std::size_t line, std::size_t column) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  // Columns count code points, from 1.
  for (; column > 1 && begin < text.size(); --column) {
    do ++begin;
    while (begin < text.size() && is_utf8_continuation(text[begin]));
  }
  return begin;
}

/// `${a} > 1` means the expression `(a) > 1`; values are never inserted as text. Columns stay the same.
std::string without_braces(std::string text) {
  char quote = 0;
  std::size_t open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '$' && i + 1 < text.size() && text[i + 1] == '{') {
      text[i] = ' ';
      text[++i] = '(';
      ++open;
    } else if (c == '}' && open > 0) {
      text[i] = ')';
      --open;
    }
  }
  return text;
}

}  // namespace

Fields::Fields(const YamlNode& node, const LanguageObject& object, std::string_view what, Faults& faults)
    : node_(node), map_(node.is_map()) {
  if (!map_) {
    faults.add(node.place, fmt::format("{} must be a map, not {}", what, kind_text(node)),
               fmt::format("its keys: {}", one_of(key_names(object))));
    return;
  }
  for (const YamlMember& member : node.members) {
    const bool known = std::any_of(object.keys.begin(), object.keys.end(),
                                   [&](const LanguageKey& key) { return key.name == member.key; });
    // As in Compose: keys that start with x- can contain anchors.
    const bool extension = &object == &language::kWorkflow && member.key.starts_with("x-");
    if (known || extension) continue;
    const std::string_view value = member.value->is_scalar() ? std::string_view(member.value->text) : "";
    const KeyHabit habit = key_habit(member.key, value);
    if (!habit.ours.empty()) meant_.emplace_back(habit.ours);
    faults.add(member.key_place, fmt::format("unknown key '{}' in {}", member.key.substr(0, 100), what),
               key_hint(member.key, habit, object));
  }
}

bool Fields::meant(std::string_view key) const { return std::ranges::find(meant_, key) != meant_.end(); }

YamlPtr Fields::share(std::string_view key) const {
  return std::ranges::find(node_.members, key, &YamlMember::key)->value;
}

Place Fields::place_of(std::string_view key) const {
  for (const YamlMember& member : node_.members) {
    if (member.key == key) return member.key_place;
  }
  return node_.place;
}

void Reader::refuse(const YamlNode& node, std::string_view key, std::string_view expected, std::string hint) const {
  const std::string shown = node.is_scalar() ? fmt::format("'{}'", node.text.substr(0, 60)) : kind_text(node);
  faults_.add(node.place, fmt::format("'{}' must be {}, not {}", key, expected, shown), std::move(hint));
}

namespace {

std::string_view what_to_write(std::string_view key) {
  if (key == "approve") return "write the question to ask";
  if (key == "run") return "write the command to run";
  if (key == "wait_for") return "write the name of the signal";
  return "write a text, or remove the key";
}

}  // namespace

std::optional<std::string> Reader::text(const YamlNode& node, std::string_view key) const {
  if (!node.is_scalar()) {
    refuse(node, key, "a text",
           key == "notify" ? "write one command: notify: ./tell.sh"
           : node.is_map() ? "put text that contains ': ' or begins with '{' in quotes"
           : key == "run"  ? "write one text; several lines with run: |"
                           : "");
    return {};
  }
  if (is_blank(node.text)) {
    const char sign = lines_.character_at(node.place);
    if (node.style == YamlNode::Style::quoted && (sign == '|' || sign == '>')) {
      faults_.add(node.place, fmt::format("'{}' is empty", key),
                  fmt::format("indent the text below '{}' more than '{}'", sign, key));
      return {};
    }
    faults_.add(node.place, fmt::format("'{}' is empty", key), std::string(what_to_write(key)));
    return {};
  }
  return node.text;
}

std::vector<std::pair<std::string, Place>> Reader::texts(const YamlNode& node, std::string_view key) const {
  std::vector<std::pair<std::string, Place>> found;
  if (!node.is_list()) {
    if (const auto one = text(node, key)) found.emplace_back(*one, node.place);
    return found;
  }
  for (const YamlPtr& item : node.items) {
    if (const auto one = text(*item, key)) found.emplace_back(*one, item->place);
  }
  return found;
}

std::optional<bool> Reader::boolean(const YamlNode& node, std::string_view key) const {
  const Json value = node.is_scalar() ? to_json(node, faults_) : Json();
  if (value.is_boolean()) return value.get<bool>();
  const bool yes = node.text == "yes" || node.text == "on" || node.text == "True";
  refuse(node, key, "true or false", fmt::format("write {}: {}", key, yes ? "true" : "false"));
  return {};
}

std::optional<std::uint64_t> Reader::whole(const YamlNode& node, std::string_view key, std::uint64_t least,
                                           std::uint64_t most) const {
  const Json value = node.is_scalar() ? to_json(node, faults_) : Json();
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0) {
    const auto number = value.get<std::uint64_t>();
    if (number >= least && number <= most) return number;
  }
  refuse(node, key, fmt::format("a whole number from {} to {}", least, most),
         fmt::format("for example {}", std::clamp<std::uint64_t>(10, least, most)));
  return {};
}

std::optional<double> Reader::number(const YamlNode& node, std::string_view key, double least, double most) const {
  const Json value = node.is_scalar() ? to_json(node, faults_) : Json();
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (number >= least && number <= most) return number;
  }
  refuse(node, key, fmt::format("a number from {} to {}", least, most));
  return {};
}

std::optional<Milliseconds> Reader::duration(const YamlNode& node, std::string_view key) const {
  if (node.is_scalar()) {
    const auto found = parse_duration(node.text);
    if (found && *found > kDurationMax) {
      refuse(node, key, fmt::format("at most {}", duration_text(kDurationMax)));
      return {};
    }
    if (found && found->count() > 0) return found;
    if (node.text.find("${") != std::string::npos) {
      refuse(node, key, "a constant duration",
             "expressions are allowed in the settings of steps; write for example 30s");
      return {};
    }
    const Json value = to_json(node, faults_);
    if (value.is_number()) {
      refuse(node, key, "a duration with a unit", fmt::format("write {}s", node.text.substr(0, 20)));
      return {};
    }
  }
  refuse(node, key, "a positive duration", "for example 200ms, 30s, 2m, 24h or 1h30m");
  return {};
}

std::optional<std::uint64_t> Reader::size_bytes(const YamlNode& node, std::string_view key) const {
  if (const auto size = parse_size(node.text)) return size;
  refuse(node, key, "a size", "for example 512MB or 2GiB");
  return {};
}

std::optional<std::size_t> Reader::word(const YamlNode& node, std::string_view key,
                                        const std::vector<std::string>& words) const {
  const auto found = std::find(words.begin(), words.end(), node.text);
  if (node.is_scalar() && found != words.end()) return static_cast<std::size_t>(found - words.begin());
  refuse(node, key, one_of(words), did_you_mean(node.text, words, fmt::format("write {}: {}", key, words.front())));
  return {};
}

void Reader::add_inner(const YamlNode& node, const Error& error, std::size_t shift) const {
  const auto [line, column] = parse_where(error.where);
  const std::size_t offset =
      shift + offset_of(std::string_view(node.text).substr(std::min(shift, node.text.size())), line, column);
  faults_.add(error.code, lines_.within(node, offset), error.message, error.hint);
}

void Reader::check_references(const YamlNode& node, const TextTemplate& text, const View& view) const {
  for (const TextTemplate::Part& part : text.parts()) {
    if (!part.expression) continue;
    for (const Expression::Reference& reference : part.expression->references()) {
      check_name(reference, view, vars_, lines_.within(node, offset_of(node.text, 1, reference.column)), faults_);
    }
  }
}

std::optional<TextTemplate> Reader::text_template(const YamlNode& node, std::string_view key, const View& view,
                                                  TextTemplate::Unknown unknown) const {
  if (!text(node, key)) return {};
  auto parsed = TextTemplate::parse(node.text, *view.names, unknown, view.inputs.get());
  if (!parsed) {
    add_inner(node, parsed.error(), 0);
    return {};
  }
  check_references(node, *parsed, view);
  return std::move(*parsed);
}

std::optional<Expression> Reader::expression(const YamlNode& node, std::string_view key, const View& view) const {
  if (!text(node, key)) return {};
  if (const auto braces = find_double_braces(node.text)) {
    faults_.add(braces->error.code, lines_.within(node, braces->offset), braces->error.message, braces->error.hint);
    return {};
  }
  std::string source = without_braces(node.text);
  std::size_t shift = 0;
  const std::size_t first = node.text.find_first_not_of(" \t\r\n");
  const std::size_t last = node.text.find_last_not_of(" \t\r\n");
  const bool lone = node.text.compare(first, 2, "${") == 0 && node.text[last] == '}' &&
                    node.text.find("${", first + 2) == std::string::npos && node.text.find('}', first) == last;
  if (lone) {
    shift = first + 2;
    source = node.text.substr(shift, last - shift);
  }
  auto parsed = Expression::parse(source, 1, view.inputs.get());
  if (!parsed) {
    add_inner(node, parsed.error(), shift);
    return {};
  }
  for (const Expression::Reference& reference : parsed->references()) {
    const std::size_t offset = shift + offset_of(std::string_view(node.text).substr(shift), 1, reference.column);
    check_name(reference, view, vars_, lines_.within(node, offset), faults_);
  }
  return std::move(*parsed);
}

/// Checks each text separately, so that errors have their exact places.
void Reader::check_value(const YamlNode& node, const View& view) const {
  if (node.is_scalar() && node.text.find("${") != std::string::npos) {
    static_cast<void>(text_template(node, "value", view, TextTemplate::Unknown::refuse));
  }
  for (const YamlPtr& item : node.items) check_value(*item, view);
  for (const YamlMember& member : node.members) check_value(*member.value, view);
}

std::optional<ValueTemplate> Reader::value(const YamlNode& node, const View& view, ValueTemplate::Form form) const {
  const std::size_t before = faults_.size();
  check_value(node, view);
  const Json json = to_json(node, faults_);
  if (faults_.size() != before) return {};
  auto parsed = ValueTemplate::parse(json, *view.names, view.inputs.get(), form);
  if (parsed) return std::move(*parsed);
  faults_.add(parsed.error().code, node.place, parsed.error().message, parsed.error().hint);
  return {};
}

std::optional<ShellCommand> Reader::command(const YamlNode& node, std::string_view key, Shell shell,
                                            const View& view) const {
  const auto parsed = text_template(node, key, view, TextTemplate::Unknown::keep);
  if (!parsed) return {};
  auto made = to_shell_command(*parsed, shell);
  if (made) return std::move(*made);
  add_inner(node, made.error(), 0);
  return {};
}

EnvTemplates Reader::env(const YamlNode& node, const View& view) const {
  EnvTemplates env;
  if (!node.is_map()) {
    refuse(node, "env", "a map", "write env: { NAME: value }");
    return env;
  }
  for (const YamlMember& member : node.members) {
    if (!is_identifier(member.key)) {
      faults_.add(member.key_place,
                  fmt::format("invalid name of an environment variable: '{}'", member.key.substr(0, 100)),
                  "use letters, digits and '_'");
    } else if (member.key.starts_with("PAWL_")) {
      faults_.add(member.key_place, fmt::format("the variable '{}' is reserved", member.key),
                  "choose a name that does not begin with PAWL_");
    } else if (member.value->is_scalar() && member.value->text.empty()) {
      env.emplace_back(member.key, TextTemplate());
    } else if (!member.value->is_scalar()) {
      refuse(*member.value, member.key, "a text", member.value->is_null() ? "write \"\" for an empty value" : "");
    } else if (auto parsed = TextTemplate::parse(member.value->text, *view.names, TextTemplate::Unknown::refuse,
                                                 view.inputs.get())) {
      check_references(*member.value, *parsed, view);
      env.emplace_back(member.key, std::move(*parsed));
    } else {
      add_inner(*member.value, parsed.error(), 0);
    }
  }
  return env;
}

void Reader::check_sleep(const YamlNode& node, const TextTemplate& sleep) const {
  if (sleep.is_constant()) static_cast<void>(duration(node, "sleep"));
}

namespace {

/// For expressions without names.
class NoNames final : public Names {
 public:
  [[nodiscard]] Result<Json> find(std::span<const PathPart> path) const override {
    return fail(Code::unknown_name, "unknown name '{}'", to_text(path));
  }
};

}  // namespace

/// A setting must have the same value after a resume.
void Reader::check_stable(const YamlNode& node, std::string_view key, const TextTemplate& text) const {
  for (const Expression::Reference& reference : text.references()) {
    const std::string name = to_text(reference.path);
    if (name != "run.attempt" && name != "env" && !name.starts_with("env.")) continue;
    const Place place = lines_.within(node, offset_of(node.text, 1, reference.column));
    faults_.add(place, fmt::format("'{}' can't use '{}': its value can change at a resume", key, name),
                "declare a variable, and pass its value with --var");
  }
}

std::optional<YamlNode> Reader::constant(const YamlNode& node, Setting setting, const View& view,
                                         std::vector<ComputedSetting>& computed) const {
  if (!node.is_scalar() || node.text.find("${") == std::string::npos) return node;
  const std::string_view key = rule_of(setting).key;
  auto parsed = text_template(node, key, view, TextTemplate::Unknown::refuse);
  if (!parsed) return {};
  if (!parsed->references().empty()) {
    check_stable(node, key, *parsed);
    computed.push_back({setting, std::move(*parsed)});
    return {};
  }
  const Result<Json> value = parsed->evaluate(NoNames());
  if (!value) {
    add_inner(node, value.error(), 0);
    return {};
  }
  YamlNode made = node;
  made.style = YamlNode::Style::plain;
  made.text = text_of(*value);
  return made;
}

void Reader::duration_setting(const YamlNode* node, Setting setting, const View& view,
                              std::vector<ComputedSetting>& computed, std::optional<Milliseconds>& value) const {
  if (node == nullptr) return;
  if (const auto given = constant(*node, setting, view, computed)) value = duration(*given, rule_of(setting).key);
}

std::optional<double> Reader::number_setting(const YamlNode* node, Setting setting, const View& view,
                                             std::vector<ComputedSetting>& computed) const {
  if (node == nullptr) return {};
  const auto given = constant(*node, setting, view, computed);
  const SettingRule& rule = rule_of(setting);
  return given ? number(*given, rule.key, rule.least, rule.most) : std::nullopt;
}

void Reader::whole_setting(const YamlNode* node, Setting setting, const View& view,
                           std::vector<ComputedSetting>& computed, std::uint32_t& value) const {
  if (node == nullptr) return;
  const auto given = constant(*node, setting, view, computed);
  const SettingRule& rule = rule_of(setting);
  if (!given) return;
  const auto number =
      whole(*given, rule.key, static_cast<std::uint64_t>(rule.least), static_cast<std::uint64_t>(rule.most));
  if (number) value = static_cast<std::uint32_t>(*number);
}

}  // namespace pawl
