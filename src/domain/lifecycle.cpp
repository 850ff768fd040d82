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

std::unexpected<Error> refuse(Code code, std::string message, const RecoveryFacts& facts, std::string hint) {
  return fail(Error{code, std::move(message), facts.address, std::move(hint), 0});
}

std::string run_of(const RecoveryFacts& facts) { return facts.address.substr(0, facts.address.find('@')); }

Result<void> check_status(const Lifecycle& lifecycle, const RecoveryFacts& facts) {
  if (lifecycle.status == Status::completed) {
    return refuse(Code::recover_completed, "a completed checkpoint can't be recovered", facts,
                  fmt::format("To go on from here under another name, type: pawl fork {}", facts.address));
  }
  if (facts.owner == RunOwner::dead || lifecycle.status == Status::failed) return {};
  if (lifecycle.status == Status::recovering) {
    return refuse(Code::recovery_in_progress, "a recovery of this run is in progress", facts,
                  fmt::format("Wait for it; to watch it, type: pawl show {}", run_of(facts)));
  }
  return refuse(Code::run_busy, "the run is still being executed", facts,
                fmt::format("Wait for it or cancel it; to see who has it, type: pawl show {}", run_of(facts)));
}

}  // namespace

bool may_become(Status from, Status to) {
  return from == to ||
         std::ranges::any_of(kSteps, [&](const Transition& step) { return step.from == from && step.to == to; });
}

Result<void> check_recoverable(const RecoveryFacts& facts) {
  if (!facts.lifecycle) {
    return refuse(Code::checkpoint_not_found, "there is no such checkpoint", facts,
                  fmt::format("To see what there is, type: pawl show {}", run_of(facts)));
  }
  PAWL_TRY(check_status(*facts.lifecycle, facts));
  if (facts.lifecycle->retry_count >= facts.retries_max) {
    return refuse(Code::retries_exhausted,
                  fmt::format("recovery has failed {} times, and {} is the limit", facts.lifecycle->retry_count,
                              facts.retries_max),
                  facts, "Find out why it fails, then raise the limit or fork the run");
  }
  if (facts.missing_parent) {
    return refuse(Code::chain_broken,
                  fmt::format("checkpoint {}, which this one builds on, is missing", facts.missing_parent.value), facts,
                  "To see what is damaged, type: pawl fsck");
  }
  if (!facts.handler.empty() && !facts.handler_registered) {
    return refuse(Code::handler_not_registered, fmt::format("the handler '{}' is not registered", facts.handler), facts,
                  "Register it before recovering, or name the workflow file that has it");
  }
  return {};
}

}  // namespace pawl
