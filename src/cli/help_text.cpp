#include "cli/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_text.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kColumnsLeast = 60;
constexpr std::size_t kColumnsMost = 100;      // longer lines are hard to read
constexpr std::size_t kLabelColumnsMost = 26;  // after a longer label, the text starts on the next line

struct HelpRow {
  std::string label;
  std::string text;
};

std::string option_label(const OptionInfo& option) {
  std::vector<std::string> names = option.names;
  std::ranges::reverse(names);  // short name first
  std::string label = fmt::format("{}", fmt::join(names, ", "));
  if (!option.value.empty()) label += fmt::format("{}{}", label.empty() ? "" : " ", option.value);
  if (option.names.empty() && option.repeats) label += "...";
  return label;
}

void add_rows(std::string& out, std::string_view heading, const std::vector<HelpRow>& rows, std::size_t columns) {
  if (rows.empty()) return;
  std::size_t widest = 0;
  for (const HelpRow& row : rows) {
    if (row.label.size() <= kLabelColumnsMost) widest = std::max(widest, row.label.size());
  }
  const std::size_t indent = widest + 4;
  out += fmt::format("\n{}:\n", heading);
  for (const HelpRow& row : rows) {
    if (row.label.size() <= widest) {
      out += fmt::format("  {:{}}  ", row.label, widest);
    } else {
      out += fmt::format("  {}\n{}", row.label, std::string(indent, ' '));
    }
    out += wrap_words(row.text, indent, columns) + "\n";
  }
}

std::string usage_line(const CommandInfo& info, const std::string& call) {
  std::string line = fmt::format("Usage: {} [options]", call);
  if (!info.commands.empty()) line += " COMMAND";
  for (const OptionInfo& argument : info.arguments) {
    const std::string label = option_label(argument);
    line += argument.required ? fmt::format(" {}", label) : fmt::format(" [{}]", label);
  }
  if (!info.after_dashes.empty()) line += " -- " + info.after_dashes;
  return line;
}

/// Returns the headings of `items`, in the order in which they first appear.
template <class Item>
std::vector<std::string> headings_of(const std::vector<Item>& items) {
  std::vector<std::string> headings;
  for (const Item& item : items) {
    if (std::ranges::find(headings, item.group) == headings.end()) headings.push_back(item.group);
  }
  return headings;
}

}  // namespace

std::string wrap_words(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::size_t used = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t width = display_columns(word);
    if (!out.empty()) {
      const bool fits = used + 1 + width <= columns;
      out += fits ? " " : fmt::format("\n{}", std::string(indent, ' '));
      used = fits ? used + 1 : indent;
    }
    out += word;
    used += width;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string help_text(const Options& command, std::size_t columns) {
  columns = std::clamp(columns, kColumnsLeast, kColumnsMost);
  const CommandInfo info = command.tree();
  std::string out = wrap_words(usage_line(info, command.call()), 7, columns) + "\n\n";
  out += wrap_words(info.help, 0, columns) + "\n";
  std::vector<HelpRow> arguments;
  for (const OptionInfo& argument : info.arguments) arguments.push_back({option_label(argument), argument.help});
  add_rows(out, "Arguments", arguments, columns);
  for (const std::string& heading : headings_of(info.commands)) {
    std::vector<HelpRow> rows;
    for (const CommandInfo& below : info.commands) {
      if (below.group == heading) rows.push_back({below.name, below.help});
    }
    add_rows(out, heading, rows, columns);
  }
  for (const std::string& heading : headings_of(info.options)) {
    std::vector<HelpRow> rows;
    for (const OptionInfo& option : info.options) {
      if (option.group == heading) rows.push_back({option_label(option), option.help});
    }
    add_rows(out, heading, rows, columns);
  }
  if (!command.shown_footer().empty()) out += fmt::format("\n{}\n", command.shown_footer());
  return out;
}

}  // namespace pawl::cli
