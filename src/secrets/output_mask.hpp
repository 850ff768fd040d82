// Masking of known secrets.
#pragma once

#include <string>
#include <vector>

namespace pawl {

/// Returns `text` with every secret replaced by ***. Ignores empty secrets; replaces the longest first.
[[nodiscard]] std::string masked(std::string text, const std::vector<std::string>& secrets);

}  // namespace pawl
