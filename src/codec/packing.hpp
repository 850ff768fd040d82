// How the payload of a record is stored: its format, compression and encryption.
//
// A record names the transformations in `enc`, in the order in which they were applied, joined by '+':
// "msgpack+zstd+aes". Without `enc` the payload is stored unchanged.
#pragma once

#include <string>
#include <string_view>

#include "codec/aead.hpp"
#include "domain/settings.hpp"

namespace pawl {

enum class Dictionary : std::uint8_t { none, built_in };

struct PackRules {
  StateFormat format = StateFormat::json;
  Compression compression = Compression::none;
  std::uint64_t compression_from_bytes = 100'000;
  std::int32_t compression_level = 3;
  Dictionary dictionary = Dictionary::built_in;  // for small payloads
};

/// The maximum size of unpacked data. Nothing larger is ever written.
constexpr std::uint64_t kUnpackedMax = 1ULL << 30U;

struct Packed {
  std::string how;    // empty if the bytes are unchanged
  std::string bytes;  // only set if `how` is not empty
};

enum class Content : std::uint8_t {
  state,  // a whole state, which may change its format
  other,  // differences, data of events
};

/// Applies format and compression if they make the stored record smaller. A binary format can only be used for JSON
/// that it gives back byte for byte: without spaces between tokens, and with numbers in their shortest form.
[[nodiscard]] Packed pack(std::string_view bytes, Content content, const PackRules& rules);
/// Encrypts `packed`, the packed form of `bytes`.
void encrypt(Packed& packed, std::string_view bytes, const SecretKey& key, std::string_view nonce,
             std::string_view place);

[[nodiscard]] bool is_encrypted(std::string_view how);
/// Reverses all transformations. `key` is null if it is not known. Fails with key_missing, decryption_failed,
/// decoding_failed, or with unsupported_version if `how` contains an unknown name.
[[nodiscard]] Result<std::string> unpack(std::string_view how, std::string_view bytes, const SecretKey* key,
                                         std::string_view place, std::uint64_t bytes_max);

}  // namespace pawl
