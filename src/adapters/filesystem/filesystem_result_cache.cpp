#include "adapters/filesystem/filesystem_result_cache.hpp"

#include <algorithm>

#include "adapters/filesystem/layout.hpp"
#include "adapters/filesystem/whole_file.hpp"
#include "base/json.hpp"
#include "codec/sealed_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kEntryBytesMax = 4'096;
constexpr std::uint64_t kPutsPerLook = 8;                             // how often a folder's entries are counted
constexpr std::size_t kEntriesKept = kCacheFolderEntriesMax * 3 / 4;  // when the oldest are removed

std::string encode(const std::string& key, const CachedResult& result) {
  std::string text = compact({{"key", key},
                              {"run", result.run.text()},
                              {"uuid", result.uuid.text()},
                              {"sequence", result.sequence.value},
                              {"event", result.event},
                              {"at", result.at.text()}});
  text.pop_back();
  seal(text);
  return text + '\n';
}

/// Returns nothing if it is damaged, or not the entry of this key.
std::optional<CachedResult> decode(std::string_view text, const std::string& key) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const auto open = unseal(text);
  if (!open) return std::nullopt;
  const Json entry = Json::parse(std::string(*open) + "}", nullptr, false);
  if (!entry.is_object() || text_in(entry, "key") != key) return std::nullopt;
  const auto run = RunId::parse(text_in(entry, "run"));
  const auto uuid = Uuid::parse(text_in(entry, "uuid"));
  const auto at = Timestamp::parse(text_in(entry, "at"));
  const auto number = [&](const char* name) {
    const auto found = entry.find(name);
    return found != entry.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  const std::uint64_t sequence = number("sequence");
  const std::uint64_t event = number("event");
  if (!run || !uuid || !at || sequence == 0 || event == 0) return std::nullopt;
  return CachedResult{*run, *uuid, Sequence{sequence}, event, *at};
}

class FilesystemResultCache final : public ResultCache {
 public:
  FilesystemResultCache(FileSystem& files, Random& random) : files_(files), random_(random) {}

  Result<std::optional<CachedResult>> find(const std::string& key) override {
    if (!is_cache_key(key)) return std::optional<CachedResult>();
    const auto text = files_.read_file(layout::cache_entry(key), kEntryBytesMax);
    if (!text && text.error().code != Code::input_unreadable && text.error().code != Code::store_damaged)
      return fail(text.error());
    return text ? decode(*text, key) : std::nullopt;
  }

  Result<void> put(const std::string& key, const CachedResult& result) override {
    if (!is_cache_key(key)) return fail(Code::invalid_label, "invalid key of a cached result '{}'", key);
    const std::string folder = layout::cache_folder(key);
    PAWL_TRY(files_.make_folder(layout::kCache));
    PAWL_TRY(files_.make_folder(folder));
    PAWL_TRY(write_whole_file(files_, layout::cache_entry(key), encode(key, result), std::nullopt,
                              fmt::format(".{:016x}.tmp", random_.next())));
    if (random_.next() % kPutsPerLook == 0) static_cast<void>(remove_oldest(folder));
    return {};
  }

  Result<void> forget(const std::string& key) override {
    if (!is_cache_key(key)) return {};
    return files_.remove(layout::cache_entry(key));
  }

 private:
  /// Files that a killed process left, and damaged ones, are the oldest.
  Result<void> remove_oldest(const std::string& folder) {
    PAWL_TRY_ASSIGN(const std::vector<FolderEntry> entries, files_.list(folder));
    if (entries.size() <= kCacheFolderEntriesMax) return {};
    std::vector<std::pair<Timestamp, std::string>> aged;
    for (const FolderEntry& entry : entries) {
      if (entry.is_folder) continue;
      const std::string path = join_path(folder, entry.name);
      const std::string name = entry.name.substr(0, entry.name.find('.'));
      const auto text = files_.read_file(path, kEntryBytesMax);
      const auto result = text ? decode(*text, folder.substr(folder.size() - 2) + name) : std::nullopt;
      aged.emplace_back(result && entry.name.ends_with(".json") ? result->at : Timestamp(), path);
    }
    std::ranges::sort(aged);
    const std::size_t excess = aged.size() - std::min(aged.size(), kEntriesKept);
    for (std::size_t i = 0; i < excess; ++i) PAWL_TRY(files_.remove(aged[i].second));
    return {};
  }

  FileSystem& files_;
  Random& random_;
};

}  // namespace

std::unique_ptr<ResultCache> make_filesystem_result_cache(FileSystem& files, Random& random) {
  return std::make_unique<FilesystemResultCache>(files, random);
}

}  // namespace pawl
