#include "engine/deliver.hpp"

#include <algorithm>

#include "engine/control.hpp"
#include "engine/open_run.hpp"
#include "engine/save.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kEndingWaitMax_us = 2'000'000;
constexpr std::int64_t kEndingPause_us = 5'000;

enum class Delivery : std::uint8_t { accepted, refused, undecided };

/// Returns nothing if the run never ends: a run that is not of a workflow has no such state.
Result<std::optional<RunState>> ended_state(Store& store, const RunId& run) {
  Result<RunState> state = load_state(store, run);
  if (!state && state.error().code == Code::not_a_workflow_run) return std::optional<RunState>();
  if (!state) return fail(std::move(state).error());
  if (!is_ended(state->status)) return std::optional<RunState>();
  return std::optional(std::move(*state));
}

/// The run has ended. Whoever resumes it meanwhile may consume the message, so it is removed only by the writer.
Result<Delivery> take_back(Store& store, const RunId& run, const std::string& id) {
  const auto writer = store.open_run(run, {});
  if (!writer && writer.error().code == Code::run_busy) return Delivery::undecided;
  if (!writer) return fail(writer.error());
  PAWL_TRY_ASSIGN(const std::optional<RunState> ended, ended_state(store, run));
  if (!ended) return Delivery::accepted;
  const bool consumed = std::ranges::find(ended->consumed, id) != ended->consumed.end();
  PAWL_TRY_ASSIGN(const std::vector<Message> messages, store.inbox(run));
  if (std::ranges::find(messages, id, &Message::id) == messages.end()) return Delivery::accepted;
  PAWL_TRY(store.take(run, id));  // a consumed one was left by an execution that died
  return consumed ? Delivery::accepted : Delivery::refused;
}

Result<Delivery> look(Store& store, const RunId& run, const std::string& id) {
  // In this order: once the inbox is not sealed, an execution that ended has saved its end.
  PAWL_TRY_ASSIGN(const bool sealed, store.inbox_sealed(run));
  if (sealed) return Delivery::undecided;
  PAWL_TRY_ASSIGN(const std::optional<RunState> ended, ended_state(store, run));
  if (!ended) return Delivery::accepted;
  return take_back(store, run, id);
}

}  // namespace

Result<std::string> deliver(Store& store, Clock& clock, const RunId& run, std::string_view body) {
  PAWL_TRY_ASSIGN(std::string id, checked_post(store, run, body));
  for (std::int64_t waited_us = 0; waited_us <= kEndingWaitMax_us; waited_us += kEndingPause_us) {
    PAWL_TRY_ASSIGN(const Delivery delivery, look(store, run, id));
    if (delivery == Delivery::accepted) return id;
    if (delivery == Delivery::refused) {
      PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
      return fail(run_ended_error(state, run));
    }
    clock.sleep_us(kEndingPause_us);
  }
  return fail(Error{Code::run_busy,
                    fmt::format("run '{}' is ending, and it is unknown whether it took the message", run.text()),
                    run.text(),
                    {},
                    0,
                    Advice::show_run,
                    {.run = run.text()}});
}

}  // namespace pawl
