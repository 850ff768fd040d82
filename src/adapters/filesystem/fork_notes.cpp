#include "adapters/filesystem/fork_notes.hpp"

#include <algorithm>

#include "adapters/filesystem/layout.hpp"
#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "domain/sequence_limit.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kNoteFormat = 1;
constexpr std::uint64_t kNoteBytesMax = 4096;
constexpr std::uint64_t kRunBytesMax = 1ULL << 20;

Error fork_note_damaged() {
  return Error{Code::store_damaged, "the note about a fork is damaged", {}, {}, 0, Advice::repair_store};
}

}  // namespace

std::string encode_fork_note(const ForkNote& note, std::uint32_t seed) {
  std::string out = fmt::format("{{\"pawl\":{},\"fork\":\"{}\",\"uuid\":\"{}\",\"at\":{}", kNoteFormat, note.fork,
                                note.uuid.text(), note.at.value);
  seal(out, seed);
  out += '\n';
  return out;
}

Result<ForkNote> decode_fork_note(std::string_view text, std::uint32_t seed) {
  if (!text.ends_with('\n')) return fail(fork_note_damaged());
  const auto body = unseal(text.substr(0, text.size() - 1), seed);
  if (!body || !body->starts_with('{')) return fail(fork_note_damaged());
  const auto members = ObjectMembers::parse(body->substr(1));
  if (!members) return fail(fork_note_damaged());
  if (members->number("pawl") > kNoteFormat) {
    return fail(newer_format("the note about a fork", members->number("pawl"), kNoteFormat));
  }
  const auto uuid = Uuid::parse(members->text("uuid"));
  ForkNote note{members->text("fork"), uuid.value_or(Uuid()), {members->number("at")}};
  if (!uuid || !note.at || note.at.value > kSequenceMax || !RunId::parse(note.fork)) return fail(fork_note_damaged());
  return note;
}

Result<std::vector<ForkNote>> load_fork_notes(FileSystem& files, std::string_view run, std::uint32_t seed) {
  PAWL_TRY_ASSIGN(const auto entries, files.list(layout::forks(run)));
  std::vector<ForkNote> notes;
  for (const FolderEntry& entry : entries) {
    if (!entry.name.ends_with(".json")) continue;
    const std::string path = join_path(layout::forks(run), entry.name);
    auto text = files.read_file(path, kNoteBytesMax);
    if (!text && text.error().code == Code::input_unreadable) continue;  // removed in the meantime
    if (!text) return std::unexpected(text.error());
    auto note = decode_fork_note(*text, seed);
    if (note && note->uuid.text() + ".json" != entry.name) note = fail(fork_note_damaged());
    if (!note) return fail(at(note.error(), path));
    notes.push_back(std::move(*note));
  }
  std::ranges::sort(
      notes, [](const ForkNote& a, const ForkNote& b) { return std::tie(a.at, a.fork) < std::tie(b.at, b.fork); });
  return notes;
}

Result<void> write_fork_note(FileSystem& files, std::string_view run, const ForkNote& note, std::uint32_t seed,
                             RunFolder own) {
  for (const std::string& folder : {std::string(layout::kRuns), layout::run(run), layout::forks(run)})
    PAWL_TRY(files.make_folder(folder));
  const std::string path = layout::fork(run, note.uuid.text());
  const std::string temporary = path + ".tmp";
  PAWL_TRY(files.remove(temporary));  // after a power loss it may be a second name of a renamed file
  PAWL_TRY_ASSIGN(const auto file, files.open(temporary, OpenMode::create_empty));
  PAWL_TRY(file->write_at(0, encode_fork_note(note, seed)));
  PAWL_TRY(file->sync(SyncPoint::fork_note));
  PAWL_TRY(files.rename(temporary, path));
  std::vector<std::string> folders = {layout::forks(run), layout::run(run)};
  if (own == RunFolder::unsynced) folders.insert(folders.end(), {std::string(layout::kRuns), std::string()});
  for (const std::string& folder : folders) PAWL_TRY(files.sync_folder(folder, SyncPoint::fork_note_name));
  return {};
}

Result<void> restore_fork_note(FileSystem& files, const RunRecord& fork) {
  if (!fork.fork_of_run) return {};
  const ForkNote note{fork.run, fork.uuid, fork.fork_of_sequence};
  const std::uint32_t seed = seal_seed(*fork.fork_of_run);
  const auto text = files.read_file(layout::fork(fork.fork_of_name, note.uuid.text()), kNoteBytesMax);
  if (text && *text == encode_fork_note(note, seed)) return {};
  const auto parent = files.read_file(layout::run_file(fork.fork_of_name), kRunBytesMax);
  if (!parent && parent.error().code == Code::input_unreadable) return {};
  if (!parent) return std::unexpected(parent.error());
  const auto record = decode_run(*parent);
  if (record && record->uuid != *fork.fork_of_run) return {};  // another run has its name
  return write_fork_note(files, fork.fork_of_name, note, seed, RunFolder::unsynced);
}

}  // namespace pawl
