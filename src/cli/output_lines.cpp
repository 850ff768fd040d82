#include "cli/output_lines.hpp"

#include "cli/text.hpp"
#include "domain/event_types.hpp"

namespace pawl::cli {
namespace {

constexpr std::size_t kUnfinishedBytesMax = 8U << 10;  // longer lines are split

std::uint64_t number_in(const Json& data, const char* key) {
  const auto found = data.find(key);
  return found != data.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

}  // namespace

void OutputLines::print_line(const std::string& source, std::string_view line, Output& out) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  out.write(fmt::format("{} | {}\n", source, printable_output(line, colours_)));
}

void OutputLines::add(const std::string& source, std::string_view text, Output& out) {
  std::string& line = unfinished_[source];
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line += text.substr(0, end);
    if (end == std::string_view::npos) break;
    print_line(source, line, out);
    line.clear();
    text.remove_prefix(end + 1);
  }
  if (line.size() < kUnfinishedBytesMax) return;
  print_line(source, line, out);
  line.clear();
}

void OutputLines::end(const std::string& source, Output& out) {
  const auto found = unfinished_.find(source);
  if (found == unfinished_.end()) return;
  if (!found->second.empty()) print_line(source, found->second, out);
  unfinished_.erase(found);
}

void OutputLines::end_all(Output& out) {
  while (!unfinished_.empty()) end(std::string(unfinished_.begin()->first), out);
}

void MapProgressLines::take(const RunEvent& event) {
  const Key key(event.run, event.step);
  if (event.type == event_type::kMapProgress) {
    maps_[key] = {.total = number_in(event.data, "total"),
                  .done = number_in(event.data, "done"),
                  .failed = number_in(event.data, "failed"),
                  .told_us = clock_.monotonic_us()};
    return;
  }
  const auto found = maps_.find(key);
  if (found == maps_.end()) return;
  if (event.type == event_type::kItemCompleted) ++found->second.done;
  if (event.type == event_type::kItemFailed) ++found->second.done, ++found->second.failed;
  const bool ended = event.type == event_type::kMapCompleted || event.type == event_type::kStepFailed;
  if (ended) maps_.erase(found);
}

std::string MapProgressLines::lines(const std::string& main_run) {
  std::string text;
  const std::int64_t now_us = clock_.monotonic_us();
  for (auto& [key, map] : maps_) {
    if (now_us - map.told_us < interval_us_) continue;
    map.told_us = now_us;
    const std::string run = key.first == main_run ? "" : fmt::format("[{}] ", key.first);
    text += fmt::format("{}{}: {} of {} items done", run, printable(key.second), map.done, map.total);
    text += map.failed > 0 ? fmt::format(", {} failed\n", map.failed) : "\n";
  }
  return text;
}

std::optional<std::string> TroubleLines::line(const RunEvent& event, std::int64_t now_us) {
  constexpr std::int64_t kInterval_us = 3'000'000;
  const std::string error = printable(text_in(event.data, "error"));
  if (event.step.empty()) return fmt::format("storage error ({}): {}", printable(text_in(event.data, "mode")), error);
  if (error == error_ && now_us - told_us_ < kInterval_us) return std::nullopt;
  error_ = error;
  told_us_ = now_us;
  const std::uint64_t tried = number_in(event.data, "try");
  const std::uint64_t tries = number_in(event.data, "tries");
  std::string text = fmt::format("{}: can't start: {}", printable(event.step), error);
  if (tried > 0 && tries > 0) text += fmt::format("; retrying ({} of {})", tried, tries);
  return text;
}

std::string branches_text(const Json& data) {
  std::string names;
  const auto branches = data.find("branches");
  if (branches == data.end() || !branches->is_array()) return "kept branches for review";
  for (const Json& branch : *branches) {
    if (branch.is_string()) names += (names.empty() ? "" : ", ") + printable(branch.get_ref<const std::string&>());
  }
  return fmt::format("kept for review: {}", names);
}

}  // namespace pawl::cli
