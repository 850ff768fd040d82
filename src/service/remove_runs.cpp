#include "service/remove_runs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "domain/erasure.hpp"
#include "service/run_status.hpp"
#include "service/step_call.hpp"

namespace pawl {
namespace {

/// A run to remove, and the runs that it is connected to.
struct Candidate {
  RunInfo info;
  std::vector<std::string> forks = {};
  std::vector<std::string> relatives = {};  // the run that started it, and those that it started
};

bool is_finished(RunStatus status) {
  return status == RunStatus::completed || status == RunStatus::failed || status == RunStatus::cancelled;
}

Error unfinished_error(const RunId& run, RunStatus status) {
  return Error{Code::run_unfinished,
               fmt::format("run '{}' is {} and can be resumed", run.text(), to_text(status)),
               {},
               {},
               0,
               Advice::force_removal,
               {.run = run.text()}};
}

Error busy_error(const RunId& run, const std::string& owner) {
  return Error{
      Code::run_busy,     fmt::format("run '{}' is held by {}", run.text(), owner), {}, {}, 0, Advice::wait_or_cancel,
      {.run = run.text()}};
}

class Planner {
 public:
  Planner(Store& store, const RemoveRequest& request) : store_(store), request_(request) {}

  Result<void> consider(const RunInfo& info) {
    Candidate candidate{.info = info};
    const Result<void> free = look_at(candidate);
    if (free) {
      candidates_.emplace(info.id.text(), std::move(candidate));
      return {};
    }
    if (is_of_machine(free.error().code)) return free;
    plan_.kept.push_back({info.id, free.error()});
    return {};
  }

  /// A run that is connected to a kept run is kept as well. That may keep others.
  RemovalPlan take() {
    while (keep_tied()) {
    }
    std::set<std::string> done;
    for (const auto& [name, candidate] : candidates_) add_with_forks(name, done);
    return std::move(plan_);
  }

 private:
  /// Returns whether the machine can't read, so that nothing is known about any run.
  static bool is_of_machine(Code code) {
    return category(code) == Category::storage || category(code) == Category::system;
  }

  [[nodiscard]] bool exists(const std::string& run) const {
    const auto id = RunId::parse(run);
    const auto found = id ? store_.run(*id) : std::unexpected(id.error());
    return found.has_value();
  }

  Result<void> look_at(Candidate& candidate) {
    const RunInfo& info = candidate.info;
    PAWL_TRY_ASSIGN(const auto owner, store_.owner(info.id));
    if (owner) return fail(busy_error(info.id, *owner));
    PAWL_TRY_ASSIGN(const std::vector<std::string> held, store_.held_locks(info.id));
    if (!held.empty()) return fail(step_running_error(info.id, held.front()));
    PAWL_TRY(store_.check_removal(info.id));
    if (info.status == Status::erased) return {};
    const auto forks = store_.forks_of(info.id);
    if (!forks) return std::unexpected(forks.error());
    for (const ForkInfo& fork : *forks) candidate.forks.push_back(fork.run.text());
    if (info.workflow.empty()) return look_at_steps(info.id);
    const auto standing = standing_run(store_, info.id);
    if (!standing && standing.error().code == Code::not_a_workflow_run) return {};
    if (!standing) return std::unexpected(standing.error());
    if (standing->owner) return fail(busy_error(info.id, *standing->owner));
    if (!is_finished(standing->status) && request_.unfinished == RemoveRequest::Unfinished::keep)
      return fail(unfinished_error(info.id, standing->status));
    const RunState& state = standing->state;
    if (!state.parent_run.empty()) candidate.relatives.push_back(state.parent_run);
    for (const auto& [path, record] : state.steps) {
      if (!record.child_run.empty()) candidate.relatives.push_back(record.child_run);
    }
    return {};
  }

  /// A run of `pawl step` whose last step was interrupted: its script can be run again.
  [[nodiscard]] Result<void> look_at_steps(const RunId& run) const {
    if (!is_steps_run(store_, run)) return {};
    const auto steps = steps_status(store_, run);
    if (!steps || is_finished(steps->status) || request_.unfinished == RemoveRequest::Unfinished::remove) return {};
    return fail(unfinished_error(run, steps->status));
  }

