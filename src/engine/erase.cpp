#include "engine/erase.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::size_t kReasonBytesMax = 1000;

/// Returns whether the text is one line of valid UTF-8.
bool is_plain(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = first_code_point(text);
    if (first.size == 0 || first.value < 0x20U || first.value == 0x7fU) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

}  // namespace

Result<Erasure> checked_erase(Store& store, const RunId& run, const EraseRequest& request) {
  const std::string& reason = request.reason;
  const bool blank = std::ranges::all_of(reason, [](char c) { return c == ' '; });
  const bool may_be_blank = request.remains == Remains::tombstone;
  if ((blank && !may_be_blank) || reason.size() > kReasonBytesMax || !is_plain(reason)) {
    return fail(Error{Code::usage,
                      fmt::format("invalid reason: must be one line of 1 to {} bytes", kReasonBytesMax),
                      {},
                      "for example: --reason 'request 17 of 2026-01-11'",
                      0});
  }
  return store.erase(run, request);
}

}  // namespace pawl
