// A run's messages: one sealed file each (docs/formats/checkpoint.md, "Inbox").
//
// A message is not in the journal: whoever posts it is not the run's writer and needs no lock.
#pragma once

#include "codec/run_codec.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"
#include "ports/store.hpp"

namespace pawl {

/// `{at as 20 digits of microseconds}-{16 hexadecimal digits}`: sorts by time.
[[nodiscard]] std::string message_id(Timestamp at, std::uint64_t random);
/// Whether a text has that form. What has not is no message's id, and must not become a path.
[[nodiscard]] bool is_message_id(std::string_view id);

/// A message as it stands in its file: with `how`, the body is base64 as a JSON string.
struct StoredMessage {
  Message message;
  std::string how = {};
};
/// The file's text, ending with a newline. Line breaks in the body become spaces.
[[nodiscard]] std::string encode_message(const StoredMessage& stored, std::uint32_t seed);
/// store_damaged where the text is not that of message `id` of the run that `seed` belongs to.
[[nodiscard]] Result<StoredMessage> decode_message(std::string_view text, std::string_view id, std::uint32_t seed);

/// The messages of one run that exists. Several processes may post and list at the same time.
class Inbox {
 public:
  /// `seed`: of the run's seals.
  Inbox(FileSystem& files, std::string run, std::uint32_t seed);

  /// What the names of the folders on the way are known to be.
  enum class Names : std::uint8_t { unsynced, durable };
  /// Durable when it returns; sorts behind every message that was there before. outcome_unknown where its
  /// name could not be synced: then it may be listed.
  Result<std::string> post(const Environment& environment, RunCodec& codec, std::string_view body, Names names);
  /// Oldest first. Files on their way are no messages; a damaged one is an error with its path.
  Result<std::vector<Message>> list(RunCodec& codec);
  /// The ids of all messages, oldest first.
  Result<std::vector<std::string>> ids();
  /// Nothing where it has been taken away meanwhile.
  Result<std::optional<StoredMessage>> read(const std::string& id);

 private:
  Result<Timestamp> next_time(Timestamp now);
  Result<void> sync_names(Names names);

  FileSystem& files_;
  const std::string run_;
  const std::uint32_t seed_;
};

}  // namespace pawl
