#include "adapters/filesystem/inbox.hpp"

#include <algorithm>
#include <charconv>

#include "adapters/filesystem/layout.hpp"
#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::size_t kTimeDigits = 20;
constexpr std::size_t kRandomDigits = 16;
constexpr std::string_view kSuffix = ".json";

std::unexpected<Error> message_damaged() {
  return fail(Error{Code::store_damaged,
                    "a message is damaged",
                    {},
                    "restore the file from a backup, or remove it and post the message again",
                    0});
}

Timestamp time_in(std::string_view id) {
  Timestamp at;
  std::from_chars(id.data(), id.data() + kTimeDigits, at.us);
  return at;
}

}  // namespace

std::string message_id(Timestamp at, std::uint64_t random) {
  return fmt::format("{:020}-{:016x}", std::max<std::int64_t>(at.us, 0), random);
}

bool is_message_id(std::string_view id) {
  if (id.size() != kTimeDigits + 1 + kRandomDigits || id[kTimeDigits] != '-') return false;
  return id.substr(0, kTimeDigits).find_first_not_of("0123456789") == std::string_view::npos &&
         id.substr(kTimeDigits + 1).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string encode_message(const StoredMessage& stored, std::uint32_t seed) {
  const Message& message = stored.message;
  std::string out = fmt::format("{{\"id\":{},\"at\":{},", escape_json(message.id), escape_json(message.at.text()));
  if (!message.from.empty()) out += fmt::format("\"from\":{},", escape_json(message.from));
  if (!stored.how.empty()) out += fmt::format("\"enc\":{},", escape_json(stored.how));
  out += "\"body\":";
  for (const char c : message.body) out += c == '\n' || c == '\r' ? ' ' : c;
  seal(out, seed);
  out += '\n';
  return out;
}

Result<StoredMessage> decode_message(std::string_view text, std::string_view id, std::uint32_t seed) {
  if (!text.ends_with('\n')) return message_damaged();
  text.remove_suffix(1);
  const auto body = unseal(text, seed);
  if (!body || !body->starts_with('{')) return message_damaged();
  const auto members = ObjectMembers::parse(body->substr(1));
  if (!members) return message_damaged();
  const auto at_time = Timestamp::parse(members->text("at"));
  Message message{.id = members->text("id"),
                  .at = at_time.value_or(Timestamp()),
                  .body = members->raw("body"),
                  .from = members->text("from")};
  // Otherwise a file that was copied to another name would count as a second message.
  if (!at_time || message.body.empty() || message.id != id) return message_damaged();
  return StoredMessage{std::move(message), members->text("enc")};
}

Inbox::Inbox(FileSystem& files, std::string run, std::uint32_t seed)
    : files_(files), run_(std::move(run)), seed_(seed) {}

Result<std::vector<std::string>> Inbox::ids() {
  PAWL_TRY_ASSIGN(const auto entries, files_.list(layout::inbox(run_)));
  std::vector<std::string> found;
  for (const FolderEntry& entry : entries) {
    if (!entry.name.ends_with(kSuffix)) continue;
    std::string id = entry.name.substr(0, entry.name.size() - kSuffix.size());
    if (is_message_id(id)) found.push_back(std::move(id));
  }
  std::ranges::sort(found);
  return found;
}

Result<std::optional<StoredMessage>> Inbox::read(const std::string& id) {
  const std::string path = layout::message(run_, id);
  const auto text = files_.read_file(path);
  if (!text && text.error().code == Code::input_unreadable) return std::optional<StoredMessage>();
  if (!text) return std::unexpected(text.error());
  auto message = decode_message(*text, id, seed_);
  if (!message) return fail(at(message.error(), path));
  return std::optional(std::move(*message));
}

Result<std::vector<Message>> Inbox::list(RunCodec& codec) {
  PAWL_TRY_ASSIGN(const auto all, ids());
  std::vector<Message> messages;
  for (const std::string& id : all) {
    PAWL_TRY_ASSIGN(auto stored, read(id));
    if (!stored) continue;
    Message& message = stored->message;
    PAWL_TRY_ASSIGN(message.body,
                    codec.value(message.body, stored->how, {RecordPlace::Kind::message, 0, 0, message.id}));
    messages.push_back(std::move(message));
  }
  return messages;
}

/// The clock may have been set back since the last message.
Result<Timestamp> Inbox::next_time(Timestamp now) {
  PAWL_TRY_ASSIGN(const auto all, ids());
  if (all.empty()) return now;
  return Timestamp{std::max(now.us, time_in(all.back()).us + 1)};
}

Result<void> Inbox::sync_names(Names names) {
  PAWL_TRY(files_.sync_folder(layout::inbox(run_), SyncPoint::inbox_name));
  if (names == Names::durable) return {};
  PAWL_TRY(files_.sync_folder(layout::run(run_), SyncPoint::inbox_name));
  PAWL_TRY(files_.sync_folder(layout::kRuns, SyncPoint::inbox_name));
  return files_.sync_folder("", SyncPoint::inbox_name);
}

Result<std::string> Inbox::post(const Environment& environment, RunCodec& codec, std::string_view body, Names names) {
  // A run whose records are only in a journal may have no folder.
  for (const std::string& folder : {std::string(layout::kRuns), layout::run(run_), layout::inbox(run_)}) {
    PAWL_TRY_ASSIGN(const bool made, files_.make_folder(folder));
    if (made) names = Names::unsynced;
  }
  StoredMessage stored;
  Message& message = stored.message;
  PAWL_TRY_ASSIGN(message.at, next_time(environment.clock->now()));
  message.id = message_id(message.at, environment.random->next());
  message.from = who(environment.owner);
  const std::uint64_t random = environment.random->next();
  PAWL_TRY_ASSIGN(message.body, codec.stored_value(body, {RecordPlace::Kind::message, 0, 0, message.id},
                                                   nonce_from(random, environment.random->next()), stored.how));
  const std::string path = layout::message(run_, message.id);
  const std::string temporary = path + ".tmp";
  // The lock keeps a repair from removing the file. A repair may have done so just before.
  std::unique_ptr<File> file;
  for (bool locked = false; !locked;) {
    PAWL_TRY_ASSIGN(file, files_.open(temporary, OpenMode::create_empty));
    PAWL_TRY_ASSIGN(locked, file->try_lock(layout::kWriterByte));
    if (!locked) continue;
    PAWL_TRY_ASSIGN(locked, files_.exists(temporary));
  }
  PAWL_TRY(file->write_at(0, encode_message(stored, seed_)));
  PAWL_TRY(file->sync(SyncPoint::inbox_message));
  PAWL_TRY(files_.rename(temporary, path));
  if (auto synced = sync_names(names); !synced) {
    Error error = synced.error();
    error.code = Code::outcome_unknown;
    return fail(with_hint(std::move(error), "check whether the message was posted; if not, post it again"));
  }
  return message.id;
}

}  // namespace pawl
