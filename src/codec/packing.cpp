#include "codec/packing.hpp"

#include <algorithm>

#include "codec/compression.hpp"
#include "codec/dictionary.hpp"
#include "codec/state_format.hpp"

namespace pawl {
namespace {

constexpr std::string_view kMessagePack = "msgpack";
constexpr std::string_view kCbor = "cbor";
constexpr std::string_view kZstd = "zstd";
constexpr std::string_view kZstd1 = "zstd1";  // with the first dictionary
constexpr std::string_view kGzip = "gzip";
constexpr std::string_view kAes = "aes";
constexpr std::uint64_t kWorthCompressing = 256;
constexpr std::uint64_t kDictionaryMax = 16U << 10;  // larger payloads contain enough repetition themselves

void add_name(std::string& how, std::string_view name) {
  if (!how.empty()) how += '+';
  how += name;
}

bool wants_compression(std::uint64_t size, const PackRules& rules) {
  switch (rules.compression) {
    case Compression::none: return false;
    case Compression::automatic: return size >= rules.compression_from_bytes;
    case Compression::zstd: return size >= kWorthCompressing;
  }
  return false;
}

}  // namespace

namespace {

Packed compressed(Packed packed, std::string_view bytes, const PackRules& rules) {
  if (!packed.how.empty()) bytes = packed.bytes;
  if (!wants_compression(bytes.size(), rules)) return packed;
  const bool small = rules.dictionary == Dictionary::built_in && bytes.size() <= kDictionaryMax;
  std::string smaller = compress_zstd(bytes, rules.compression_level, small ? kDictionary1 : std::string_view());
  // In a line it is stored as base64, which takes a third more.
  if (smaller.empty() || smaller.size() + smaller.size() / 3 >= bytes.size()) return packed;
  packed.bytes = std::move(smaller);
  add_name(packed.how, small ? kZstd1 : kZstd);
  return packed;
}

/// The size of the payload in a record: text as it is, anything else as base64.
std::uint64_t stored_size(const Packed& packed, std::string_view bytes) {
  return packed.how.empty() ? bytes.size() : (packed.bytes.size() + 2) / 3 * 4 + 2;
}

}  // namespace

Packed pack(std::string_view bytes, Content content, const PackRules& rules) {
  Packed as_text = compressed({}, bytes, rules);
  if (content != Content::state || rules.format == StateFormat::json) return as_text;
  auto binary = to_binary(bytes, rules.format);
  if (!binary) return as_text;
  Packed as_binary{std::string(rules.format == StateFormat::cbor ? kCbor : kMessagePack), std::move(*binary)};
  as_binary = compressed(std::move(as_binary), bytes, rules);
  return stored_size(as_binary, bytes) < stored_size(as_text, bytes) ? std::move(as_binary) : std::move(as_text);
}

void encrypt(Packed& packed, std::string_view bytes, const SecretKey& key, std::string_view nonce,
             std::string_view place) {
  packed.bytes = seal_secret(key, nonce, packed.how.empty() ? bytes : std::string_view(packed.bytes), place);
  add_name(packed.how, kAes);
}

bool is_encrypted(std::string_view how) { return how == kAes || how.ends_with("+aes"); }

Result<std::string> unpack(std::string_view how, std::string_view bytes, const SecretKey* key, std::string_view place,
                           std::uint64_t bytes_max) {
  std::string unpacked;
  bool is_first = true;
  while (!how.empty()) {
    const std::size_t plus = how.rfind('+');
    const std::string_view name = how.substr(plus == std::string_view::npos ? 0 : plus + 1);
    how = how.substr(0, plus == std::string_view::npos ? 0 : plus);
    const std::string_view given = is_first ? bytes : std::string_view(unpacked);
    // A binary format may be larger than the text: a number of three characters can take nine bytes.
    const std::uint64_t stage_max = how.empty() ? bytes_max : 3 * std::min(bytes_max, kUnpackedMax) + 64;
    Result<std::string> next;
    if (name == kAes && is_first) {
      if (key == nullptr) {
        return fail(Error{Code::key_missing,
                          "the data is encrypted and no key was given",
                          {},
                          "give the key as PAWL_KEY_FILE, PAWL_KEY or PAWL_PASSPHRASE",
                          0});
      }
      next = open_secret(*key, given, place);
    } else if (name == kZstd || name == kZstd1) {
      next = decompress_zstd(given, stage_max, name == kZstd1 ? kDictionary1 : std::string_view());
    } else if (name == kGzip) {
      next = decompress_gzip(given, stage_max);
    } else if (name == kMessagePack || name == kCbor) {
      next = from_binary(given, name == kCbor ? StateFormat::cbor : StateFormat::msgpack, bytes_max);
    } else {
      return fail(Error{Code::unsupported_version,
                        fmt::format("a record has the unknown storage format '{}'", name),
                        {},
                        "use the version of pawl that wrote it, or a newer one",
                        0});
    }
    if (!next) return next;
    unpacked = std::move(*next);
    is_first = false;
  }
  return is_first ? std::string(bytes) : std::move(unpacked);
}

}  // namespace pawl
