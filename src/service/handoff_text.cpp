// The two formats of a briefing, and how it is shortened.
#include <algorithm>

#include "service/handoff.hpp"
#include "text/display.hpp"

namespace pawl {
namespace {

std::size_t longest_run_of_backticks(std::string_view text) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

std::string render(const Briefing& briefing, const CommandText& command) {
  std::string out =
      fmt::format("# Hand-over: {}\n{}", markdown_text(briefing.title), briefing.head_lines.empty() ? "" : "\n");
  bool in_list = false;
  for (const std::string& line : briefing.head_lines) {
    const bool item = line.starts_with("- ");
    if (line.starts_with("## "))
      out += in_list ? "\n" + line + "\n" : line + "\n";
    else
      out += line + "\n" + (item ? "" : "\n");
    in_list = item;
  }
  for (const BriefingPart& part : briefing.parts) {
    if (part.entries.empty() && part.left_out == 0) continue;
    out += fmt::format("\n## {}\n", part.title);
    const std::string left_out = part.left_out == 0 ? ""
                                                    : fmt::format("- left out here: {} more; {} shows them\n",
                                                                  part.left_out, markdown_code(command(part.more)));
    if (part.order == PartOrder::newest_last) out += left_out;
    for (const std::string& line : part.lines) out += "- " + line + "\n";
    if (part.order == PartOrder::most_important_first) out += left_out;
  }
  if (!briefing.next.empty()) {
    out += "\n## Next\n";
    for (const NextAction& action : briefing.next)
      out += fmt::format("- {}\n", markdown_code(printable(command(action))));
  }
  return out;
}

Json document(const Briefing& briefing, const CommandText& command) {
  Json out = briefing.head;
  Json left_out = Json::object();
  for (const BriefingPart& part : briefing.parts) {
    out[part.key] = part.entries;
    if (part.left_out > 0) left_out[part.key] = part.left_out;
  }
  out["next"] = Json::array();
  for (const NextAction& action : briefing.next) out["next"].push_back(command(action));
  out["left_out"] = std::move(left_out);
  return out;
}

std::size_t bytes_of(const BriefingPart& part) {
  std::size_t bytes = 0;
  for (const std::string& line : part.lines) bytes += line.size() + 3;
  return bytes;
}

/// Halves the longest part. Returns false if nothing is left to omit.
bool leave_out(Briefing& briefing) {
  const auto longest = std::ranges::max_element(briefing.parts, {}, bytes_of);
  if (longest == briefing.parts.end() || longest->entries.empty()) return false;
  const std::size_t keep = longest->entries.size() * 3 / 4;
  longest->left_out += longest->entries.size() - keep;
  const auto cut = [&](auto& items) {
    if (longest->order == PartOrder::newest_last)
      items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(keep));
    else
      items.resize(keep);
  };
  cut(longest->entries);
  cut(longest->lines);
  return true;
}

/// Replaces the longest value in the head by a description of it. Returns false if none is long.
bool shorten_head(Json& head) {
  if (head.contains("state_text")) {
    head["state"] = Json();
    return head.erase("state_text") > 0;
  }
  if (!head.contains("goal")) return false;
  Json* longest = nullptr;
  std::size_t bytes = 200;
  for (auto& [key, value] : head["goal"].items()) {
    if (const std::size_t size = compact(value).size(); size > bytes) {
      longest = &value;
      bytes = size;
    }
  }
  if (longest == nullptr) return false;
  *longest = fmt::format("left out: {} bytes", bytes);
  return true;
}

constexpr std::string_view kCut = "\n\n(cut here: --max-bytes)\n";

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  line = printable(line);
  constexpr std::string_view kSpecial = "\\`*_[]<>|~&#!$";
  std::string out;
  for (const char c : line) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  // Escapes what would start a list, a rule or a heading.
  const std::size_t digits = std::min(out.find_first_not_of("0123456789"), out.size());
  if (out.starts_with('-') || out.starts_with('+') || out.starts_with('=')) out.insert(0, 1, '\\');
  const bool numbered = digits > 0 && digits < out.size() && (out[digits] == '.' || out[digits] == ')');
  if (numbered && (digits + 1 == out.size() || out[digits + 1] == ' ')) out.insert(digits, 1, '\\');
  return out;
}

std::string markdown_code(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  line = printable(line);
  if (line.empty()) return "(empty)";
  const std::string fence(longest_run_of_backticks(line) + 1, '`');
  const bool padded = line.starts_with('`') || line.ends_with('`') || line.front() == ' ';
  return padded ? fmt::format("{0} {1} {0}", fence, line) : fmt::format("{0}{1}{0}", fence, line);
}

std::string markdown_of(Briefing briefing, std::size_t bytes_max, const CommandText& command) {
  std::string text = render(briefing, command);
  while (text.size() > bytes_max && leave_out(briefing)) text = render(briefing, command);
  // Then omits variables, the state and the like, starting at the end.
  std::size_t dropped = 0;
  while (text.size() > bytes_max) {
    const auto item = std::find_if(briefing.head_lines.rbegin(), briefing.head_lines.rend(),
                                   [](const std::string& line) { return line.starts_with("- `"); });
    if (item == briefing.head_lines.rend()) break;
    briefing.head_lines.erase(std::next(item).base());
    ++dropped;
    text = render(briefing, command);
  }
  if (dropped > 0) text += fmt::format("\n{} values were left out.\n", dropped);
  if (text.size() <= bytes_max) return text;
  std::size_t end = std::min(text.size(), bytes_max - std::min(bytes_max, kCut.size()));
  end = text.rfind('\n', end == 0 ? 0 : end - 1);
  return text.substr(0, end == std::string::npos ? 0 : end) + std::string(kCut);
}

std::string json_of(Briefing briefing, std::size_t bytes_max, const CommandText& command) {
  std::string text = compact(document(briefing, command)) + "\n";
  while (text.size() > bytes_max && leave_out(briefing)) text = compact(document(briefing, command)) + "\n";
  while (text.size() > bytes_max && shorten_head(briefing.head)) text = compact(document(briefing, command)) + "\n";
  return text;
}

}  // namespace pawl
