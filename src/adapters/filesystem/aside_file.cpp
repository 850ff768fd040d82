#include "adapters/filesystem/aside_file.hpp"

#include "adapters/filesystem/layout.hpp"
#include "base/json.hpp"
#include "codec/sealed_text.hpp"
#include "domain/sequence_limit.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kAsideFormat = 1;

Error aside_list_damaged() {
  return Error{Code::store_damaged,
               "the list of checkpoints that were set aside is damaged",
               {},
               "restore the file from a backup",
               0};
}

std::uint64_t number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

}  // namespace

std::string aside_sum(std::string_view text) { return "sha256:" + to_hex(sha256(text)); }

std::string encode_aside(const std::vector<AsideEntry>& entries, std::uint32_t seed) {
  std::string out = fmt::format("{{\"pawl\":{},\"aside\":[", kAsideFormat);
  for (const AsideEntry& entry : entries) {
    if (!out.ends_with('[')) out += ',';
    out += fmt::format("{{\"at\":\"{}\",\"from\":{},\"to\":{},\"back_to\":{},\"why\":{}}}", entry.at.text(),
                       entry.from.value, entry.to.value, entry.back_to.value, escape_json(entry.why));
  }
  out += ']';
  seal(out, seed);
  out += '\n';
  return out;
}

Result<std::vector<AsideEntry>> decode_aside(std::string_view text, std::uint32_t seed) {
  if (!text.ends_with('\n')) return fail(aside_list_damaged());
  const auto body = unseal(text.substr(0, text.size() - 1), seed);
  if (!body) return fail(aside_list_damaged());
  const Json list = Json::parse(std::string(*body) + "}", nullptr, false);
  if (!list.is_object()) return fail(aside_list_damaged());
  if (number_in(list, "pawl") > kAsideFormat) {
    return fail(newer_format("the list of checkpoints that were set aside", number_in(list, "pawl"), kAsideFormat));
  }
  if (!list.contains("aside") || !list["aside"].is_array()) return fail(aside_list_damaged());
  std::vector<AsideEntry> entries;
  for (const Json& row : list["aside"]) {
    if (!row.is_object()) return fail(aside_list_damaged());
    const auto at_time = Timestamp::parse(text_in(row, "at"));
    AsideEntry entry{.at = at_time.value_or(Timestamp()),
                     .from = {number_in(row, "from")},
                     .to = {number_in(row, "to")},
                     .back_to = {number_in(row, "back_to")},
                     .why = text_in(row, "why")};
    // The next checkpoint has the number after the highest.
    const bool bounded = entry.to.value < kSequenceMax;
    if (!at_time || !entry.from || entry.to < entry.from || entry.back_to >= entry.from || !bounded)
      return fail(aside_list_damaged());
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<AsideEntry>> load_aside(FileSystem& files, std::string_view run, std::uint32_t seed) {
  const std::string path = layout::aside(run);
  const auto text = files.read_file(path, 16ULL << 20U);
  if (!text && text.error().code == Code::input_unreadable) return std::vector<AsideEntry>();
  if (!text) return std::unexpected(text.error());
  auto entries = decode_aside(*text, seed);
  if (!entries) return fail(at(entries.error(), path));
  return entries;
}

Result<std::string> add_aside(FileSystem& files, std::string_view run, const AsideEntry& entry, std::uint32_t seed) {
  PAWL_TRY_ASSIGN(auto entries, load_aside(files, run, seed));
  if (entry.to.value >= kSequenceMax) {
    return fail(Error{Code::store_damaged,
                      fmt::format("run '{}' has the impossible checkpoint {}", run, entry.to.value),
                      layout::checkpoints(run), "restore the folder from a backup", 0});
  }
  entries.push_back(entry);
  const std::string text = encode_aside(entries, seed);
  const std::string path = layout::aside(run);
  const std::string temporary = path + ".tmp";
  PAWL_TRY(files.make_folder(layout::checkpoints(run)));
  PAWL_TRY(files.remove(temporary));  // after a power loss it may be a second name of a renamed file
  {
    PAWL_TRY_ASSIGN(const auto file, files.open(temporary, OpenMode::create_empty));
    PAWL_TRY(file->write_at(0, text));
    PAWL_TRY(file->sync(SyncPoint::side_file));
  }
  PAWL_TRY(files.rename(temporary, path));
  PAWL_TRY(files.sync_folder(layout::checkpoints(run), SyncPoint::side_name));
  PAWL_TRY(files.sync_folder(layout::run(run), SyncPoint::side_name));
  return aside_sum(text);
}

}  // namespace pawl
