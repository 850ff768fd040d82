// Packing and encryption of the payloads, metadata, events and messages of a run.
//
// All encrypted data is bound to its place: kind, run and number. It can't be decrypted anywhere else.
#pragma once

#include <functional>
#include <memory>

#include "codec/packing.hpp"
#include "codec/record_text.hpp"

namespace pawl {

/// The place of stored data in a run.
struct RecordPlace {
  enum class Kind : std::uint8_t { checkpoint, metadata, event, message, blob, log };
  Kind kind = Kind::checkpoint;
  std::uint64_t number = 0;  // the sequence, or the number of the event
  std::uint64_t parent = 0;
  std::string_view label = {};  // the id of a message or the name of a log
};

class RunCodec {
 public:
  /// Called at most once, when the key is needed. Listing needs no key.
  using FindKey = std::function<Result<SecretKey>()>;
  /// `find_key` is empty if the run is not encrypted.
  RunCodec(const Uuid& run, const PackRules& rules, FindKey find_key);

  [[nodiscard]] bool encrypted() const { return static_cast<bool>(find_key_); }

  // Writing. `nonce` are kNonceBytes random bytes.
  /// Calls pack(), before it is known whether the payload becomes a blob.
  [[nodiscard]] Packed packed(std::string_view bytes, Content content) const { return pack(bytes, content, rules_); }
  /// Encrypts `packed` if the run is encrypted.
  Result<void> protect(Packed& packed, std::string_view bytes, const RecordPlace& place, std::string_view nonce);
  /// The same for a blob. Equal blobs have equal results.
  Result<void> protect_blob(Packed& packed, std::string_view bytes);
  /// Returns a value as JSON: unchanged, or as a JSON string of base64 with `how` set.
  Result<std::string> stored_value(std::string_view json, const RecordPlace& place, std::string_view nonce,
                                   std::string& how);
  /// The same without compression and without `how`.
  Result<std::string> stored_metadata(std::string_view json, const RecordPlace& place, std::string_view nonce);
  /// Returns a salted fingerprint, so that short bodies can't be guessed from it.
  Result<std::uint64_t> fingerprint(std::uint64_t of_body);

  // Reading.
  Result<CheckpointInfo> info(const RecordView& record);
  /// Reads a payload that is not a blob: the state or the differences.
  Result<std::string> payload(const RecordView& record);
  /// Reads a blob; `bytes` is the content of its file.
  Result<std::string> blob(const RecordView& record, std::string_view bytes);
  Result<Event> event(StoredEvent stored);
  Result<std::string> value(std::string_view json, std::string_view how, const RecordPlace& place);
  /// Decrypts bytes that `protect` encrypted.
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

/// Returns random bytes for a nonce.
[[nodiscard]] std::string nonce_from(std::uint64_t first, std::uint64_t second);

}  // namespace pawl
