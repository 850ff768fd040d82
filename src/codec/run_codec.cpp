#include "codec/run_codec.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "codec/base64.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kValueMax = 256ULL << 20U;

std::string_view name_of(RecordPlace::Kind kind) {
  switch (kind) {
    case RecordPlace::Kind::checkpoint: return "checkpoint";
    case RecordPlace::Kind::metadata: return "metadata";
    case RecordPlace::Kind::event: return "event";
    case RecordPlace::Kind::message: return "message";
    case RecordPlace::Kind::blob: return "blob";
    case RecordPlace::Kind::log: return "log";
  }
  return {};
}

Result<std::string> bytes_of_string(std::string_view json) {
  const bool quoted = json.size() >= 2 && json.starts_with('"') && json.ends_with('"');
  auto bytes = quoted ? from_base64(json.substr(1, json.size() - 2)) : std::nullopt;
  if (!bytes) return fail(Code::decoding_failed, "a stored value is not base64");
  return std::move(*bytes);
}

/// Returns the recorded size of the state. Neither a state nor differences may be larger; a record that would exceed it
/// is a forgery.
std::uint64_t size_bound(const RecordView& record) {
  constexpr std::string_view kKey = "\"size\":";
  const std::size_t at = record.metadata.rfind(kKey);
  std::uint64_t size = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = record.metadata.substr(at + kKey.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), size);
  }
  return std::min(size, kUnpackedMax);
}

RecordPlace place_of(const RecordView& record) {
  return {RecordPlace::Kind::checkpoint, record.sequence.value, record.parent.value, {}};
}

}  // namespace

RunCodec::RunCodec(const Uuid& run, const PackRules& rules, FindKey find_key)
    : run_(run), rules_(rules), find_key_(std::move(find_key)) {}

Result<const SecretKey*> RunCodec::key() {
  if (!find_key_) return nullptr;
  if (!key_) {
    PAWL_TRY_ASSIGN(key_, find_key_());
  }
  return &*key_;
}

std::string RunCodec::text_of(const RecordPlace& place) const {
  return fmt::format("pawl/2 {} {} {} {} {}", name_of(place.kind), run_.text(), place.number, place.parent,
                     place.label);
}

Result<void> RunCodec::protect(Packed& packed, std::string_view bytes, const RecordPlace& place,
                               std::string_view nonce) {
  PAWL_TRY_ASSIGN(const SecretKey* secret, key());
  if (secret != nullptr) encrypt(packed, bytes, *secret, nonce, text_of(place));
  return {};
}

Result<void> RunCodec::protect_blob(Packed& packed, std::string_view bytes) {
  PAWL_TRY_ASSIGN(const SecretKey* secret, key());
  if (secret == nullptr) return {};
  const std::string nonce = nonce_of(*secret, packed.how.empty() ? bytes : std::string_view(packed.bytes));
  encrypt(packed, bytes, *secret, nonce, text_of({RecordPlace::Kind::blob, 0, 0, {}}));
  return {};
}

Result<std::string> RunCodec::stored_value(std::string_view json, const RecordPlace& place, std::string_view nonce,
                                           std::string& how) {
  Packed value = packed(json, Content::other);
  PAWL_TRY(protect(value, json, place, nonce));
  how = std::move(value.how);
  if (how.empty()) return std::string(json);
  return fmt::format("\"{}\"", to_base64(value.bytes));
}

Result<std::string> RunCodec::stored_metadata(std::string_view json, const RecordPlace& place, std::string_view nonce) {
  Packed value;
  if (!json.empty()) PAWL_TRY(protect(value, json, place, nonce));
  if (value.how.empty()) return std::string(json);
  return fmt::format("\"{}\"", to_base64(value.bytes));
}

Result<std::uint64_t> RunCodec::fingerprint(std::uint64_t of_body) {
  PAWL_TRY_ASSIGN(const SecretKey* secret, key());
  if (secret == nullptr) return of_body;
  const auto hash = keyed_hash(*secret, fmt::format("fingerprint {:016x}", of_body));
  std::uint64_t value = 0;
  std::memcpy(&value, hash.data(), sizeof(value));
  return value;
}

/// An unencrypted record in an encrypted run was written by someone without the key.
Result<std::string> RunCodec::opened(std::string_view how, std::string_view bytes, const RecordPlace& place,
                                     std::uint64_t bytes_max) {
  if (!is_encrypted(how)) {
    if (!encrypted()) return unpack(how, bytes, nullptr, {}, bytes_max);
    return fail(
        Error{Code::not_encrypted,
              fmt::format("an encrypted run contains an unencrypted {}: somebody else wrote it", name_of(place.kind)),
              {},
              "restore it from a backup",
              0,
              Advice::check_store});
  }
  PAWL_TRY_ASSIGN(const SecretKey* secret, key());
  return unpack(how, bytes, secret, text_of(place), bytes_max);
}

Result<CheckpointInfo> RunCodec::info(const RecordView& record) {
  PAWL_TRY_ASSIGN(CheckpointInfo info, decode_info(record));
  if (info.metadata.empty() || !encrypted()) return info;
  PAWL_TRY_ASSIGN(info.metadata, value(info.metadata, info.metadata.starts_with('"') ? "aes" : "",
                                       {RecordPlace::Kind::metadata, record.sequence.value, record.parent.value, {}}));
  return info;
}

Result<std::string> RunCodec::payload(const RecordView& record) {
  if (record.how.empty() && !encrypted()) {
    return record.payload_kind == Payload::text ? decode_text_payload(record.payload) : std::string(record.payload);
  }
  std::string bytes;
  if (!record.how.empty()) {
    PAWL_TRY_ASSIGN(bytes, bytes_of_string(record.payload));
  }
  return opened(record.how, bytes, place_of(record), size_bound(record));
}

Result<std::string> RunCodec::blob(const RecordView& record, std::string_view bytes) {
  return opened(record.how, bytes, {RecordPlace::Kind::blob, 0, 0, {}}, size_bound(record));
}

Result<Event> RunCodec::event(StoredEvent stored) {
  PAWL_TRY_ASSIGN(stored.event.data,
                  value(stored.event.data, stored.how, {RecordPlace::Kind::event, stored.event.number, 0, {}}));
  return std::move(stored.event);
}

Result<std::string> RunCodec::value(std::string_view json, std::string_view how, const RecordPlace& place) {
  if (how.empty()) return opened(how, json, place, kValueMax);
  PAWL_TRY_ASSIGN(const std::string bytes, bytes_of_string(json));
  return opened(how, bytes, place, kValueMax);
}

std::string nonce_from(std::uint64_t first, std::uint64_t second) {
  std::string nonce(kNonceBytes, '\0');
  std::memcpy(nonce.data(), &first, sizeof(first));
  std::memcpy(nonce.data() + sizeof(first), &second, kNonceBytes - sizeof(first));
  return nonce;
}

}  // namespace pawl
