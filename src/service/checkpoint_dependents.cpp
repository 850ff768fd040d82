#include "service/checkpoint_dependents.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/json.hpp"
#include "domain/dependents.hpp"
#include "engine/open_run.hpp"
#include "service/run_report.hpp"

namespace pawl {
namespace {

constexpr std::size_t kDependentsPage = 1000;

/// What an import recorded about a checkpoint's place in the other program's chain.
struct ImportedPlace {
  std::string id;
  std::string parent;
};

ImportedPlace imported_place(const CheckpointInfo& info) {
  if (info.metadata.find("\"imported\"") == std::string::npos) return {};  // most have none, so parsing is skipped
  const Json metadata = Json::parse(info.metadata, nullptr, false);
  const auto imported = metadata.is_object() ? metadata.find("imported") : metadata.end();
  if (!metadata.is_object() || imported == metadata.end() || !imported->is_object()) return {};
  const auto text = [&](const char* key) {
    const auto found = imported->find(key);
    return found != imported->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return {text("id"), text("parent")};
}

Result<std::vector<ParentLink>> links_from(Store& store, const RunId& run, const CheckpointInfo& first) {
  std::vector<ParentLink> links;
  std::unordered_map<std::string, Sequence> places{{imported_place(first).id, first.sequence}};
  Sequence after = first.sequence;
  while (true) {
    PAWL_TRY_ASSIGN(const std::vector<CheckpointInfo> page, store.checkpoints(run, after, kDependentsPage));
    for (const CheckpointInfo& info : page) {
      const ImportedPlace place = imported_place(info);
      if (!place.id.empty()) places[place.id] = info.sequence;
      const auto parent = places.find(place.parent);
      // A parent before the first checkpoint is not in the list, so the checkpoint depends on none of these.
      links.push_back({info.sequence, place.parent.empty()     ? info.parent
                                      : parent == places.end() ? Sequence{}
                                                               : parent->second});
    }
    if (page.size() < kDependentsPage) return links;
    after = page.back().sequence;
  }
}

/// Returns an empty list if the run has no workflow.
Result<std::vector<std::string>> dependent_steps(Store& store, const RunId& run, std::string_view path) {
  PAWL_TRY_ASSIGN(const RunInfo info, store.run(run));
  if (info.workflow.empty()) return {};  // its state, which may be large, need not be read
  const Result<RunState> state = load_state(store, run);
  if (!state) return {};
  const std::optional<Workflow> workflow = recorded_workflow(store, run, *state);
  if (!workflow) return {};
  return steps_after(*workflow, path.substr(0, path.find_first_of(".[")));
}

}  // namespace

Result<CheckpointDependents> find_dependents(Store& store, const RunId& run, const CheckpointInfo& checkpoint) {
  CheckpointDependents found;
  PAWL_TRY_ASSIGN(const std::vector<ParentLink> links, links_from(store, run, checkpoint));
  found.checkpoints = dependents_of(checkpoint.sequence, links);
  if (!checkpoint.step.empty()) {
    PAWL_TRY_ASSIGN(found.steps, dependent_steps(store, run, checkpoint.step));
  }
  PAWL_TRY_ASSIGN(const std::vector<ForkInfo> forks, store.forks_of(run));
  std::ranges::copy_if(forks, std::back_inserter(found.forks), [&](const ForkInfo& fork) {
    return fork.at == checkpoint.sequence || std::ranges::binary_search(found.checkpoints, fork.at);
  });
  return found;
}

}  // namespace pawl
