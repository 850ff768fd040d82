// The encodings of a payload, with hostile bytes: decompression, binary formats, base64, decryption, key files.
#include "base/assert.hpp"
#include "codec/base64.hpp"
#include "codec/compression.hpp"
#include "codec/json_check.hpp"
#include "codec/packing.hpp"
#include "codec/run_codec.hpp"
#include "codec/state_format.hpp"

namespace {

using namespace pawl;

constexpr std::uint64_t kMax = 1U << 20U;
const SecretKey kKey = SecretKey::of("0123456789abcdef0123456789abcdef");
const Uuid kRun = *Uuid::parse("f204a1d5-8a93-4062-89ff-98071e9ca6ca");

/// Results must be within their bounds. Text decoded from a binary format that is valid JSON must survive a round trip.
void decode(std::string_view bytes) {
  for (const char* how : {"zstd", "gzip", "msgpack", "cbor", "aes", "msgpack+zstd", "cbor+zstd+aes", "gzip+aes"}) {
    const auto unpacked = unpack(how, bytes, &kKey, "place", kMax);
    if (unpacked) PAWL_ASSERT(unpacked->size() <= kMax);
  }
  for (const StateFormat format : {StateFormat::msgpack, StateFormat::cbor}) {
    const auto text = from_binary(bytes, format, kMax);
    if (!text) continue;
    PAWL_ASSERT(text->size() <= kMax);
    // Binary formats allow duplicate keys and text that is not UTF-8; the check refuses both.
    if (!check_json(*text, kMax)) continue;
    if (const auto again = to_binary(*text, format)) PAWL_ASSERT(*from_binary(*again, format, kMax) == *text);
  }
}

void text(std::string_view bytes) {
  if (const auto decoded = from_base64(bytes)) PAWL_ASSERT(to_base64(*decoded) == bytes);
  PAWL_ASSERT(from_base64(to_base64(bytes)) == bytes);
  static_cast<void>(parse_key(bytes));
  static_cast<void>(decode_run_key(bytes, kKey, kRun, kRun));
  static_cast<void>(decode_store(bytes));
}

/// Written data must be read back unchanged, and a changed byte must be detected.
void round_trip(std::string_view state) {
  if (!check_json(state, kMax)) return;
  for (const PackRules& rules : {PackRules{StateFormat::msgpack, Compression::zstd, 0, 1},
                                 PackRules{StateFormat::cbor, Compression::none, 0, 1}}) {
    Packed packed = pack(state, Content::state, rules);
    encrypt(packed, state, kKey, "012345678901", "place");
    const auto back = unpack(packed.how, packed.bytes, &kKey, "place", kMax);
    PAWL_ASSERT(back && *back == state);
    packed.bytes[packed.bytes.size() / 2] = static_cast<char>(packed.bytes[packed.bytes.size() / 2] ^ 1);
    PAWL_ASSERT(!unpack(packed.how, packed.bytes, &kKey, "place", kMax));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: decode(bytes); break;
    case 1: text(bytes); break;
    default: round_trip(bytes); break;
  }
  return 0;
}
