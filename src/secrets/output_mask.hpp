// Texts without the secrets in them.
#pragma once

#include <string>
#include <vector>

namespace pawl {

/// `text` with every secret replaced by ***. Empty secrets are none; longer ones go first.
[[nodiscard]] std::string masked(std::string text, const std::vector<std::string>& secrets);

}  // namespace pawl
