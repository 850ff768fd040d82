#include "domain/lifecycle.hpp"

#include <algorithm>

namespace pawl {
namespace {

struct Transition {
  Status from;
  Status to;
};
constexpr Transition kSteps[] = {
    {Status::active, Status::completed},  {Status::active, Status::failed},     {Status::active, Status::recovering},
    {Status::failed, Status::recovering}, {Status::recovering, Status::failed}, {Status::recovering, Status::completed},
};

std::unexpected<Error> refuse(Code code, std::string message, const RecoveryFacts& facts, std::string hint,
                              Advice advice = Advice::none) {
  const Subject subject{.run = facts.address.substr(0, facts.address.find('@'))};
  return fail(Error{code, std::move(message), facts.address, std::move(hint), 0, advice, subject});
}

Result<void> check_status(const Lifecycle& lifecycle, const RecoveryFacts& facts) {
  if (lifecycle.status == Status::completed) {
    return refuse(Code::recover_completed, "a completed checkpoint can't be recovered", facts, {}, Advice::fork);
  }
  if (facts.owner == RunOwner::dead || lifecycle.status == Status::failed) return {};
  if (lifecycle.status == Status::recovering) {
    return refuse(Code::recovery_in_progress, "a recovery of this run is in progress", facts, {}, Advice::wait_for_run);
  }
  return refuse(Code::run_busy, "the run is still being executed", facts, {}, Advice::wait_for_run);
}

}  // namespace

bool may_become(Status from, Status to) {
  return from == to ||
         std::ranges::any_of(kSteps, [&](const Transition& step) { return step.from == from && step.to == to; });
}

Result<void> check_recoverable(const RecoveryFacts& facts) {
  if (!facts.lifecycle) {
    return refuse(Code::checkpoint_not_found, "there is no such checkpoint", facts, {}, Advice::list_checkpoints);
  }
  PAWL_TRY(check_status(*facts.lifecycle, facts));
  if (facts.lifecycle->retry_count >= facts.retries_max) {
    return refuse(Code::retries_exhausted,
                  fmt::format("recovery has failed {} times, and {} is the limit", facts.lifecycle->retry_count,
                              facts.retries_max),
                  facts, "find out why it fails, then raise the limit or fork the run");
  }
  if (facts.missing_parent) {
    return refuse(Code::chain_broken,
                  fmt::format("checkpoint {}, which this one builds on, is missing", facts.missing_parent.value), facts,
                  {}, Advice::check_store);
  }
  if (!facts.handler.empty() && !facts.handler_registered) {
    return refuse(Code::handler_not_registered, fmt::format("the handler '{}' is not registered", facts.handler), facts,
                  "register it before recovering, or name the workflow file that has it");
  }
  return {};
}

}  // namespace pawl
