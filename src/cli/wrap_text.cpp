#include "cli/wrap_text.hpp"

#include <algorithm>
#include <vector>

#include "text/display.hpp"

namespace pawl::cli {
namespace {

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool begins_command(std::string_view word) {
  const std::size_t begin = word.find_first_not_of("(`'");
  return begin != std::string_view::npos && word.substr(begin) == "pawl";
}

bool ends_command(std::string_view word) { return word.empty() || std::string_view(";,)`").contains(word.back()); }

/// The words of a line, with each command that fits into `room` columns as one of them.
std::vector<std::string_view> units_of(std::string_view line, std::size_t room) {
  const std::vector<std::string_view> words = split_text(line, ' ');
  std::vector<std::string_view> units;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t last = i;
    if (begins_command(words[i])) {
      while (last + 1 < words.size() && !ends_command(words[last]) && !words[last + 1].starts_with('(')) ++last;
    }
    const char* const end = words[last].data() + words[last].size();
    const std::string_view command(words[i].data(), static_cast<std::size_t>(end - words[i].data()));
    if (last > i && display_columns(command) <= room) {
      units.push_back(command);
      i = last;
    } else {
      units.push_back(words[i]);
    }
  }
  return units;
}

std::string wrap_line(std::string_view line, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  bool is_first = true;
  for (const std::string_view unit : units_of(line, columns - std::min(indent, columns))) {
    const std::size_t width = display_columns(unit);
    if (!is_first && used + 1 + width > columns) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!is_first) {
      out += ' ';
      ++used;
    }
    out += unit;
    used += width;
    is_first = false;
  }
  return out;
}

bool begins_list_item(std::string_view line) {
  if (line.starts_with("- ")) return true;
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  return digits > 0 && line.substr(digits).starts_with(". ");
}

}  // namespace

std::string wrap_text(std::string_view text, std::optional<std::size_t> columns, std::size_t indent) {
  if (!columns) return std::string(text);
  std::string out;
  for (const std::string_view line : split_text(text, '\n')) {
    out += line.starts_with(' ') ? std::string(line) : wrap_line(line, *columns, indent);
    out += '\n';
  }
  out.pop_back();
  return out;
}

std::string wrap_beside(std::size_t indent, std::string_view text, std::optional<std::size_t> columns) {
  if (columns) columns = *columns > indent ? *columns - indent : 1;
  std::string out;
  for (const char c : wrap_text(text, columns)) {
    out += c;
    if (c == '\n') out += std::string(indent, ' ');
  }
  return out;
}

std::string wrap_page(std::string_view page, std::optional<std::size_t> columns) {
  if (!columns) return std::string(page);
  std::string out;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrap_text(paragraph, columns, begins_list_item(paragraph) ? 2 : 0) + "\n";
    paragraph.clear();
  };
  bool in_code = false;
  std::vector<std::string_view> lines = split_text(page, '\n');
  if (lines.back().empty()) lines.pop_back();  // the page ends with a line break
  for (std::string_view line : lines) {
    const bool fence = line.starts_with("```");
    if (in_code || fence || line.empty() || line.starts_with('#') || line.starts_with('|')) {
      end_paragraph();
      out += in_code || line.starts_with('|') ? std::string(line) : wrap_text(line, columns);
      out += '\n';
      in_code = in_code != fence;
      continue;
    }
    if (begins_list_item(line)) end_paragraph();
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    paragraph += (paragraph.empty() ? "" : " ") + std::string(line);
  }
  end_paragraph();
  return out;
}

std::string without_links(std::string_view page) {
  std::string out;
  while (true) {
    const std::size_t middle = page.find("](");
    const std::size_t begin = middle == std::string_view::npos ? middle : page.rfind('[', middle);
    const std::size_t end = middle == std::string_view::npos ? middle : page.find(')', middle);
    if (begin == std::string_view::npos || end == std::string_view::npos) return out + std::string(page);
    out += page.substr(0, begin);
    out += page.substr(begin + 1, middle - begin - 1);
    page.remove_prefix(end + 1);
  }
}

}  // namespace pawl::cli