  bool keep_tied() {
    for (auto one = candidates_.begin(); one != candidates_.end(); ++one) {
      const Candidate& candidate = one->second;
      std::optional<Error> why;
      const std::string& run = one->first;
      for (const std::string& fork : candidate.forks) {
        if (!candidates_.contains(fork))
          why = Error{Code::run_has_forks,
                      fmt::format("run '{}' was forked from run '{}' and needs its data", fork, run),
                      {},
                      {},
                      0,
                      Advice::remove_together,
                      {.run = run, .value = fork}};
      }
      for (const std::string& relative : candidate.relatives) {
        if (!why && !candidates_.contains(relative) && exists(relative))
          why = Error{Code::run_referenced,
                      fmt::format("run '{}' refers to run '{}'", relative, run),
                      {},
                      {},
                      0,
                      Advice::remove_together,
                      {.run = run, .value = relative}};
      }
      if (!why) continue;
      plan_.kept.push_back({candidate.info.id, std::move(*why)});
      candidates_.erase(one);
      return true;
    }
    return false;
  }

  // The depth of nested forks is at most the number of runs, and each is visited once.
  void add_with_forks(const std::string& name, std::set<std::string>& done) {
    const auto found = candidates_.find(name);
    if (found == candidates_.end() || !done.insert(name).second) return;
    for (const std::string& fork : found->second.forks) add_with_forks(fork, done);
    plan_.runs.push_back(found->second.info);
  }

  Store& store_;
  const RemoveRequest& request_;
  std::map<std::string, Candidate> candidates_;
  RemovalPlan plan_;
};

/// Only the row in the list is left of an erased run.
Result<RunInfo> named_run(Store& store, const RunId& id, const std::vector<RunInfo>& all) {
  auto info = store.run(id);
  if (info || info.error().code != Code::run_erased) return info;
  const auto row = std::ranges::find(all, id, &RunInfo::id);
  if (row == all.end()) return info;
  return *row;
}

bool is_selected(Store& store, const RunInfo& info, const RemoveRequest& request, Timestamp now) {
  // A clock that was behind at the last save does not make a run older than its beginning.
  const std::int64_t saved_us = info.created > now ? info.updated.us : std::max(info.created.us, info.updated.us);
  if (request.older_than && saved_us > now.us - request.older_than->count() * 1000) return false;
  if (info.status == Status::damaged) return false;  // a damaged run is removed only by name
  const std::string word = status_word(store, info);
  if (!request.statuses.empty()) return std::ranges::find(request.statuses, word) != request.statuses.end();
  const auto status = parse_run_status(word);
  return status == RunStatus::completed || status == RunStatus::cancelled;
}

Result<RemovalPlan> plan_once(Store& store, const RemoveRequest& request) {
  Planner planner(store, request);
  PAWL_TRY_ASSIGN(const std::vector<RunInfo> all, store.runs(SIZE_MAX));
  if (request.runs.empty()) {
    const Timestamp now = store.believable_now();
    for (const RunInfo& info : all) {
      if (is_selected(store, info, request, now)) PAWL_TRY(planner.consider(info));
    }
    return planner.take();
  }
  for (const RunId& id : request.runs) {
    PAWL_TRY_ASSIGN(const RunInfo info, named_run(store, id, all));
    PAWL_TRY(planner.consider(info));
  }
  return planner.take();
}

}  // namespace

Result<RemovalPlan> plan_removal(Store& store, const RemoveRequest& request, Clock& clock) {
  constexpr std::int64_t kLook_us = 20'000;
  const std::int64_t until_us = clock.monotonic_us() + std::chrono::microseconds(request.wait).count();
  while (true) {
    PAWL_TRY_ASSIGN(RemovalPlan plan, plan_once(store, request));
    const bool busy =
        std::ranges::any_of(plan.kept, [](const KeptRun& kept) { return kept.why.code == Code::run_busy; });
    if (!busy || clock.monotonic_us() >= until_us) return plan;
    clock.sleep_us(kLook_us);
  }
}

}  // namespace pawl
