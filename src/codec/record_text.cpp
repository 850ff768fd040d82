#include "codec/record_text.hpp"

#include <charconv>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "domain/sequence_limit.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::string_view kSumKey = ",\"sum\":\"sha256:";
constexpr std::size_t kSumDigits = 64;
/// `,"sum":"sha256:...","crc":"..."}`
constexpr std::size_t kTailBytes = kSumKey.size() + kSumDigits + 1 + kSealBytes;
static_assert(kTailBytes == 98, "docs/formats/checkpoint.md says 98");

struct PayloadKey {
  Payload kind;
  std::string_view key;
};
// Longer names first, because a key is recognised by the text just before the payload.
constexpr PayloadKey kPayloadKeys[] = {
    {Payload::state_blob, "\"state_blob\":"},
    {Payload::diff_blob, "\"diff_blob\":"},
    {Payload::state, "\"state\":"},
    {Payload::text, "\"text\":"},
    {Payload::diff, "\"diff\":"},
};

std::string_view payload_key(Payload kind) {
  for (const PayloadKey& entry : kPayloadKeys) {
    if (entry.kind == kind) return entry.key;
  }
  return {};
}

void add_text(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  out += '"';
  out += key;
  out += "\":";
  append_json_string(out, value);
  out += ',';
}

/// Removes `key` and the number after it from the front of `text`.
bool take_number(std::string_view& text, std::string_view key, std::uint64_t& value) {
  if (!text.starts_with(key)) return false;
  text.remove_prefix(key.size());
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

Error corrupt(std::string message) {
  return Error{Code::checkpoint_corrupt, std::move(message), {}, {}, 0, Advice::check_store};
}

/// Removes `"v":2,"enc":"zstd",` from the front; records of format 1 have neither.
Result<void> take_version(std::string_view& head, RecordView& record) {
  std::uint64_t version = 1;
  if (take_number(head, "\"v\":", version) && head.starts_with(',')) head.remove_prefix(1);
  if (version > kFormat) {
    return fail(newer_format("a checkpoint", version, kFormat));
  }
  constexpr std::string_view kKey = "\"enc\":\"";
  if (version < 2 || !head.starts_with(kKey)) return {};
  head.remove_prefix(kKey.size());
  const std::size_t end = head.find('"');
  if (end == std::string_view::npos || head.substr(end, 2) != "\",")
    return fail(corrupt("a checkpoint's record does not name its storage format"));
  record.how = head.substr(0, end);
  head.remove_prefix(end + 2);
  return {};
}

void append_labels(std::string& out, const std::vector<SaveLabel>& labels) {
  if (labels.empty()) return;
  out += "\"also\":[";
  for (const SaveLabel& label : labels) {
    out += '{';
    add_text(out, "kind", to_text(label.kind));
    if (label.reason != Reason::manual) add_text(out, "reason", to_text(label.reason));
    add_text(out, "stage", label.stage);
    add_text(out, "step", label.step);
    out.back() = '}';
    out += ',';
  }
  out.back() = ']';
  out += ',';
}

void append_members(std::string& out, const CheckpointDraft& draft) {
  const CheckpointInfo& info = *draft.info;
  add_text(out, "id", info.id.text());
  add_text(out, "at", info.created.text());
  add_text(out, "kind", to_text(info.kind));
  if (info.status != Status::active) add_text(out, "status", to_text(info.status));
  if (info.reason != Reason::manual) add_text(out, "reason", to_text(info.reason));
  add_text(out, "name", info.name);
  add_text(out, "caller", info.caller_id);
  add_text(out, "caller_sum", draft.caller_fingerprint);
  add_text(out, "stage", info.stage);
  add_text(out, "step", info.step);
  append_labels(out, info.also);
  if (!draft.metadata.empty()) out += fmt::format("\"meta\":{},", draft.metadata);
  out += fmt::format("\"size\":{},", info.state_bytes);
}

}  // namespace

std::uint32_t seal_seed(const Uuid& run_uuid) {
  return crc32c(std::string_view(reinterpret_cast<const char*>(run_uuid.bytes.data()), run_uuid.bytes.size()));
}

std::string encode_checkpoint(const CheckpointDraft& draft, Shape shape, const RunSeal& run_seal, std::string& sum) {
  const bool own_lines = shape == Shape::file && draft.payload_kind == Payload::state;
  std::string out;
  out.reserve(draft.payload.size() + 512);
  out += fmt::format("{{\"seq\":{},\"parent\":{},\"stored\":{},\"v\":{},", draft.info->sequence.value,
                     draft.info->parent.value, draft.payload.size(), kFormat);
  add_text(out, "enc", draft.how);
  append_members(out, draft);
  out += payload_key(draft.payload_kind);
  if (own_lines) out += '\n';
  out += draft.payload;
  if (own_lines) out += '\n';
  sum = to_hex(sha256(run_seal.salt, out));
  out += kSumKey;
  out += sum;
  out += '"';
  seal(out, run_seal.seed);
  out += '\n';
  return out;
}

