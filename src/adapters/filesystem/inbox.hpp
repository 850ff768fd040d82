// A run's messages: one sealed file each (docs/formats/checkpoint.md, "Inbox").
//
// Messages are not in the journal: the process that posts one is not the run's writer and needs no lock.
#pragma once

#include "codec/run_codec.hpp"
#include "ports/environment.hpp"
#include "ports/file_system.hpp"
#include "ports/store.hpp"

namespace pawl {

/// `{at as 20 digits of microseconds}-{16 hexadecimal digits}`: sorts by time.
[[nodiscard]] std::string message_id(Timestamp at, std::uint64_t random);
/// Returns whether a text has that form. Any other text is not a message id and must not become a path.
[[nodiscard]] bool is_message_id(std::string_view id);

/// A message as stored in its file: with `how`, the body is base64 in a JSON string.
struct StoredMessage {
  Message message;
  std::string how = {};
};
/// Returns the text of the file, which ends with a newline. Line breaks in the body become spaces.
[[nodiscard]] std::string encode_message(const StoredMessage& stored, std::uint32_t seed);
/// Fails with store_damaged if the text is not that of message `id` of the run that `seed` belongs to.
[[nodiscard]] Result<StoredMessage> decode_message(std::string_view text, std::string_view id, std::uint32_t seed);

/// The messages of one existing run. Several processes may post and list concurrently.
class Inbox {
 public:
  /// `seed` belongs to the seals of the run.
  Inbox(FileSystem& files, std::string run, std::uint32_t seed);

  /// Whether the names of the parent folders are known to be durable.
  enum class Names : std::uint8_t { unsynced, durable };
  /// Posts a message, which is durable on return and sorts after every existing message. Fails with outcome_unknown if
  /// its name could not be synced; the message may then be listed.
  Result<std::string> post(const Environment& environment, RunCodec& codec, std::string_view body, Names names);
  /// Returns the messages, oldest first. Ignores files that are being written. A damaged message is an error with its
  /// path.
  Result<std::vector<Message>> list(RunCodec& codec);
  /// Returns the ids of all messages, oldest first.
  Result<std::vector<std::string>> ids();
  /// Returns nothing if the message was removed in the meantime.
  Result<std::optional<StoredMessage>> read(const std::string& id);

 private:
  Result<Timestamp> next_time(Timestamp now);
  Result<void> sync_names(Names names);

  FileSystem& files_;
  const std::string run_;
  const std::uint32_t seed_;
};

}  // namespace pawl
