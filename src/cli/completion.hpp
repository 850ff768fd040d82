// What can follow on a command line that is being typed. The shells' scripts ask for it and show it.
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
  /// What the shell knows better.
  enum class Also : std::uint8_t { nothing, files, folders, programs };

  std::vector<Candidate> candidates;
  Also also = Also::nothing;
  bool runs = false;                 // ids of runs fit, too: for whoever has the store
  std::string prefix;                // of the last word, before what is completed: "--state="
  std::string begun;                 // the rest of the last word
  std::optional<std::string> store;  // as --store says
};

/// `words`: those behind `pawl`; the last one is being typed, and may be empty. Words that make no sense are passed
/// over.
[[nodiscard]] Completion complete(const CommandInfo& root, const std::vector<std::string>& words);

/// The script for a shell: "bash", "zsh" or "fish"; empty for another.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace pawl::cli
