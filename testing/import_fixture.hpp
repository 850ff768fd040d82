// Helpers for tests of importers.
#pragma once

#include <gtest/gtest.h>

#include "importers/formats.hpp"
#include "testing/text_files.hpp"

namespace pawl {

struct Parsed {
  std::vector<ImportedRun> runs = {};
  std::vector<ImportProblem> problems = {};
  std::vector<ImportNote> notes = {};

  [[nodiscard]] std::vector<Code> codes() const {
    std::vector<Code> found;
    for (const ImportProblem& problem : problems) found.push_back(problem.code);
    return found;
  }
};

/// Parses with the recognised format, which must be `format`.
inline Parsed parse_files(testing::TextFiles& files, std::string_view format, const std::string& only = {}) {
  Parsed parsed;
  const auto tree = SourceTree::open(files, only, {});
  EXPECT_TRUE(tree);
  const ImportFormat* found = recognise_import(*tree);
  EXPECT_NE(found, nullptr);
  if (found == nullptr) return parsed;
  EXPECT_EQ(found->name, format);
  found->parse(*tree, {.run = [&](ImportedRun run) { parsed.runs.push_back(std::move(run)); },
                       .problem = [&](ImportProblem problem) { parsed.problems.push_back(std::move(problem)); },
                       .note = [&](ImportNote note) { parsed.notes.push_back(std::move(note)); }});
  EXPECT_FALSE(files.written());
  return parsed;
}

}  // namespace pawl
