#include "codec/erased_text.hpp"

#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "domain/event_types.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kMarkFormat = 2;
constexpr std::uint64_t kErasedFormat = 1;
constexpr std::uint64_t kRemovedFormat = 2;  // older programs would miss the audit trail
constexpr std::size_t kHashDigits = 2 * sizeof(Sha256);
constexpr std::string_view kFinished = "done";
constexpr std::string_view kUnfinished = "pending";

bool read_trail_end(const ObjectMembers& members, ErasedRecord& record) {
  record.removed = true;
  record.entries = members.number("entries");
  record.head = members.text("head");
  record.peaks = members.text("peaks");
  return record.head.size() == kHashDigits && removed_entry_hash(record) == members.text("hash");
}

}  // namespace

std::string encode_erased(const ErasedRecord& record) {
  std::string out = fmt::format("{{\"pawl\":{}", record.removed ? kRemovedFormat : kErasedFormat);
  append_json_member(out, "run", record.run);
  append_json_member(out, "uuid", record.uuid.text());
  append_json_member(out, "created", record.created.text());
  append_json_member(out, record.removed ? "removed" : "erased", record.at.text());
  append_json_member(out, "by", record.by);
  append_json_member(out, "reason", record.reason);
  if (record.checkpoints) out += fmt::format(",\"checkpoints\":{}", *record.checkpoints);
  out += fmt::format(",\"latest\":{}", record.latest.value);
  if (record.damaged_entry != 0) out += fmt::format(",\"damaged_entry\":{}", record.damaged_entry);
  if (record.removed) {
    out += fmt::format(",\"entries\":{}", record.entries);
    append_json_member(out, "head", record.head);
    append_json_member(out, "peaks", record.peaks);
    append_json_member(out, "hash", removed_entry_hash(record));
    if (record.erased_at) {
      append_json_member(out, "erased", record.erased_at->text());
      append_json_member(out, "erased_by", record.erased_by);
      append_json_member(out, "erased_reason", record.erased_reason);
    }
  }
  append_json_member(out, "state", record.finished ? kFinished : kUnfinished);
  seal(out);
  out += '\n';
  return out;
}

Result<ErasedRecord> decode_erased(std::string_view text) {
  const auto damaged = [] {
    return fail(Error{Code::store_damaged, "erased.json is damaged", {}, "restore the file from a backup", 0});
  };
  if (!text.ends_with('\n')) return damaged();
  const auto body = unseal(text.substr(0, text.size() - 1));
  if (!body || !body->starts_with('{')) return damaged();
  const auto members = ObjectMembers::parse(body->substr(1));
  if (!members) return damaged();
  if (members->number("pawl") > kMarkFormat) {
    return fail(newer_format("erased.json", members->number("pawl"), kMarkFormat));
  }
  ErasedRecord record;
  record.run = members->text("run");
  const auto uuid = Uuid::parse(members->text("uuid"));
  const auto created = Timestamp::parse(members->text("created"));
  const bool removed = members->number("pawl") == kRemovedFormat;
  const auto erased = Timestamp::parse(members->text(removed ? "removed" : "erased"));
  if (record.run.empty() || !uuid || !created || !erased) return damaged();
  record.uuid = *uuid;
  record.created = *created;
  record.at = *erased;
  record.by = members->text("by");
  record.reason = members->text("reason");
  if (!members->raw("checkpoints").empty()) record.checkpoints = members->number("checkpoints");
  record.damaged_entry = members->number("damaged_entry");
  record.latest.value = members->number("latest");
  record.finished = members->text("state") == kFinished;
  if (removed && !read_trail_end(*members, record)) return damaged();
  if (removed) {
    record.erased_at = Timestamp::parse(members->text("erased"));
    record.erased_by = members->text("erased_by");
    record.erased_reason = members->text("erased_reason");
  }
  return record;
}

std::string encode_erased_entry(const ErasedRecord& record, std::uint64_t index, std::string_view previous) {
  std::string out = fmt::format("{{\"i\":{}", index);
  append_json_member(out, "at", record.at.text());
  append_json_member(out, "type", record.removed ? event_type::kRemoved : event_type::kErased);
  append_json_member(out, "by", record.by);
  append_json_member(out, "reason", record.reason);
  if (record.checkpoints) out += fmt::format(",\"checkpoints\":{}", *record.checkpoints);
  append_json_member(out, "prev", previous);
  const std::string hash = to_hex(sha256(from_hex(previous), out));
  return out + fmt::format(",\"hash\":\"{}\"}}\n", hash);
}

std::string removed_entry_hash(const ErasedRecord& record) {
  constexpr std::string_view kEnd = "\"}\n";
  const std::string entry = encode_erased_entry(record, record.entries + 1, record.head);
  return entry.substr(entry.size() - kEnd.size() - kHashDigits, kHashDigits);
}

Result<Erasure> erasure_of(const ErasedRecord& record, Erasure::Outcome outcome) {
  PAWL_TRY_ASSIGN(RunId run, RunId::parse(record.run));
  return Erasure{.run = std::move(run),
                 .outcome = outcome,
                 .at = record.at,
                 .by = record.by,
                 .reason = record.reason,
                 .checkpoints = record.checkpoints,
                 .waiting_for = {},
                 .forks = {},
                 .remains = record.removed ? Remains::tombstone : Remains::trail,
                 .uuid = record.uuid,
                 .latest = record.latest,
                 .entries = record.entries,
                 .head = record.head,
                 .erased_at = record.erased_at,
                 .erased_by = record.erased_by,
                 .erased_reason = record.erased_reason,
                 .damaged_entry = record.damaged_entry};
}

}  // namespace pawl
