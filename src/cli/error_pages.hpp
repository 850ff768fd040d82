// The pages of docs/errors/, embedded for `pawl explain CODE`.
#pragma once

#include <span>
#include <string_view>

namespace pawl::cli {

struct ErrorPage {
  unsigned number;        // of the code: 301 for PAWL-0301
  std::string_view text;  // Markdown
};

/// One page per code, in ascending order. Generated at build time (cmake/errors.cmake).
extern const std::span<const ErrorPage> kErrorPages;

}  // namespace pawl::cli
