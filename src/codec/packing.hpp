// How the payload of a record is stored: in which format, compressed with what, encrypted or not.
//
// A record says it in `enc`: the names of what was done, in that order, joined by '+': "msgpack+zstd+aes". Nothing: as
// it is.
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
  Dictionary dictionary = Dictionary::built_in;  // for what is small
};

/// How large something that was stored may become when it is read: nothing larger is ever written.
constexpr std::uint64_t kUnpackedMax = 1ULL << 30U;

struct Packed {
  std::string how;    // empty: the bytes as they were given
  std::string bytes;  // only where `how` says something
};

enum class Content : std::uint8_t {
  state,  // a whole state, which may change its format
  other,  // differences, data of events
};

/// Format and compression, as far as they pay.
[[nodiscard]] Packed pack(std::string_view bytes, Content content, const PackRules& rules);
/// Encrypts on top of that: `packed` of `bytes`.
void encrypt(Packed& packed, std::string_view bytes, const SecretKey& key, std::string_view nonce,
             std::string_view place);

[[nodiscard]] bool is_encrypted(std::string_view how);
/// Undoes all of it. `key` null: it is not known. Fails with key_missing, decryption_failed, decoding_failed, or with
/// unsupported_version where `how` has a name that this program does not know.
[[nodiscard]] Result<std::string> unpack(std::string_view how, std::string_view bytes, const SecretKey* key,
                                         std::string_view place, std::uint64_t bytes_max);

}  // namespace pawl
