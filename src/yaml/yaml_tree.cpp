#include "yaml/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "text/utf8.hpp"
#include "yaml/yaml_messages.hpp"

namespace pawl {
namespace {

constexpr std::size_t kTextBytesMax = 4U << 20;
constexpr std::size_t kScalarBytesMax = 8U << 20;
constexpr std::size_t kNodesMax = 100'000;
constexpr std::size_t kHeightMax = 64;

Place place_of(const YAML::Mark& mark) {
  if (mark.is_null() || mark.line < 0 || mark.column < 0) return {};
  return {static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

/// Builds the tree. After a limit was exceeded, it ignores the rest.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(Faults& faults, std::uint32_t file) : faults_(faults), file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 1) {
      faults_.add(at(mark), "a second document begins here",
                  "a file contains one document: remove the '---', or move the rest to another file");
      stopped_ = true;
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(make(mark, YamlNode::Kind::null), anchor); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const auto node = make(mark, YamlNode::Kind::scalar);
    node->text = value;
    node->bytes = value.size();
    check_tag(tag, node->place);
    node->style = tag == "!" || tag == "tag:yaml.org,2002:str" ? YamlNode::Style::quoted : YamlNode::Style::plain;
    last_scalar_ = node->place;
    add(node, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (stopped_) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      stop(at(mark), "an alias refers to a value that contains it");
    } else {
      attach(found->second, at(mark));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] std::size_t documents() const { return documents_; }
  [[nodiscard]] YamlPtr root() const { return root_; }
  [[nodiscard]] Place last_scalar() const { return last_scalar_; }

 private:
  struct Frame {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = 0;
    std::optional<std::pair<std::string, Place>> key;  // of a map: the key whose value comes next
    std::unordered_map<std::string, Place> seen;
    std::vector<YamlPtr> merged;
  };

  [[nodiscard]] Place at(const YAML::Mark& mark) const {
    Place place = place_of(mark);
    place.file = file_;
    return place;
  }

  [[nodiscard]] std::shared_ptr<YamlNode> make(const YAML::Mark& mark, YamlNode::Kind kind) const {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->place = at(mark);
    return node;
  }

  void stop(Place place, std::string message, std::string hint = {}) {
    faults_.add(place, std::move(message), std::move(hint));
    stopped_ = true;
  }

  void check_tag(const std::string& tag, Place place) {
    if (stopped_ || tag.empty() || tag == "?" || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return;
    faults_.add(place, fmt::format("unknown tag '{}'", tag), "remove the tag");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (stopped_) return;
    check_tag(tag, at(mark));
    if (frames_.size() + 1 >= kHeightMax) {
      return stop(at(mark), fmt::format("the file is nested more than {} levels deep", kHeightMax));
    }
    Frame frame;
    frame.node = make(mark, kind);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    if (stopped_ || frames_.empty()) return;
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const YamlPtr& merged : frame.merged) merge(frame, *merged);
    if (stopped_) return;
    add(frame.node, frame.anchor);
  }

  void add(const std::shared_ptr<YamlNode>& node, YAML::anchor_t anchor) {
    if (stopped_) return;
    if (anchor != 0) anchors_[anchor] = node;
    attach(node, node->place);
  }

  void attach(const YamlPtr& node, Place place) {
    if (frames_.empty()) {
      root_ = node;
      return;
    }
    Frame& frame = frames_.back();
    YamlNode& parent = *frame.node;
    if (parent.kind == YamlNode::Kind::map && !frame.key) return take_key(frame, *node, place);
    if (!grow(parent, *node, place)) return;
    if (parent.kind == YamlNode::Kind::list) {
      parent.items.push_back(node);
      return;
    }
    auto [key, key_place] = *std::exchange(frame.key, std::nullopt);
    if (key == "<<") return take_merge(frame, node, key_place);
    const auto [seen, fresh] = frame.seen.emplace(key, key_place);
    if (!fresh) {
      faults_.add(
          key_place,
          fmt::format("duplicate key '{}': first on line {}, again on line {}", key, seen->second.line, key_place.line),
          "remove one of them");
      return;
    }
    parent.members.push_back({std::move(key), key_place, node});
  }

  void take_key(Frame& frame, const YamlNode& node, Place place) {
    if (node.is_list() || node.is_map()) {
      faults_.add(place, "a key must be text, not a list or a map", "quote text that begins with '[', '{' or '?'");
      frame.key = std::pair(std::string("?"), place);
      return;
    }
    frame.key = std::pair(node.is_null() ? std::string("null") : node.text, place);
  }

  void take_merge(Frame& frame, const YamlPtr& node, Place place) {
    if (node->is_map()) {
      frame.merged.push_back(node);
      return;
    }
    const bool maps = node->is_list() && std::all_of(node->items.begin(), node->items.end(),
                                                     [](const YamlPtr& item) { return item->is_map(); });
    if (!maps) {
      faults_.add(place, "'<<' merges maps only", "write '<<: *name' with the anchor of a map, or a list of them");
      return;
    }
    frame.merged.insert(frame.merged.end(), node->items.begin(), node->items.end());
  }

  /// Existing keys override merged ones.
  void merge(Frame& frame, const YamlNode& from) {
    for (const YamlMember& member : from.members) {
      if (!frame.seen.emplace(member.key, member.key_place).second) continue;
      if (!grow(*frame.node, *member.value, frame.node->place)) return;
      frame.node->members.push_back(member);
    }
  }

  bool grow(YamlNode& parent, const YamlNode& child, Place place) {
    parent.nodes += child.nodes;
    parent.bytes += child.bytes;
    parent.height = std::max(parent.height, child.height + 1);
    if (parent.nodes > kNodesMax || parent.bytes > kScalarBytesMax) {
      stop(place, "the file is too large when its aliases are expanded",
           fmt::format("at most {} values and {} MiB of text", kNodesMax, kScalarBytesMax >> 20U));
    } else if (parent.height + frames_.size() > kHeightMax) {
      stop(place, fmt::format("the file is nested more than {} levels deep", kHeightMax));
    }
    return !stopped_;
  }

  Faults& faults_;
  const std::uint32_t file_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, YamlPtr> anchors_;
  YamlPtr root_;
  std::size_t documents_ = 0;
  Place last_scalar_;
  bool stopped_ = false;
};

/// Returns the place of the first byte that YAML does not allow, if any.
bool check_characters(std::string_view text, Faults& faults) {
  Place place{1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = first_code_point(text.substr(i));
    if (point.size == 0) {
      faults.add(place, "the file is not valid UTF-8", "convert it: iconv -f latin1 -t utf-8 FILE");
      return false;
    }
    const bool control = (point.value < 0x20 && point.value != '\t' && point.value != '\n' && point.value != '\r') ||
                         point.value == 0x7F;
    if (control) {
      faults.add(place, fmt::format("the character U+{:04X} is not allowed in YAML", point.value),
                 "remove it, or write it as an escape in double quotes");
      return false;
    }
    i += point.size;
    place = point.value == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + point.size};
  }
  return true;
}

/// Returns the nearest tab in the leading white space of the lines up to `last` (from 1).
std::optional<Place> indenting_tab(std::string_view text, std::size_t last) {
  std::optional<Place> found;
  std::size_t line = 1;
  std::size_t begin = 0;
  while (begin <= text.size() && line <= last) {
    const std::size_t first = text.find_first_not_of(' ', begin);
    if (first != std::string_view::npos && text[first] == '\t') found = Place{line, first - begin + 1};
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    begin = end + 1;
    ++line;
  }
  return found;
}

/// Returns whether a quoted text starts at the place and is not closed. The parser takes the end of the file for its
/// end.
bool is_open_quote(std::string_view text, Place place) {
  std::size_t at = 0;
  for (std::size_t line = 1; line < place.line; ++line) {
    at = text.find('\n', at);
    if (at++ == std::string_view::npos) return false;
  }
  at += place.column - 1;
  if (place.line == 0 || at >= text.size() || (text[at] != '"' && text[at] != '\'')) return false;
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 >= text.size() || text[at + 1] != quote) return false;
      ++at;  // '' stands for a quote inside
    }
  }
  return true;
}

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// Returns whether the line has `${` without quotes inside `{ }` or `[ ]`, where its braces end the value.
bool has_bare_expression_in_flow(std::string_view line) {
  char quote = 0;
  bool in_flow = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '$' && at + 1 < line.size() && line[at + 1] == '{') {
      if (in_flow) return true;
      ++at;
    } else if (c == '{' || c == '[') {
      in_flow = true;
    }
  }
  return false;
}

