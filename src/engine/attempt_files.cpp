#include "engine/attempt_files.hpp"

#include <algorithm>
#include <charconv>

namespace pawl {
namespace {

constexpr std::string_view kReport = ".result";

constexpr std::size_t kNameBytesMax = 200;  // leaves space for the number and the extension
constexpr std::size_t kFoldersMax = 64;

std::string stem_in(const std::string& folder, const std::string& path, std::uint32_t number) {
  return fmt::format("{}/{}.{}", folder, file_path_of(path), number);
}

bool is_file_of_attempt(std::string_view name) {
  return name.ends_with(".log") || name.ends_with(".out") || name.ends_with(".json") || name.ends_with(kReport);
}

}  // namespace

std::string file_path_of(std::string_view step) {
  std::string path;
  std::size_t size = 0;  // of the last part
  bool in_item = false;
  for (const char c : step) {
    const bool begins_item = c == '[' && !in_item;
    // A part never begins with a dot, which would hide it.
    if ((begins_item && !path.empty()) || (size >= kNameBytesMax && c != '.')) {
      path += '/';
      size = 0;
    }
    in_item = in_item || begins_item;
    path += c;
    ++size;
  }
  return path;
}

Result<bool> AttemptFiles::make_folder_of(std::string_view path) {
  std::string folder(path.substr(0, path.rfind('/')));
  const auto known = folders_.find(folder);
  if (known != folders_.end()) return known->second;
  const bool is_new = !context_.services.files.exists(folder);
  PAWL_TRY(context_.services.files.make_folder(folder));
  folders_.emplace(std::move(folder), is_new);
  return is_new;
}

Result<AttemptStems> AttemptFiles::prepare(const std::string& path, std::uint32_t start) {
  AttemptStems stems{stem_in(context_.logs, path, start), stem_in(context_.work, path, start)};
  PAWL_TRY_ASSIGN(const bool new_logs, make_folder_of(stems.log));
  PAWL_TRY_ASSIGN(const bool new_work, make_folder_of(stems.work));
  if (new_logs && new_work) return stems;
  const auto taken = [&](const std::string& file) { return context_.services.files.exists(file); };
  while (taken(stems.log + ".log") || taken(stems.log + ".out") || taken(stems.work + ".result")) {
    ++start;
    stems = {stem_in(context_.logs, path, start), stem_in(context_.work, path, start)};
  }
  return stems;
}

std::vector<AttemptFiles::Left> AttemptFiles::left_reports() const {
  std::vector<Left> found;
  LocalFiles& files = context_.services.files;
  const auto look = [&](const std::string& folder, const std::string& prefix, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (!name.ends_with(kReport)) continue;
      const std::string_view stem = std::string_view(name).substr(0, name.size() - kReport.size());
      const std::size_t dot = stem.rfind('.');
      std::uint32_t start = 0;
      if (dot == std::string_view::npos) continue;
      const auto [end, problem] = std::from_chars(stem.data() + dot + 1, stem.data() + stem.size(), start);
      if (problem != std::errc() || end != stem.data() + stem.size()) continue;
      found.push_back({prefix + std::string(stem.substr(0, dot)), start, folder + "/" + name});
    }
  };
  const auto look_inside = [&](const auto& self, const std::string& folder, const std::string& prefix,
                               std::size_t depth) -> void {
    const std::vector<std::string> names = files.list(folder);
    look(folder, prefix, names);
    for (const std::string& name : names) {
      const std::string inner = folder + "/" + name;
      const bool is_file = is_file_of_attempt(name) && name.size() < kNameBytesMax;
      if (is_file || name == "worktrees" || !files.is_folder(inner) || depth == kFoldersMax) continue;
      self(self, inner, prefix + name, depth + 1);
    }
  };
  look_inside(look_inside, context_.work, "", 0);
  std::ranges::sort(found, {}, [](const Left& left) { return std::pair(left.path, left.start); });
  return found;
}

Result<std::optional<StepReport>> AttemptFiles::read_report(const std::string& file, LastLine last_line) const {
  PAWL_TRY_ASSIGN(const std::optional<std::string> text, context_.services.files.read_regular(file, kResultBytesMax));
  if (!text) return std::nullopt;
  return parse_report(context_.masks.text(*text), last_line);
}

Result<void> AttemptFiles::write_input(const std::string& path, const Json& input) {
  if (!spare_inputs_.empty()) {
    const std::string spare = std::move(spare_inputs_.back());
    spare_inputs_.pop_back();
    if (!context_.services.files.rename(spare, path)) context_.services.files.remove(spare);
  }
  return context_.services.files.write_over(path, compact(input));
}

void AttemptFiles::remove_spares() {
  for (const std::string& spare : std::exchange(spare_inputs_, {})) context_.services.files.remove(spare);
}

}  // namespace pawl
