// The JSON Schemas of the --json output of commands, embedded from schemas/.
#pragma once

#include <span>
#include <string_view>

namespace pawl::cli {

struct OutputSchema {
  std::string_view command;  // "audit list"
  std::string_view text;
};

extern const std::span<const OutputSchema> kOutputSchemas;  // sorted by command

}  // namespace pawl::cli