/// Corrects the parser's idea of what is wrong where the line shows it.
YamlProblem problem_at(std::string_view raw, std::string_view text, std::size_t line) {
  const bool is_flow = raw.find("flow") != std::string_view::npos;
  for (std::size_t at = line > 1 ? line - 1 : line; is_flow && at <= line; ++at) {
    if (has_bare_expression_in_flow(line_of(text, at)))
      return {"a value with ${ } inside { } or [ ] is not in quotes", "put it in quotes: { items: \"${vars.list}\" }"};
  }
  const std::string_view shown = line_of(text, line);
  const std::size_t first = shown.find_first_not_of(' ');
  const bool is_item = first != std::string_view::npos && shown[first] == '-';
  if (raw.starts_with("end of sequence not found") && first != std::string_view::npos && !is_item)
    return explain_yaml_error("end of map not found");
  return explain_yaml_error(raw);
}

void add_syntax_fault(std::string_view text, const YAML::Exception& exception, Faults& faults) {
  const Place place = place_of(exception.mark);
  constexpr std::size_t kLinesLookedBack = 3;  // the parser reports a place a little after the tab
  const auto tab = indenting_tab(text, place.line);
  if (tab && tab->line + kLinesLookedBack >= place.line) {
    faults.add(*tab, "tab in the indentation", "YAML requires spaces: replace the tab");
    return;
  }
  const YamlProblem problem = problem_at(exception.msg, text, place.line);
  faults.add(place, std::string(problem.message), std::string(problem.hint));
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.key == key; });
  return found == members.end() ? nullptr : found->value.get();
}

