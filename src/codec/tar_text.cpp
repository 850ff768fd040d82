#include "codec/tar_text.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace pawl {
namespace {

constexpr std::size_t kPathAt = 0;
constexpr std::size_t kPathBytes = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kTimeAt = 136;
constexpr std::size_t kNumberBytes = 12;
constexpr std::size_t kSumAt = 148;
constexpr std::size_t kSumBytes = 8;
constexpr std::size_t kTypeAt = 156;
constexpr char kRegular = '0';
constexpr char kExtended = 'x';
constexpr std::uint64_t kOctalMax = (1ULL << 33U) - 1;

void put_text(std::string& block, std::size_t at, std::string_view text) { block.replace(at, text.size(), text); }

/// Eleven octal digits and a zero byte.
void put_octal(std::string& block, std::size_t at, std::uint64_t value) {
  put_text(block, at, fmt::format("{:011o}", value));
}

std::string block_of(std::string_view path, std::uint64_t size, std::int64_t modified_s, char type) {
  std::string block(kTarBlockBytes, '\0');
  put_text(block, kPathAt, path.substr(0, kPathBytes));
  put_text(block, 100, "0000600");
  put_text(block, 108, "0000000");
  put_text(block, 116, "0000000");
  put_octal(block, kSizeAt, size);
  put_octal(block, kTimeAt, static_cast<std::uint64_t>(std::max<std::int64_t>(modified_s, 0)));
  put_text(block, kSumAt, "        ");
  block[kTypeAt] = type;
  put_text(block, 257, std::string_view("ustar\00000", 8));
  const auto sum = std::accumulate(block.begin(), block.end(), std::uint64_t{0},
                                   [](std::uint64_t total, char c) { return total + static_cast<unsigned char>(c); });
  put_text(block, kSumAt, fmt::format("{:06o}", sum));
  block[kSumAt + kSumBytes - 2] = '\0';
  return block;
}

/// `LENGTH KEY=VALUE\n`, where LENGTH counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length) length = rest + std::to_string(length).size();
  return fmt::format("{} {}={}\n", length, key, value);
}

std::optional<std::uint64_t> number_at(std::string_view block, std::size_t at, int base) {
  std::uint64_t value = 0;
  const std::string_view text = block.substr(at, kNumberBytes - 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view text_until_zero(std::string_view text) { return text.substr(0, text.find('\0')); }

std::unexpected<Error> odd_header() {
  return fail(Error{Code::backup_damaged,
                    "the backup contains an entry of a kind that backups do not have",
                    {},
                    "use another backup, or copy this one again",
                    0});
}

/// Returns the value of a record at the start of `records`, and removes the record.
std::optional<std::string> take_record(std::string_view& records, std::string_view key) {
  const std::size_t space = records.find(' ');
  if (space == std::string_view::npos || !records.substr(space + 1).starts_with(key)) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(records.data(), records.data() + space, length);
  const std::size_t value_at = space + 1 + key.size() + 1;
  if (error != std::errc{} || end != records.data() + space || length > records.size() || length <= value_at)
    return std::nullopt;
  std::string value(records.substr(value_at, length - value_at - 1));
  records.remove_prefix(length);
  return value;
}

}  // namespace

std::string encode_tar_header(const TarHeader& header) {
  std::string records;
  if (header.path.size() > kPathBytes) records += pax_record("path", header.path);
  if (header.size_bytes > kOctalMax) records += pax_record("size", std::to_string(header.size_bytes));
  std::string blocks;
  if (!records.empty()) {
    blocks = block_of("pax_header", records.size(), header.modified_s, kExtended) + records;
    blocks.append(tar_padding_bytes(records.size()), '\0');
  }
  return blocks +
         block_of(header.path, header.size_bytes > kOctalMax ? 0 : header.size_bytes, header.modified_s, kRegular);
}

std::uint64_t tar_padding_bytes(std::uint64_t size_bytes) {
  return (kTarBlockBytes - size_bytes % kTarBlockBytes) % kTarBlockBytes;
}

Result<std::uint64_t> tar_header_bytes(std::string_view block) {
  if (block.size() < kTarBlockBytes) return odd_header();
  if (block[kTypeAt] == kRegular) return kTarBlockBytes;
  const auto size = number_at(block, kSizeAt, 8);
  if (block[kTypeAt] != kExtended || !size || *size > kTarHeaderBytesMax - 2 * kTarBlockBytes) return odd_header();
  return 2 * kTarBlockBytes + *size + tar_padding_bytes(*size);
}

Result<TarHeader> decode_tar_header(std::string_view blocks) {
  PAWL_TRY_ASSIGN(const std::uint64_t bytes, tar_header_bytes(blocks));
  if (blocks.size() != bytes) return odd_header();
  const std::string_view last = blocks.substr(blocks.size() - kTarBlockBytes);
  const auto size = number_at(last, kSizeAt, 8);
  const auto modified_s = number_at(last, kTimeAt, 8);
  if (!size || !modified_s) return odd_header();
  TarHeader header{.path = std::string(text_until_zero(last.substr(kPathAt, kPathBytes))),
                   .size_bytes = *size,
                   .modified_s = static_cast<std::int64_t>(*modified_s)};
  if (blocks.size() > kTarBlockBytes) {
    const auto records_bytes = number_at(blocks, kSizeAt, 8);
    std::string_view records = blocks.substr(kTarBlockBytes, records_bytes.value_or(0));
    if (auto path = take_record(records, "path")) header.path = std::move(*path);
    if (const auto text = take_record(records, "size")) {
      const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), header.size_bytes);
      if (error != std::errc{} || end != text->data() + text->size()) return odd_header();
    }
  }
  // Covers links, devices, owners, unknown records and wrong checksums at once.
  if (header.path.size() > kTarPathBytesMax || encode_tar_header(header) != blocks) return odd_header();
  return header;
}

bool is_tar_end(std::string_view block) {
  return block.size() == kTarBlockBytes && block.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace pawl
