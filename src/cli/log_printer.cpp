#include "cli/log_printer.hpp"

#include "base/json.hpp"
#include "cli/text.hpp"
#include "text/utf8.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kJsonLineBytesMax = 1U << 20;

/// Keeps tabs, which are harmless, and drops a carriage return at the end of the line.
std::string shown(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  std::string out;
  while (true) {
    const std::size_t tab = text.find('\t');
    out += printable(text.substr(0, tab));
    if (tab == std::string_view::npos) return out;
    out += '\t';
    text.remove_prefix(tab + 1);
  }
}

}  // namespace

void LogPrinter::print(const LogFile& file, std::string_view piece) {
  if (form_ == LogForm::json) return print_json(file, piece);
  print_text(file, piece);
}

void LogPrinter::print_text(const LogFile& file, std::string_view piece) {
  if (!open_.empty() && open_ != file.path) end_line();
  std::string whole;
  if (form_ == LogForm::terminal) {
    whole = std::exchange(held_, {}) + std::string(piece);
    const std::size_t cut = incomplete_utf8_bytes(whole);
    held_ = whole.substr(whole.size() - cut);
    whole.resize(whole.size() - cut);
    piece = whole;
    if (!held_.empty()) open_ = file.path;
  }
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view line = piece.substr(0, end);
    if (open_.empty() && prefixes_ == PrefixLines::always) out_.write(fmt::format("{} | ", printable(file.step)));
    out_.write(form_ == LogForm::terminal ? shown(line) : std::string(line));
    open_ = end == std::string_view::npos ? file.path : "";
    if (end != std::string_view::npos) out_.write("\n");
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
  }
}

void LogPrinter::print_json(const LogFile& file, std::string_view piece) {
  auto& [known, line] = unfinished_[file.path];
  known = file;
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    line += piece.substr(0, end);
    const bool ended = end != std::string_view::npos;
    if (ended || line.size() >= kJsonLineBytesMax) write_json(file, std::exchange(line, {}));
    piece.remove_prefix(ended ? end + 1 : piece.size());
  }
  if (line.empty()) unfinished_.erase(file.path);
}

void LogPrinter::write_json(const LogFile& file, std::string_view line) {
  out_.write(
      compact({{"step", file.step}, {"attempt", file.attempt}, {"stream", file.stream}, {"line", std::string(line)}}) +
      "\n");
}

void LogPrinter::end_line() {
  if (!held_.empty()) out_.write(printable(std::exchange(held_, {})));
  if (!open_.empty()) out_.write("\n");
  open_.clear();
  for (const auto& [path, entry] : std::exchange(unfinished_, {})) write_json(entry.first, entry.second);
}

}  // namespace pawl::cli
