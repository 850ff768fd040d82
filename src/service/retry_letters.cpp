#include "service/retry_letters.hpp"

#include "engine/open_run.hpp"

namespace pawl {
namespace {

/// Checked first, because a refused resume would leave the items queued.
Result<void> refuse_changed_workflow(Store& store, const RunId& run, const WorkflowLoader& load) {
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  PAWL_TRY_ASSIGN(const Workflow workflow, load(state.workflow_file));
  if (workflow.hash == state.workflow_hash) return {};
  return fail(Error{Code::workflow_changed,
                    "the workflow has changed since the run started",
                    state.workflow_file,
                    {},
                    0,
                    Advice::queue_and_accept_changes,
                    {.run = run.text()}});
}

}  // namespace

Result<DeadLetter> find_dead_letter(Store& store, const RunId& run, const std::string& step, std::uint64_t index) {
  PAWL_TRY_ASSIGN(std::vector<DeadLetter> letters, dead_letters(store, run, step));
  std::erase_if(letters, [&](const DeadLetter& letter) { return letter.index != index; });
  if (letters.empty())
    return fail(Error{Code::not_waiting,
                      fmt::format("item {} has not failed", index),
                      {},
                      {},
                      0,
                      Advice::list_dead_letters,
                      {.run = run.text()}});
  if (letters.size() > 1)
    return fail(Error{Code::usage,
                      fmt::format("several maps have a failed item {}", index),
                      {},
                      {},
                      0,
                      Advice::show_dead_letter,
                      {.run = run.text(), .step = letters.front().step, .value = std::to_string(index)}});
  return std::move(letters.front());
}

Result<ChangedLetters> retry_dead_letters(Store& store, const RunId& run, const RetryRequest& request,
                                          const WorkflowLoader& load, std::uint64_t state_bytes_max) {
  if (request.then == RetryRequest::Then::resume) PAWL_TRY(refuse_changed_workflow(store, run, load));
  LetterChoice choice = request.choice;
  if (choice.indices.empty() && choice.ranges.empty()) choice.scope = LetterChoice::Scope::all;
  return retry_letters(store, run, choice, request.dependents, load, state_bytes_max);
}

}  // namespace pawl
