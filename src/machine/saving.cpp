// Saves records in batches, and handles storage trouble.
//
// At most one batch is in flight; records made meanwhile share the next one. A failed batch is repeated unchanged, with
// the same ID, so that a save whose outcome is unknown is answered and not doubled.
#include <algorithm>
#include <utility>

#include "domain/event_types.hpp"
#include "domain/retry_policy.hpp"
#include "machine/turn.hpp"

namespace pawl::machine {
namespace {

constexpr std::uint32_t kSaveTriesMax = 8;  // about 9 s
constexpr Milliseconds kCompany{5};
constexpr Milliseconds kMemoryOnlyRetry{30'000};

/// Results of items share a save if nothing waits for it: after a crash, items that had just finished run again.
bool may_wait(const State& s) {
  const auto is_hint = [](const Deferred& deferred) {
    return std::holds_alternative<command::StoreCache>(deferred.command);
  };
  if (!std::ranges::all_of(s.saving.deferred, is_hint) || s.finishing || s.hold != Hold::none ||
      s.saving.labels.size() > 256)
    return false;
  return s.count(Activity::running) > 0 && !s.saving.urgent;
}

void send_batch(Turn& t) { t.out.push_back(command::Save{t.s.saving.in_flight}); }

}  // namespace

void save_if_needed(Turn& t, bool at_once) {
  Saving& saving = t.s.saving;
  if (saving.in_flight || saving.waits || saving.given_up) return;
  if (saving.unsaved.empty() && !saving.wanted) return;
  // The end of the run is decided as soon as the inbox is sealed, and shares the save.
  if (t.s.inbox == State::Inbox::sealing && saving.deferred.empty() && !at_once) return;
  if (!std::exchange(saving.wanted, false) && !at_once && may_wait(t.s)) {
    if (saving.soon == TimerId::none)
      saving.soon = set_timer(t, TimerKind::save_soon, NodeId::none, after(t, kCompany));
    return;
  }
  cancel_timer(t, saving.soon);
  const std::uint64_t first = t.s.records - saving.unsaved.size() + 1;
  saving.in_flight = std::make_shared<const SaveBatch>(
      SaveBatch{++saving.batches, first, std::exchange(saving.unsaved, {}), std::exchange(saving.labels, {})});
  saving.urgent = false;
  send_batch(t);
}

void flush_deferred(Turn& t) {
  Saving& saving = t.s.saving;
  while (!saving.deferred.empty() && (saving.memory_only || saving.deferred.front().after <= saving.durable)) {
    Command command = std::move(saving.deferred.front().command);
    saving.deferred.pop_front();
    if (auto* start = std::get_if<command::StartAttempt>(&command)) {
      Node* node = find_node(t.s, start->node);
      if (node == nullptr || node->activity != Activity::starting) continue;  // it was stopped meanwhile
      if (!may_launch(t, *node)) {  // the budget was used up meanwhile, or a step beside it failed
        postpone(t, *node);
        continue;
      }
      set_activity(t.s, *node, Activity::running);
    }
    if (auto* child = std::get_if<command::StartChild>(&command)) {
      Node* node = find_node(t.s, child->node);
      if (node == nullptr || node->activity != Activity::opening_child) continue;
      node->child_sent = true;
    }
    if (auto* finish = std::get_if<command::Finish>(&command)) {
      finish->everything_saved = saving.durable >= t.s.records;
      t.s.finished = true;
    }
    t.out.push_back(std::move(command));
  }
}

void handle(Turn& t, const fact::SaveDurable& f) {
  Saving& saving = t.s.saving;
  if (!saving.in_flight || saving.in_flight->id != f.batch) return;
  const bool was_failing = saving.failures > 0;
  const bool was_held_up = is_held_up(t.s);
  saving.durable = saving.in_flight->first + saving.in_flight->records.size() - 1;
  saving.in_flight.reset();
  saving.waits = false;
  saving.failures = 0;
  if (saving.unsaved.empty()) saving.memory_only = false;
  flush_deferred(t);
  if (was_failing || (was_held_up && !is_held_up(t.s))) kick(t);
}

void handle(Turn& t, const fact::SaveFailed& f) {
  Saving& saving = t.s.saving;
  if (!saving.in_flight || saving.in_flight->id != f.batch) return;
  ++saving.failures;
  const bool goes_on = t.s.workflow().checkpoint.on_storage_failure == OnStorageFailure::go_on;
  tell(t, event_type::kStorageTrouble, nullptr,
       {{"error", f.error}, {"try", saving.failures}, {"mode", goes_on ? "continue" : "pause"}});
  const bool down = f.trouble == fact::SaveTrouble::hopeless || saving.failures >= kSaveTriesMax;
  if (down && !goes_on) {
    saving.waits = true;
    saving.given_up = true;
    return hold_run(t, Hold::machine, f.error);
  }
  if (down && !saving.memory_only) {
    saving.memory_only = true;
    tell(t, event_type::kStorageTrouble, nullptr, {{"error", f.error}, {"mode", "memory only"}});
    flush_deferred(t);
    kick(t);
  }
  saving.waits = true;
  const RetryPolicy policy{
      .attempts = kSaveTriesMax, .base_delay_ms = 100, .max_delay_ms = 3'000, .factor = 2.0, .jitter = 0.0};
  const Milliseconds delay = down ? kMemoryOnlyRetry : Milliseconds(policy.delay_ms(saving.failures, 0.0));
  static_cast<void>(set_timer(t, TimerKind::save_retry, NodeId::none, after(t, delay)));
}

void retry_save(Turn& t) {
  Saving& saving = t.s.saving;
  if (!saving.in_flight || !saving.waits || saving.given_up) return;
  saving.waits = false;
  send_batch(t);
}

}  // namespace pawl::machine
