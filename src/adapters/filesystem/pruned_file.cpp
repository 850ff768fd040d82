#include "adapters/filesystem/pruned_file.hpp"

#include "adapters/filesystem/aside_file.hpp"
#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/line_file.hpp"

namespace pawl {
namespace {

struct CallerLines {
  std::vector<PrunedCaller> callers;
  std::uint64_t end = 0;  // offset after the last caller
};

Error damaged_callers(std::string_view run, std::uint64_t number) {
  return Error{Code::store_damaged,
               fmt::format("caller's id {} of the pruned checkpoints of run '{}' is missing or damaged", number, run),
               layout::pruned_callers(run), "restore the file from a backup", 0};
}

/// Reads `count` lines. Lines after them were never in effect.
Result<CallerLines> read_callers(FileSystem& files, std::string_view run, std::uint64_t count, std::uint32_t seed) {
  CallerLines lines;
  if (count == 0) return lines;
  const auto text = files.read_file(layout::pruned_callers(run));
  if (!text && text.error().code == Code::input_unreadable) return fail(damaged_callers(run, 1));
  if (!text) return std::unexpected(text.error());
  for_each_line(*text, [&](std::string_view line, bool complete) {
    auto caller = decode_pruned_caller(line, seed);
    if (!caller || !complete || caller->number != lines.callers.size() + 1) return false;
    lines.callers.push_back(std::move(*caller));
    lines.end += line.size() + 1;
    return lines.callers.size() < count;
  });
  if (lines.callers.size() < count) return fail(damaged_callers(run, lines.callers.size() + 1));
  return lines;
}

}  // namespace

bool is_void(std::string_view name, const PrunedList& list) {
  if (const auto kept = sequence_in_file_name(name, "kept_", ".json")) return list.rewritten(*kept) == nullptr;
  if (const auto tail = sequence_in_file_name(name, "kept_", ".jsonl")) return !list.tails.contains(tail->value);
  for (const std::string_view suffix : {".json", ".jsonl"}) {
    const auto base = sequence_in_file_name(name, "checkpoint_", suffix);
    // The differences after a base that a fork borrows form their own group.
    if (base) return list.is_closed(*base) || (suffix == ".jsonl" && list.is_closed(base->next()));
  }
  return name.starts_with("kept_") && name.ends_with(".tmp");
}

namespace {

Result<PrunedList> load_list(FileSystem& files, std::string_view run, std::uint32_t seed) {
  const std::string path = layout::pruned(run);
  const auto text = files.read_file(path);
  if (!text && text.error().code == Code::input_unreadable) return PrunedList();
  if (!text) return std::unexpected(text.error());
  auto list = decode_pruned(*text, seed);
  if (!list) return fail(at(list.error(), path));
  return list;
}

}  // namespace

Result<PrunedList> load_pruned(FileSystem& files, std::string_view run, std::uint32_t seed) {
  PAWL_TRY_ASSIGN(PrunedList list, load_list(files, run, seed));
  PAWL_TRY_ASSIGN(const auto aside, load_aside(files, run, seed));
  for (const AsideEntry& entry : aside) {
    list.aside.add(entry.from.value, entry.to.value);
    list.dropped.add(entry.from.value, entry.to.value);
  }
  return list;
}

Result<void> replace_pruned(FileSystem& files, std::string_view run, const PrunedList& list, std::uint32_t seed) {
  const std::string path = layout::pruned(run);
  const std::string temporary = path + ".tmp";
  PAWL_TRY(files.remove(temporary));  // after a power loss it may be a second name of a renamed file
  {
    PAWL_TRY_ASSIGN(const auto file, files.open(temporary, OpenMode::create_empty));
    PAWL_TRY(file->write_at(0, encode_pruned(list, seed)));
    PAWL_TRY(file->sync(SyncPoint::pruned_list));
  }
  PAWL_TRY(files.rename(temporary, path));
  return files.sync_folder(layout::checkpoints(run), SyncPoint::pruned_list_name);
}

Result<std::vector<PrunedCaller>> load_pruned_callers(FileSystem& files, std::string_view run, const PrunedList& list,
                                                      std::uint32_t seed) {
  PAWL_TRY_ASSIGN(CallerLines lines, read_callers(files, run, list.callers, seed));
  return std::move(lines.callers);
}

Result<std::uint64_t> count_copied_callers(FileSystem& files, std::string_view run, const PrunedList& list,
                                           std::uint32_t seed) {
  if (list.callers == 0) return 0;
  const auto text = files.read_file(layout::pruned_callers(run));
  if (!text && text.error().code != Code::input_unreadable) return std::unexpected(text.error());
  std::uint64_t lines = 0;
  bool valid = true;
  for_each_line(text ? std::string_view(*text) : std::string_view(), [&](std::string_view line, bool complete) {
    if (!complete || lines == list.callers) return false;
    const auto caller = decode_pruned_caller(line, seed);
    valid = valid && caller && caller->number == ++lines;
    return valid;
  });
  return valid ? lines : list.callers;
}

Result<void> append_pruned_callers(FileSystem& files, std::string_view run, PrunedList& list,
                                   const std::vector<PrunedCaller>& callers, std::uint32_t seed) {
  if (callers.empty()) return {};
  PAWL_TRY_ASSIGN(const CallerLines before, read_callers(files, run, list.callers, seed));
  std::string text;
  for (PrunedCaller caller : callers) {
    caller.number = ++list.callers;
    text += encode_pruned_caller(caller, seed);
  }
  PAWL_TRY_ASSIGN(const auto file, files.open(layout::pruned_callers(run), OpenMode::create));
  PAWL_TRY(file->write_at(before.end, text));
  PAWL_TRY(file->resize(before.end + text.size()));
  return file->sync(SyncPoint::pruned_callers);
}

}  // namespace pawl
