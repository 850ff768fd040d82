#include "secrets/output_mask.hpp"

#include <algorithm>

namespace pawl {

std::string masked(std::string text, const std::vector<std::string>& secrets) {
  std::vector<std::string> longest_first = secrets;
  std::ranges::sort(longest_first, std::ranges::greater(), &std::string::size);
  for (const std::string& secret : longest_first) {
    if (secret.empty()) continue;
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3)) {
      text.replace(at, secret.size(), "***");
    }
  }
  return text;
}

}  // namespace pawl
