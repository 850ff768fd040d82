// Completions for a partial command line, used by the shell scripts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_tree.hpp"

namespace pawl::cli {

struct Completion {
  struct Candidate {
    std::string word;
    std::string help;
  };
  /// Completions that the shell itself provides.
  enum class Also : std::uint8_t { nothing, files, folders, programs };

  std::vector<Candidate> candidates;
  Also also = Also::nothing;
  bool runs = false;                 // ids of runs are also possible; the caller reads them from the store
  std::string prefix;                // the part of the last word before the completed text: "--state="
  std::string begun;                 // the rest of the last word
  std::optional<std::string> store;  // the value of --store
};

/// `words` are those after `pawl`; the last one is being typed and may be empty. Unknown words are
/// ignored.
[[nodiscard]] Completion complete(const CommandInfo& root, const std::vector<std::string>& words);

/// The completion script of "bash", "zsh" or "fish"; empty for other shells.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace pawl::cli