Result<RecordView> decode_checkpoint(std::string_view text, std::uint32_t seed) {
  if (text.size() < kTailBytes || !unseal(text, seed))
    return fail(corrupt("the record of a checkpoint has the wrong checksum"));
  RecordView record;
  record.text = text;
  std::string_view head = text;
  std::uint64_t stored = 0;
  if (!take_number(head, "{\"seq\":", record.sequence.value) ||
      !take_number(head, ",\"parent\":", record.parent.value) || !take_number(head, ",\"stored\":", stored) ||
      !head.starts_with(',')) {
    return fail(corrupt("the record of a checkpoint does not begin with seq, parent and stored"));
  }
  head.remove_prefix(1);
  if (record.sequence.value > kSequenceMax || record.parent.value > kSequenceMax)
    return fail(corrupt("the record of a checkpoint has an impossible number"));
  PAWL_TRY(take_version(head, record));
  const std::string_view tail = text.substr(text.size() - kTailBytes);
  if (!tail.starts_with(kSumKey)) return fail(corrupt("the record of a checkpoint has no sum"));
  record.sum = tail.substr(kSumKey.size(), kSumDigits);
  std::string_view middle = head.substr(0, head.size() - std::min(head.size(), kTailBytes));
  const bool own_lines = middle.ends_with('\n');
  if (own_lines) middle.remove_suffix(1);
  if (stored > middle.size()) return fail(corrupt("the record of a checkpoint is shorter than its payload"));
  record.payload = middle.substr(middle.size() - stored);
  middle.remove_suffix(stored);
  if (own_lines && middle.ends_with('\n')) middle.remove_suffix(1);
  for (const PayloadKey& entry : kPayloadKeys) {
    if (!middle.ends_with(entry.key)) continue;
    record.payload_kind = entry.kind;
    record.metadata = middle.substr(0, middle.size() - entry.key.size());
    return record;
  }
  return fail(corrupt("the record of a checkpoint has no payload"));
}

std::optional<std::vector<SaveLabel>> decode_labels(std::string_view json) {
  const Json array = parse_json(json);
  if (!array.is_array()) return std::nullopt;
  std::vector<SaveLabel> labels;
  for (const Json& entry : array) {
    if (!entry.is_object()) return std::nullopt;
    const auto kind = parse_kind(text_in(entry, "kind"));
    const auto reason = parse_reason(entry.contains("reason") ? text_in(entry, "reason") : "manual");
    if (!kind || !reason) return std::nullopt;
    labels.push_back({*kind, *reason, text_in(entry, "stage"), text_in(entry, "step")});
  }
  return labels;
}

Result<CheckpointInfo> decode_info(const RecordView& record) {
  PAWL_TRY_ASSIGN(const ObjectMembers members, ObjectMembers::parse(record.metadata));
  CheckpointInfo info;
  info.sequence = record.sequence;
  info.parent = record.parent;
  const auto id = Uuid::parse(members.text("id"));
  const auto created = Timestamp::parse(members.text("at"));
  const auto kind = parse_kind(members.text("kind"));
  const auto status = parse_status(members.text_or("status", "active"));
  const auto reason = parse_reason(members.text_or("reason", "manual"));
  const std::string also = members.raw("also");
  auto labels = also.empty() ? std::vector<SaveLabel>() : decode_labels(also);
  if (!id || !created || !kind || !status || !reason || !labels) {
    return fail(corrupt(fmt::format("checkpoint {} has a member of the wrong type", record.sequence.value)));
  }
  info.id = *id;
  info.created = *created;
  info.kind = *kind;
  info.status = *status;
  info.reason = *reason;
  info.name = members.text("name");
  info.caller_id = members.text("caller");
  info.stage = members.text("stage");
  info.step = members.text("step");
  info.also = std::move(*labels);
  info.metadata = members.raw("meta");
  info.state_bytes = members.number("size");
  info.stored_bytes = record.text.size() + 1;
  info.whole = record.whole();
  info.checksum = "sha256:" + std::string(record.sum);
  return info;
}

std::string decode_fingerprint(const RecordView& record) {
  const auto members = ObjectMembers::parse(record.metadata);
  return members ? members->text("caller_sum") : std::string();
}

bool sum_matches(const RecordView& record, std::string_view salt) {
  const std::string_view covered = record.text.substr(0, record.text.size() - kTailBytes);
  return to_hex(sha256(salt, covered)) == record.sum;
}

std::string encode_splices(std::span<const Splice> splices) {
  std::string out = "[";
  for (const Splice& splice : splices) {
    if (out.size() > 1) out += ',';
    out += fmt::format("[{},{},", splice.offset, splice.removed);
    append_json_string(out, splice.inserted);
    out += ']';
  }
  out += ']';
  return out;
}

Result<void> apply_encoded_splices(std::string& state, std::string_view payload) {
  const auto bad = [] {
    return fail(Code::state_reconstruction_failed, "a recorded difference does not match the state before it");
  };
  struct Change {
    std::uint64_t offset = 0;
    std::uint64_t removed = 0;
    std::string inserted;
  };
  std::vector<Change> changes;
  std::string_view rest = payload;
  if (rest.size() < 2 || !rest.starts_with('[') || !rest.ends_with(']')) return bad();
  rest = rest.substr(1, rest.size() - 2);
  std::uint64_t reached = 0;
  while (!rest.empty()) {
    Change change;
    if (!changes.empty() && rest.starts_with(',')) rest.remove_prefix(1);
    if (!take_number(rest, "[", change.offset) || !take_number(rest, ",", change.removed) || !rest.starts_with(",\"")) {
      return bad();
    }
    rest.remove_prefix(1);
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2U : 1U;
    if (end >= rest.size()) return bad();
    change.inserted = unescape_json(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
    if (!rest.starts_with(']')) return bad();
    rest.remove_prefix(1);
    if (change.offset < reached || change.offset > state.size() || change.removed > state.size() - change.offset)
      return bad();
    reached = change.offset + change.removed;
    changes.push_back(std::move(change));
  }
  // Offsets refer to the previous state, so changes are applied from the back, which keeps the earlier offsets valid.
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    state.replace(change->offset, change->removed, change->inserted);
  }
  return {};
}

Result<std::string> decode_text_payload(std::string_view payload) {
  if (payload.size() < 2 || !payload.starts_with('"') || !payload.ends_with('"')) {
    return fail(corrupt("a state stored as text is not a JSON string"));
  }
  return unescape_json(payload);
}

}  // namespace pawl
