// What a run's records say, and how they say it: packing and secrecy of payloads, metadata, events and messages.
//
// Every encrypted thing is bound to its place: kind, run, and number. Moved to another one, it can't be opened.
#pragma once

#include <functional>
#include <memory>

#include "codec/packing.hpp"
#include "codec/record_text.hpp"

namespace pawl {

/// Where something of a run stands.
struct RecordPlace {
  enum class Kind : std::uint8_t { checkpoint, metadata, event, message, blob, log };
  Kind kind = Kind::checkpoint;
  std::uint64_t number = 0;  // the sequence, or the event's number
  std::uint64_t parent = 0;
  std::string_view label = {};  // a message's id, a log's name
};

class RunCodec {
 public:
  /// Asked for at most once, when it is needed: a listing needs no key.
  using FindKey = std::function<Result<SecretKey>()>;
  /// `find_key` empty: the run is not encrypted.
  RunCodec(const Uuid& run, const PackRules& rules, FindKey find_key);

  [[nodiscard]] bool encrypted() const { return static_cast<bool>(find_key_); }

  // Writing. `nonce`: kNonceBytes random bytes.
  /// As pack() says, before it is known whether it becomes a blob.
  [[nodiscard]] Packed packed(std::string_view bytes, Content content) const { return pack(bytes, content, rules_); }
  /// Encrypts, where the run is.
  Result<void> protect(Packed& packed, std::string_view bytes, const RecordPlace& place, std::string_view nonce);
  /// The same for a blob: equal ones become equal.
  Result<void> protect_blob(Packed& packed, std::string_view bytes);
  /// A value as JSON: as it is, or as a JSON string of base64 with `how` set.
  Result<std::string> stored_value(std::string_view json, const RecordPlace& place, std::string_view nonce,
                                   std::string& how);
  /// The same without compression, and without a word on how.
  Result<std::string> stored_metadata(std::string_view json, const RecordPlace& place, std::string_view nonce);
  /// So that short bodies can't be guessed by their fingerprint.
  Result<std::uint64_t> fingerprint(std::uint64_t of_body);

  // Reading.
  Result<CheckpointInfo> info(const RecordView& record);
  /// A payload that is no blob: the state or the differences.
  Result<std::string> payload(const RecordView& record);
  /// `bytes`: the blob's file.
  Result<std::string> blob(const RecordView& record, std::string_view bytes);
  Result<Event> event(StoredEvent stored);
  Result<std::string> value(std::string_view json, std::string_view how, const RecordPlace& place);
  /// Bytes that `protect` encrypted.
  Result<std::string> opened(std::string_view how, std::string_view bytes, const RecordPlace& place,
                             std::uint64_t bytes_max);

 private:
  Result<const SecretKey*> key();
  [[nodiscard]] std::string text_of(const RecordPlace& place) const;

  Uuid run_;
  PackRules rules_;
  FindKey find_key_;
  std::optional<SecretKey> key_;
};

/// Random bytes for a nonce.
[[nodiscard]] std::string nonce_from(std::uint64_t first, std::uint64_t second);

}  // namespace pawl
