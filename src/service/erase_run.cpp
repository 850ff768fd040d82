#include "service/erase_run.hpp"

#include <fmt/ranges.h>

#include "domain/erasure.hpp"
#include "engine/erase.hpp"

namespace pawl {
namespace {

Result<void> refuse_left_processes(Store& store, const RunInfo& run, const StartProcesses& start_processes) {
  if (run.workflow.empty() || !start_processes) return {};
  PAWL_TRY_ASSIGN(const auto owner, store.owner(run.id));
  if (owner) return {};  // a run in use is refused anyway, with the name of its owner
  PAWL_TRY_ASSIGN(const std::string logs, store.local_folder(run.id));
  const auto processes = start_processes(logs + "/../reaper");
  if (processes || processes.error().code != Code::processes_left) return {};
  return fail(with_advice(processes.error(), Advice::cancel_run, {.run = run.id.text()}));
}

}  // namespace

Result<std::optional<RunInfo>> run_to_erase(Store& store, const RunId& run) {
  auto info = store.run(run);
  if (info) return std::optional<RunInfo>(std::move(*info));
  if (info.error().code == Code::run_not_found) return fail(info.error());
  return std::optional<RunInfo>();  // damaged, or its erasure is not finished
}

std::optional<std::uint64_t> checkpoints_to_erase(Store& store, const RunInfo& run) {
  if (run.status == Status::damaged) return std::nullopt;
  const auto found = store.checkpoints(run.id, run.fork_of_sequence, SIZE_MAX);
  return found ? std::optional<std::uint64_t>(found->size()) : std::nullopt;
}

Result<Erasure> erase_run(Store& store, const RunId& run, const EraseRequest& request,
                          const StartProcesses& start_processes) {
  PAWL_TRY_ASSIGN(const std::optional<RunInfo> info, run_to_erase(store, run));
  if (info) PAWL_TRY(refuse_left_processes(store, *info, start_processes));
  auto erased = checked_erase(store, run, request);
  if (erased || category(erased.error().code) != Category::storage) return erased;
  const auto there = store.run(run);
  if (there || !is_gone(there.error().code)) return erased;
  Error error = std::move(erased).error();
  error.message = fmt::format("run '{}' is {}, but some of its data is still on the disk: {}", run.text(),
                              request.remains == Remains::tombstone ? "removed" : "erased", error.message);
  return fail(std::move(error));
}

Result<void> check_finished(const Erasure& erasure) {
  if (erasure.outcome != Erasure::Outcome::pending) return {};
  return fail(Error{
      Code::erasure_pending,
      fmt::format("the erasure of run '{}' waits for {}", erasure.run.text(), fmt::join(erasure.waiting_for, ", ")),
      {},
      "that process finishes it when it is idle",
      0,
      Advice::finish_erasure,
      {.run = erasure.run.text()}});
}

}  // namespace pawl
