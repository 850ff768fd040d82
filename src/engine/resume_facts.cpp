#include "engine/resume_facts.hpp"

#include <algorithm>
#include <set>

namespace pawl {
namespace {

constexpr std::size_t kNamedFilesMax = 100;
constexpr std::size_t kDifferenceLinesMax = 60;
constexpr std::size_t kLinesMax = 3'000;  // longer texts are not compared line by line

const Step* find_in(const Steps& steps, std::string_view path);

const Step* find_inside(const Step& step, std::string_view rest) {
  if (rest.empty()) return &step;
  const auto inside = [&](const std::shared_ptr<const Steps>& steps, std::string_view prefix) -> const Step* {
    if (!steps || !rest.starts_with(prefix)) return nullptr;
    return find_in(*steps, rest.substr(prefix.size()));
  };
  if (const Step* found = inside(step.on_failure, "on_failure.")) return found;
  if (step.confidence) {
    if (const Step* found = inside(step.confidence->then, "then.")) return found;
  }
  if (const auto* loop = std::get_if<Loop>(&step.work)) return inside(loop->steps, "");
  if (const auto* map = std::get_if<Map>(&step.work)) {
    if (rest == "reduce") return map->reduce.get();
    return inside(map->steps, "");
  }
  return nullptr;
}

const Step* find_in(const Steps& steps, std::string_view path) {
  const std::size_t end = path.find_first_of(".[");
  const std::string_view id = path.substr(0, end);
  const auto found = std::ranges::find(steps, id, &Step::id);
  if (found == steps.end()) return nullptr;
  std::string_view rest = end == std::string_view::npos ? std::string_view() : path.substr(end);
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return nullptr;
    rest.remove_prefix(close + 1);
  }
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return find_inside(*found, rest);
}

void collect_files(const Steps& steps, std::set<std::string>& out);

void collect_files(const Step& step, std::set<std::string>& out) {
  if (const auto* command = std::get_if<RunCommand>(&step.work)) {
    const std::string& script = command->command.script;
    for (std::size_t at = script.find("./"); at != std::string::npos; at = script.find("./", at + 2)) {
      if (at > 0 && std::string_view(" \t\n;&|(\"'").find(script[at - 1]) == std::string_view::npos) continue;
      const std::size_t end = script.find_first_of(" \t\n;&|<>()\"'$`", at);
      out.insert(script.substr(at + 2, end == std::string::npos ? end : end - at - 2));
    }
  }
  if (step.on_failure) collect_files(*step.on_failure, out);
  if (const auto* loop = std::get_if<Loop>(&step.work)) collect_files(*loop->steps, out);
  if (const auto* map = std::get_if<Map>(&step.work)) {
    collect_files(*map->steps, out);
    if (map->reduce) collect_files(*map->reduce, out);
  }
}

void collect_files(const Steps& steps, std::set<std::string>& out) {
  for (const Step& step : steps) collect_files(step, out);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

}  // namespace

const Step* find_step(const Workflow& workflow, std::string_view path) {
  if (const Step* found = find_in(workflow.steps, path)) return found;
  if (workflow.on_failure && path.starts_with("on_failure.")) return find_in(*workflow.on_failure, path.substr(11));
  const std::size_t number_end = path.find("].");  // finally[1].clean
  if (workflow.finally && path.starts_with("finally[") && number_end != std::string_view::npos)
    return find_in(*workflow.finally, path.substr(number_end + 2));
  return nullptr;
}

std::vector<std::string> named_files(const Workflow& workflow) {
  std::set<std::string> names;
  collect_files(workflow.steps, names);
  names.erase("");
  std::vector<std::string> out(names.begin(), names.end());
  if (out.size() > kNamedFilesMax) out.resize(kNamedFilesMax);
  return out;
}

std::optional<std::string> git_head(LocalFiles& files, const std::string& folder) {
  for (std::string at = folder;; at = files.absolute("..", at)) {
    const std::string git = at + "/.git";
    if (files.is_folder(git)) {
      const Result<std::string> head = files.read(git + "/HEAD", 4096);
      if (!head) return std::nullopt;
      std::string text = *head;
      while (text.ends_with('\n')) text.pop_back();
      if (!text.starts_with("ref: ")) return text;
      const Result<std::string> commit = files.read(git + "/" + text.substr(5), 4096);
      if (!commit) return text;
      return commit->substr(0, commit->find('\n'));
    }
    if (at == "/" || at.empty()) return std::nullopt;
  }
}

std::vector<std::string> folder_changes(const Json& before, const Json& after) {
  std::vector<std::string> changes;
  if (!before.is_object()) return changes;
  const std::string commit = before.value("git", std::string());
  const std::string commit_now = after.value("git", std::string());
  if (commit != commit_now)
    changes.push_back(fmt::format("the git commit was {} and is now {}", commit.empty() ? "none" : commit.substr(0, 12),
                                  commit_now.empty() ? "none" : commit_now.substr(0, 12)));
  const Json files = before.value("files", Json::object());
  const Json files_now = after.value("files", Json::object());
  for (const auto& [name, hash] : files.items()) {
    if (!files_now.contains(name)) {
      changes.push_back(fmt::format("{} is missing", name));
    } else if (files_now[name] != hash) {
      changes.push_back(fmt::format("{} has changed", name));
    }
  }
  return changes;
}

std::string recorded_text(Store& store, const RunId& id) {
  const Result<std::vector<Event>> events = store.events(id, 0, 1);
  if (!events || events->empty()) return {};
  const Json data = Json::parse(events->front().data, nullptr, false);
  if (!data.is_object() || !data.contains("workflow") || !data["workflow"].is_object()) return {};
  return data["workflow"].value("text", std::string());
}

std::string text_difference(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> a = lines_of(before);
  const std::vector<std::string_view> b = lines_of(after);
  if (a.size() > kLinesMax || b.size() > kLinesMax) return fmt::format("  ({} lines then, {} now)", a.size(), b.size());
  // The longest common subsequence of lines, from the end.
  std::vector<std::vector<std::uint32_t>> length(a.size() + 1, std::vector<std::uint32_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i][j] = a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  std::string out;
  std::size_t shown = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i;
      ++j;
      continue;
    }
    if (++shown > kDifferenceLinesMax) return out + "  ...\n";
    const bool removed = i < a.size() && (j == b.size() || length[i + 1][j] >= length[i][j + 1]);
    out += removed ? fmt::format("  {:>4} - {}\n", i + 1, a[i]) : fmt::format("  {:>4} + {}\n", j + 1, b[j]);
    if (removed) {
      ++i;
    } else {
      ++j;
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string joined_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace pawl
