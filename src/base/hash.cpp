#include "base/hash.hpp"

#define OPENSSL_SUPPRESS_DEPRECATED  // of SHA256_Init and its siblings, see below
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <cstring>

#include "base/assert.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace pawl {
namespace {

// No linked library provides CRC-32C: zlib and zstd compute other checksums, and OpenSSL has none.
constexpr std::uint32_t kCastagnoliReversed = 0x82F63B78U;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) != 0 ? kCastagnoliReversed : 0U);
    table[i] = value;
  }
  return table;
}

std::uint32_t crc_by_table(std::string_view bytes, std::uint32_t crc) {
  static constexpr auto kTable = make_table();
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFFU] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(std::string_view bytes, std::uint32_t crc) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t wide = crc;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (; left > 0; ++at, --left) narrow = _mm_crc32_u8(narrow, static_cast<std::uint8_t>(*at));
  return narrow;
}
#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~crc_by_instruction(bytes, ~seed);
#endif
  return ~crc_by_table(bytes, ~seed);
}

Sha256 sha256(std::string_view a, std::string_view b, std::string_view c) {
  // The functions of OpenSSL for this one algorithm: EVP reads a configuration file and loads a provider first, which
  // takes a quarter of the time of a short command, and costs more than hashing a small record.
  SHA256_CTX context;
  bool ok = SHA256_Init(&context) == 1;
  for (const std::string_view part : {a, b, c}) {
    if (!part.empty()) ok = ok && SHA256_Update(&context, part.data(), part.size()) == 1;
  }
  Sha256 hash{};
  ok = ok && SHA256_Final(hash.data(), &context) == 1;
  PAWL_ASSERT(ok);
  return hash;
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  PAWL_ASSERT(EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) == 1);
}
Sha256Stream::~Sha256Stream() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256Stream::add(std::string_view bytes) {
  PAWL_ASSERT(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1);
}

Sha256 Sha256Stream::finish() {
  Sha256 hash{};
  PAWL_ASSERT(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), hash.data(), nullptr) == 1);
  return hash;
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex(bytes.size() * 2, '\0');
  char* to = hex.data();
  for (const char byte : bytes) {
    *to++ = kDigits[static_cast<std::uint8_t>(byte) >> 4];
    *to++ = kDigits[static_cast<std::uint8_t>(byte) & 15];
  }
  return hex;
}

std::string to_hex(const Sha256& hash) {
  return to_hex(std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

std::string to_hex(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 0xFFU);
  return to_hex(bytes);
}

namespace {

constexpr std::array<std::int8_t, 256> make_digit_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (int i = 0; i < 10; ++i) values[static_cast<std::size_t>('0' + i)] = static_cast<std::int8_t>(i);
  for (int i = 0; i < 6; ++i) values[static_cast<std::size_t>('a' + i)] = static_cast<std::int8_t>(10 + i);
  return values;
}
constexpr auto kDigitValues = make_digit_values();

}  // namespace

std::string from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return {};
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = kDigitValues[static_cast<std::uint8_t>(hex[2 * i])];
    const int low = kDigitValues[static_cast<std::uint8_t>(hex[2 * i + 1])];
    if (high < 0 || low < 0) return {};
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace pawl
