// Runs, events, audit entries and the store itself: the small records of record_text.hpp.
#include <algorithm>

#include "base/json.hpp"
#include "codec/base64.hpp"
#include "codec/object_members.hpp"
#include "codec/record_text.hpp"
#include "codec/sealed_text.hpp"
#include "domain/event_types.hpp"
#include "domain/sequence_limit.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kHashKey = ",\"hash\":\"";

Error damaged_record(std::string_view what) {
  return Error{Code::store_damaged, fmt::format("{} is damaged", what), {}, {}, 0, Advice::check_store};
}

/// fsck needs the file as well, so it can't help.
Error damaged_store_file() {
  return Error{Code::store_damaged, "store.json is damaged", {}, "restore the file from a backup of this store", 0};
}

std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string fork_seal(const RunRecord& run) {
  if (!run.fork_of_run) return {};
  return "sha256:" +
         to_hex(sha256(fmt::format("{} {} {}", run.fork_of_run->text(), run.fork_of_sequence.value, run.fork_of_sum)));
}

std::string encode_run(const RunRecord& run) {
  std::string out = fmt::format("{{\"pawl\":{}", run.fork_of_run ? kForkFormat : kFormat);
  append_json_member(out, "run", run.run);
  append_json_member(out, "uuid", run.uuid.text());
  append_json_member(out, "created", run.created.text());
  append_json_member(out, "durability", to_text(run.durability));
  if (!run.workflow.empty()) append_json_member(out, "workflow", run.workflow);
  if (!run.workflow_hash.empty()) append_json_member(out, "workflow_hash", run.workflow_hash);
  if (!run.session.empty()) append_json_member(out, "session", run.session);
  append_json_member(out, "salt", run.salt);
  if (run.fork_of_run) {
    append_json_member(out, "fork_of", run.fork_of_run->text());
    out += fmt::format(",\"fork_at\":{}", run.fork_of_sequence.value);
    append_json_member(out, "fork_run", run.fork_of_name);
    append_json_member(out, "fork_sum", run.fork_of_sum);
    out += fmt::format(",\"fork_events\":{}", run.fork_events);
  }
  out += run.encrypted ? ",\"key\":\"key.json\"" : ",\"key\":null";
  seal(out);
  out += '\n';
  return out;
}

Result<RunRecord> decode_run(std::string_view text) {
  const auto body = unseal(without_newline(text));
  if (!body || !body->starts_with('{')) return fail(damaged_record("run.json"));
  const auto members = ObjectMembers::parse(body->substr(1));
  if (!members) return fail(damaged_record("run.json"));
  if (members->number("pawl") > kForkFormat) {
    return fail(newer_format("the run", members->number("pawl"), kForkFormat));
  }
  RunRecord run;
  run.run = members->text("run");
  const auto uuid = Uuid::parse(members->text("uuid"));
  const auto created = Timestamp::parse(members->text("created"));
  const auto durability = parse_durability(members->text("durability"));
  if (!uuid || !created || !durability) return fail(damaged_record("run.json"));
  run.uuid = *uuid;
  run.created = *created;
  run.durability = *durability;
  run.workflow = members->text("workflow");
  run.workflow_hash = members->text("workflow_hash");
  run.session = members->text("session");
  run.salt = members->text("salt");
  run.fork_of_run = Uuid::parse(members->text("fork_of"));
  run.fork_of_sequence.value = members->number("fork_at");
  run.fork_of_name = members->text("fork_run");
  run.fork_of_sum = members->text("fork_sum");
  run.fork_events = members->number("fork_events");
  const bool whole_fork = run.fork_of_sequence && RunId::parse(run.fork_of_name).has_value();
  const bool bounded = std::max(run.fork_of_sequence.value, run.fork_events) <= kSequenceMax;
  if ((run.fork_of_run && !whole_fork) || !bounded) return fail(damaged_record("run.json"));
  run.encrypted = !members->text("key").empty();
  return run;
}

std::string encode_event(const StoredEvent& stored, std::uint32_t seed) {
  const Event& event = stored.event;
  std::string out = fmt::format("{{\"n\":{},\"seq\":{}", event.number, event.sequence.value);
  append_json_member(out, "at", event.created.text());
  append_json_member(out, "type", event.type);
  if (!stored.how.empty()) append_json_member(out, "enc", stored.how);
  // A line must stay one line; line breaks between JSON tokens have no meaning.
  out += ",\"data\":";
  for (const char c : event.data) out += c == '\n' || c == '\r' ? ' ' : c;
  seal(out, seed);
  out += '\n';
  return out;
}

Result<StoredEvent> decode_event(std::string_view line, std::uint32_t seed) {
  const auto body = unseal(line, seed);
  if (!body || !body->starts_with('{')) return fail(Code::checksum_mismatch, "an event has the wrong checksum");
  PAWL_TRY_ASSIGN(const ObjectMembers members, ObjectMembers::parse(body->substr(1)));
  const auto created = Timestamp::parse(members.text("at"));
  std::string data = members.raw("data");
  if (!created || data.empty()) return fail(Code::checkpoint_corrupt, "an event has no time or no data");
  if (members.number("n") > kSequenceMax || members.number("seq") > kSequenceMax)
    return fail(Code::checkpoint_corrupt, "an event has an impossible number");
  return StoredEvent{
      {members.number("n"), Sequence{members.number("seq")}, *created, members.text("type"), std::move(data)},
      members.text("enc")};
}

std::string_view first_previous_hash() { return "0000000000000000000000000000000000000000000000000000000000000000"; }