YamlPtr read_yaml(std::string_view text, Faults& faults) {
  const std::size_t before = faults.size();
  YamlPtr root = read_yaml_or_nothing(text, faults);
  if (root == nullptr && faults.size() == before)
    faults.add({1, 1}, "the file is empty", "a workflow requires 'steps:' with at least one step");
  return root;
}

namespace {

YamlPtr read_document(std::string_view text, std::uint32_t file, Faults& faults) {
  if (text.size() > kTextBytesMax) {
    faults.add({}, fmt::format("the file has {} bytes, more than {} MiB", text.size(), kTextBytesMax >> 20U),
               "keep data in separate files: 'items_from' reads JSON Lines");
    return nullptr;
  }
  if (!check_characters(text, faults)) return nullptr;
  TreeBuilder builder(faults, file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!builder.stopped() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    if (!builder.stopped()) add_syntax_fault(text, exception, faults);
    return nullptr;
  } catch (const std::exception& exception) {
    faults.add({}, "the file can't be read", exception.what());
    return nullptr;
  }
  if (!builder.stopped() && is_open_quote(text, builder.last_scalar())) {
    const YamlProblem problem = explain_yaml_error("illegal EOF in scalar");
    faults.add(builder.last_scalar(), std::string(problem.message), std::string(problem.hint));
    return nullptr;
  }
  if (builder.stopped() && builder.documents() < 2) return nullptr;
  return builder.root() == nullptr || builder.root()->is_null() ? nullptr : builder.root();
}

}  // namespace

YamlPtr read_yaml_or_nothing(std::string_view text, Faults& faults) { return read_document(text, 0, faults); }

YamlPtr read_yaml_file(std::string_view text, std::uint32_t file, Faults& faults) {
  Faults inner("");
  for (std::uint32_t i = 0; i < file; ++i) static_cast<void>(inner.add_file(""));
  YamlPtr root = read_document(text, file, inner);
  for (WorkflowFault& fault : inner.take()) {
    fault.place.file = file;
    faults.add(fault.error.code, fault.place, std::move(fault.error.message), std::move(fault.error.hint));
  }
  return root;
}

}  // namespace pawl
