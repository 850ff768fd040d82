#include "cli/output.hpp"

#include <cerrno>
#include <system_error>

namespace pawl::cli {
namespace {

constexpr std::size_t kBufferBytesMax = 64 * 1024;

}  // namespace

void Output::write(std::string_view bytes) {
  if (os_error_ != 0) return;
  if (buffer_.size() + bytes.size() <= kBufferBytesMax) {
    buffer_ += bytes;
    return;
  }
  send();
  if (os_error_ == 0 && bytes.size() > kBufferBytesMax) {
    os_error_ = writer_(bytes);
  } else {
    buffer_ += bytes;
  }
}

Result<void> Output::flush() {
  send();
  if (os_error_ == 0) return {};
  const Code code = os_error_ == ENOSPC || os_error_ == EDQUOT ? Code::disk_full : Code::write_failed;
  return fail(Error{code,
                    fmt::format("can't write to {}: {}", name_, std::generic_category().message(os_error_)),
                    {},
                    {},
                    os_error_});
}

void Output::send() {
  if (os_error_ == 0 && !buffer_.empty()) os_error_ = writer_(buffer_);
  buffer_.clear();
}

}  // namespace pawl::cli
