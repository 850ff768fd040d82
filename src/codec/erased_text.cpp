#include "codec/erased_text.hpp"

#include "codec/object_members.hpp"
#include "codec/sealed_text.hpp"
#include "domain/event_types.hpp"
#include "text/json_text.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kMarkFormat = 1;
constexpr std::string_view kFinished = "done";
constexpr std::string_view kUnfinished = "pending";

}  // namespace

std::string encode_erased(const ErasedRecord& record) {
  std::string out = fmt::format("{{\"pawl\":{}", kMarkFormat);
  append_json_member(out, "run", record.run);
  append_json_member(out, "uuid", record.uuid.text());
  append_json_member(out, "created", record.created.text());
  append_json_member(out, "erased", record.at.text());
  append_json_member(out, "by", record.by);
  append_json_member(out, "reason", record.reason);
  out += fmt::format(",\"checkpoints\":{},\"latest\":{}", record.checkpoints, record.latest.value);
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
  const auto erased = Timestamp::parse(members->text("erased"));
  if (record.run.empty() || !uuid || !created || !erased) return damaged();
  record.uuid = *uuid;
  record.created = *created;
  record.at = *erased;
  record.by = members->text("by");
  record.reason = members->text("reason");
  record.checkpoints = members->number("checkpoints");
  record.latest.value = members->number("latest");
  record.finished = members->text("state") == kFinished;
  return record;
}

std::string encode_erased_entry(const ErasedRecord& record, std::uint64_t index, std::string_view previous) {
  std::string out = fmt::format("{{\"i\":{}", index);
  append_json_member(out, "at", record.at.text());
  append_json_member(out, "type", event_type::kErased);
  append_json_member(out, "by", record.by);
  append_json_member(out, "reason", record.reason);
  out += fmt::format(",\"checkpoints\":{}", record.checkpoints);
  append_json_member(out, "prev", previous);
  const std::string hash = to_hex(sha256(from_hex(previous), out));
  return out + fmt::format(",\"hash\":\"{}\"}}\n", hash);
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
                 .forks = {}};
}

}  // namespace pawl
