#include "service/list_runs.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "service/run_status.hpp"

namespace pawl {
namespace {

/// The whole path as a key, or else one key after the other.
const Json* find_member(const Json& metadata, std::string_view path) {
  if (metadata.is_object() && metadata.contains(std::string(path))) return &metadata[std::string(path)];
  const Json* found = &metadata;
  while (!path.empty() && found != nullptr) {
    const std::string key(path.substr(0, path.find('.')));
    path = path.size() > key.size() ? path.substr(key.size() + 1) : std::string_view();
    found = found->is_object() && found->contains(key) ? &(*found)[key] : nullptr;
  }
  return found;
}

bool has_metadata(Store& store, const RunId& run, const std::vector<MetadataMatch>& wanted) {
  const Result<CheckpointInfo> newest = store.checkpoint(run, {});
  if (!newest) return false;
  const Json metadata = Json::parse(newest->metadata, nullptr, false);
  return std::ranges::all_of(wanted, [&](const MetadataMatch& match) {
    const Json* found = find_member(metadata, match.key);
    return found != nullptr && (found->is_string() ? found->get<std::string>() : compact(*found)) == match.value;
  });
}

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// The catalogue may not know yet that a run is damaged.
void look_for_damage(Store& store, RunInfo& run) {
  if (run.status == Status::erased || run.status == Status::damaged) return;
  const auto newest = store.checkpoint(run.id, {});
  if (!newest && category(newest.error().code) == Category::integrity) run.status = Status::damaged;
}

bool fits_list(Store& store, const RunInfo& run, const ListRequest& request) {
  if (!request.session.empty() && run.session != request.session) return false;
  if (!request.workflows.empty() && !is_one_of(run.workflow, request.workflows)) return false;
  if (!request.statuses.empty() && !is_one_of(status_word(store, run), request.statuses)) return false;
  return request.metadata.empty() || has_metadata(store, run.id, request.metadata);
}

}  // namespace

bool ListRequest::is_filtered() const {
  return !statuses.empty() || !workflows.empty() || !session.empty() || !metadata.empty();
}

Result<RunList> list_runs(Store& store, const ListRequest& request) {
  const bool filtered = request.is_filtered();
  const bool wants_damaged = is_one_of(std::string(to_text(Status::damaged)), request.statuses);
  PAWL_TRY_ASSIGN(std::vector<RunInfo> found,
                  request.scope == ListRequest::Scope::resumable
                      ? resumable_runs(store)
                      : store.runs(filtered ? SIZE_MAX : request.limit + 1));  // one more, to know if there are more
  RunList list;
  RunSummaries summaries(store);
  if (!filtered && found.size() > request.limit) {
    // Damaged runs are always shown.
    const auto last = std::ranges::find_if(found.rbegin(), found.rend(),
                                           [](const RunInfo& run) { return run.status != Status::damaged; });
    found.erase(last == found.rend() ? found.end() - 1 : last.base() - 1);
    list.more = true;
  }
  for (RunInfo& run : found) {
    if (wants_damaged) look_for_damage(store, run);
    if (filtered && !fits_list(store, run, request)) continue;
    if (list.runs.size() == request.limit) {
      list.more = true;
      break;
    }
    ListedRun listed{.info = std::move(run), .summary = {}, .fork_of = {}};
    listed.summary = summaries.of(listed.info);
    if (listed.info.fork_of_run) listed.fork_of = origin_of(store, listed.info);
    list.runs.push_back(std::move(listed));
  }
  return list;
}

}  // namespace pawl
