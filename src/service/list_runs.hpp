// Listing runs: which of them, and what is told about each.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/lineage.hpp"
#include "service/run_summary.hpp"

namespace pawl {

/// A member of the metadata of the newest checkpoint. A key such as `a.b` also finds nested members.
struct MetadataMatch {
  std::string key;
  std::string value;  // JSON, or the content of a string
};

struct ListRequest {
  std::size_t limit = 50;
  enum class Scope : std::uint8_t { all, resumable } scope = Scope::all;
  // A run must fit all of these; an empty one lets every run through.
  std::vector<std::string> statuses = {};   // one of these words, as status_word() gives them
  std::vector<std::string> workflows = {};  // one of these: a file, or a name if it has no file
  std::string session = {};
  std::vector<MetadataMatch> metadata = {};  // all of these

  [[nodiscard]] bool is_filtered() const;
};

struct ListedRun {
  RunInfo info;
  RunSummary summary;
  std::optional<Origin> fork_of;  // none if the run is not a fork
};

struct RunList {
  std::vector<ListedRun> runs;  // newest first
  bool more = false;            // there are more than the limit
};

[[nodiscard]] Result<RunList> list_runs(Store& store, const ListRequest& request);

}  // namespace pawl
