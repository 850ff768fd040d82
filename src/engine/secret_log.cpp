#include "engine/secret_log.hpp"

#include <algorithm>

namespace pawl {
namespace {

constexpr std::uint64_t kLengthBytes = 4;
constexpr std::size_t kFrameBytesMax = 1U << 20U;  // of output

std::string name_below(const std::string& folder, const std::string& path) {
  return path.starts_with(folder + "/") ? path.substr(folder.size() + 1) : path;
}

std::string length_bytes(std::size_t length) {
  std::string bytes(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes[i] = static_cast<char>(length >> (8 * i) & 0xFFU);
  return bytes;
}

std::uint64_t length_in(std::string_view bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

class SecretOutputFile final : public OutputFile {
 public:
  SecretOutputFile(LocalFiles& files, std::shared_ptr<LogCipher> cipher, std::string path, std::string name)
      : files_(files),
        cipher_(std::move(cipher)),
        path_(std::move(path)),
        name_(std::move(name)),
        offset_(files.size(path_)) {}

  Result<void> append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kFrameBytesMax);
      bytes.remove_prefix(part.size());
      PAWL_TRY_ASSIGN(const std::string sealed, cipher_->seal(part, name_, offset_));
      PAWL_TRY(files_.append(path_, length_bytes(sealed.size()) + sealed));
      offset_ += kLengthBytes + sealed.size();
    }
    return {};
  }

 private:
  LocalFiles& files_;
  const std::shared_ptr<LogCipher> cipher_;
  const std::string path_;
  const std::string name_;
  std::uint64_t offset_;
};

}  // namespace

OpenOutputFile secret_output_files(LocalFiles& files, std::shared_ptr<LogCipher> cipher, std::string folder) {
  return [&files, cipher = std::move(cipher), folder = std::move(folder)](const std::string& path) {
    return std::make_unique<SecretOutputFile>(files, cipher, path, name_below(folder, path));
  };
}

LogReader::LogReader(LocalFiles& files, std::shared_ptr<LogCipher> cipher, std::string folder)
    : files_(files), cipher_(std::move(cipher)), folder_(std::move(folder)) {}

Result<std::string> LogReader::read(const std::string& path, std::uint64_t& offset, std::uint64_t bytes_max) {
  if (!cipher_) {
    PAWL_TRY_ASSIGN(std::string bytes, files_.read_range(path, offset, bytes_max));
    offset += bytes.size();
    return bytes;
  }
  const std::string name = name_below(folder_, path);
  const std::uint64_t size = files_.size(path);
  std::string text;
  while (text.size() < bytes_max && offset + kLengthBytes <= size) {
    PAWL_TRY_ASSIGN(const std::string head, files_.read_range(path, offset, kLengthBytes));
    if (head.size() < kLengthBytes) break;
    const std::uint64_t length = length_in(head);
    if (length > kFrameBytesMax * 2)
      return fail(Error{Code::decryption_failed, "the log is damaged or not encrypted", path, {}, 0});
    if (offset + kLengthBytes + length > size) break;
    PAWL_TRY_ASSIGN(const std::string sealed, files_.read_range(path, offset + kLengthBytes, length));
    auto opened = cipher_->open(sealed, name, offset);
    if (!opened) return fail(at(opened.error(), path));
    text += *opened;
    offset += kLengthBytes + length;
  }
  return text;
}

}  // namespace pawl