std::string encode_audit(AuditEntry& entry) {
  std::string out = fmt::format("{{\"i\":{}", entry.index);
  append_json_member(out, "at", entry.at.text());
  append_json_member(out, "type", entry.type);
  if (entry.sequence) out += fmt::format(",\"seq\":{}", entry.sequence.value);
  if (!entry.payload.empty()) append_json_member(out, "payload", entry.payload);
  if (entry.event != 0) out += fmt::format(",\"event\":{}", entry.event);
  if (!entry.events.empty()) append_json_member(out, "events", entry.events);
  if (!entry.user.empty()) append_json_member(out, "user", entry.user);
  if (!entry.host.empty()) append_json_member(out, "host", entry.host);
  if (!entry.agent.empty()) append_json_member(out, "agent", entry.agent);
  append_json_member(out, "prev", entry.previous);
  entry.hash = to_hex(sha256(from_hex(entry.previous), out));
  out += kHashKey;
  out += entry.hash;
  out += "\"}\n";
  return out;
}

Result<AuditEntry> decode_audit(std::string_view line) {
  const auto bad = [] { return fail(Code::checksum_mismatch, "an entry of the audit trail has the wrong hash"); };
  const std::size_t tail_bytes = kHashKey.size() + 64 + 2;
  if (line.size() < tail_bytes || !line.starts_with('{') || !line.ends_with("\"}")) return bad();
  const std::string_view body = line.substr(0, line.size() - tail_bytes);
  const std::string_view tail = line.substr(body.size());
  if (!tail.starts_with(kHashKey)) return bad();
  const auto members = ObjectMembers::parse(body.substr(1));
  if (!members) return bad();
  AuditEntry entry;
  const auto at_time = Timestamp::parse(members->text("at"));
  if (!at_time) return bad();
  entry.at = *at_time;
  entry.index = members->number("i");
  entry.type = members->text("type");
  entry.sequence.value = members->number("seq");
  entry.payload = members->text("payload");
  entry.event = members->number("event");
  entry.events = members->text("events");
  entry.user = members->text("user");
  entry.host = members->text("host");
  entry.agent = members->text("agent");
  if (entry.type == event_type::kErased) {
    entry.agent = members->text("by");
    entry.data = fmt::format(R"({{"reason":{},"checkpoints":{}}})", escape_json(members->text("reason")),
                             members->number("checkpoints"));
  }
  entry.previous = members->text("prev");
  entry.hash = tail.substr(kHashKey.size(), 64);
  if (to_hex(sha256(from_hex(entry.previous), body)) != entry.hash) return bad();
  if (std::max({entry.index, entry.sequence.value, entry.event}) > kSequenceMax)
    return fail(Code::checkpoint_corrupt, "an entry of the audit trail has an impossible number");
  return entry;
}

namespace {

Json key_members(const StoreKeyInfo& key) {
  Json members = {{"id", key.id}};
  if (key.scrypt) {
    members["scrypt"] = {
        {"salt", to_hex(key.scrypt->salt)}, {"n", key.scrypt->n}, {"r", key.scrypt->r}, {"p", key.scrypt->p}};
  }
  members["wrapped"] = to_base64(key.wrapped);
  return members;
}

std::optional<StoreKeyInfo> key_in(const Json& members) {
  const auto text = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto number = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  StoreKeyInfo key{
      .id = text(members, "id"), .scrypt = {}, .wrapped = from_base64(text(members, "wrapped")).value_or("")};
  if (key.id.empty() || key.wrapped.empty()) return std::nullopt;
  if (const auto scrypt = members.find("scrypt"); scrypt != members.end() && scrypt->is_object()) {
    key.scrypt =
        Scrypt{from_hex(text(*scrypt, "salt")), number(*scrypt, "n"), number(*scrypt, "r"), number(*scrypt, "p")};
  }
  return key;
}

std::string sealed(const Json& members) {
  std::string out = compact(members);
  out.pop_back();
  seal(out);
  return out + "\n";
}

}  // namespace

std::string encode_store(const StoreRecord& store) {
  Json members = {{"pawl", store.format}, {"id", store.id.text()}, {"created", store.created.text()}, {"key", nullptr}};
  if (store.key) members["key"] = key_members(*store.key);
  if (store.keep) members["keep"] = *store.keep;
  return sealed(members);
}

Result<std::string> change_store(std::string_view text, const StoreRecord& store) {
  PAWL_TRY(decode_store(text));
  Json members = Json::parse(text, nullptr, false);
  members.erase("crc");
  members["pawl"] = store.format;
  members["key"] = store.key ? key_members(*store.key) : Json();
  return sealed(members);
}

Result<StoreRecord> decode_store(std::string_view text) {
  text = without_newline(text);
  // A newer program may seal records differently, so the version is checked first.
  std::uint64_t format = 0;
  if (text.starts_with('{') && text.ends_with('}')) {
    if (const auto members = ObjectMembers::parse(text.substr(1, text.size() - 2))) format = members->number("pawl");
  }
  const auto body = unseal(text);
  if (format > kFormat) {
    return fail(newer_format("the store", format, kFormat));
  }
  if (!body || !body->starts_with('{')) return fail(damaged_store_file());
  const auto members = ObjectMembers::parse(body->substr(1));
  const auto id = members ? Uuid::parse(members->text("id")) : std::nullopt;
  const auto created = members ? Timestamp::parse(members->text("created")) : std::nullopt;
  if (!id || !created || format == 0) return fail(damaged_store_file());
  StoreRecord store{static_cast<std::uint32_t>(format), *id, *created, {}, {}};
  if (const std::uint64_t keep = members->number("keep"); keep > 0) store.keep = keep;
  if (const std::string key = members->raw("key"); key.starts_with('{')) {
    store.key = key_in(Json::parse(key, nullptr, false));
    if (!store.key) return fail(damaged_store_file());
  }
  return store;
}

}  // namespace pawl
