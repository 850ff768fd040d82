#include "engine/control.hpp"

#include <algorithm>

#include "domain/event_types.hpp"
#include "engine/deliver.hpp"
#include "engine/open_run.hpp"
#include "engine/resume_facts.hpp"
#include "engine/save.hpp"
#include "engine/state_edit.hpp"
#include "text/utf8.hpp"

namespace pawl {
namespace {

constexpr std::size_t kRunDepthMax = 64;  // of runs within runs; only a damaged store has more
constexpr std::size_t kNamesShown = 10;
constexpr std::int64_t kTurnWaitMax_us = 5'000'000;

/// A gate, and the step of the requested run that leads to it; empty for a gate of the run itself.
struct FoundGate {
  Gate gate;
  std::string through;
};

Result<void> collect_gates(Store& store, const RunId& run, const std::string& through, std::size_t depth,
                           std::vector<FoundGate>& out) {
  if (depth > kRunDepthMax) return {};
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  if (is_ended(state.status)) return {};
  for (const auto& [path, record] : state.steps) {
    if (record.status == StepStatus::waiting && !record.binding.empty())
      out.push_back({{run.text(), path, record.detail, record.binding}, through});
  }
  for (const auto& [path, record] : state.steps) {
    if (record.child_run.empty() || is_settled(record.status)) continue;
    PAWL_TRY_ASSIGN(const RunId child, RunId::parse(record.child_run));
    const Result<void> collected = collect_gates(store, child, through.empty() ? path : through, depth + 1, out);
    if (!collected && collected.error().code != Code::run_not_found) return collected;  // not started yet
  }
  return {};
}

Result<std::vector<FoundGate>> find_gates(Store& store, const RunId& run) {
  std::vector<FoundGate> gates;
  PAWL_TRY(collect_gates(store, run, "", 0, gates));
  return gates;
}

/// Returns the run that a person must resume so that this one continues.
Result<std::string> topmost(Store& store, const RunId& run) {
  RunId top = run;
  for (std::size_t depth = 0; depth < kRunDepthMax; ++depth) {
    PAWL_TRY_ASSIGN(const RunState state, load_state(store, top));
    if (state.parent_run.empty()) break;
    PAWL_TRY_ASSIGN(top, RunId::parse(state.parent_run));
  }
  return top.text();
}

Result<Recipient> recipient(Store& store, const RunId& run) {
  Recipient to;
  PAWL_TRY_ASSIGN(to.owner, store.owner(run));
  PAWL_TRY_ASSIGN(to.resume, topmost(store, run));
  return to;
}

Error not_waiting(Store& store, const RunId& run, const std::string& what) {
  const Result<RunState> state = load_state(store, run);
  return Error{Code::not_waiting,
               fmt::format("{} in run '{}' is waiting for a decision; it {}", what, run.text(),
                           state ? doing_text(*state) : "can't be read"),
               {},
               {},
               0,
               Advice::show_run,
               {.run = run.text()}};
}

std::string gate_list(const std::vector<FoundGate>& gates) {
  std::string text;
  for (std::size_t i = 0; i < gates.size() && i < kNamesShown; ++i)
    text += fmt::format("\n  {} {}: {}", gates[i].gate.run, gates[i].gate.step, gates[i].gate.prompt);
  if (gates.size() > kNamesShown) text += "\n  ...";
  return text;
}

std::vector<FoundGate> matching(const std::vector<FoundGate>& gates, const std::string& step) {
  const auto chosen = [&](const auto& wanted) {
    std::vector<FoundGate> out;
    std::ranges::copy_if(gates, std::back_inserter(out), wanted);
    return out;
  };
  const auto is_own = [](const FoundGate& found) { return found.through.empty(); };
  if (step.empty()) {
    std::vector<FoundGate> own = chosen(is_own);
    return own.empty() ? gates : own;
  }
  std::vector<FoundGate> out = chosen([&](const FoundGate& found) { return is_own(found) && found.gate.step == step; });
  if (out.empty()) out = chosen([&](const FoundGate& found) { return found.gate.step == step; });
  if (out.empty())
    out = chosen([&](const FoundGate& found) {
      return !is_own(found) && (found.through == step || found.through + "." + found.gate.step == step);
    });
  return out;
}

Result<Gate> choose_gate(Store& store, const RunId& run, const std::string& step) {
  PAWL_TRY_ASSIGN(const std::vector<FoundGate> gates, find_gates(store, run));
  if (gates.empty())
    return fail(not_waiting(store, run, step.empty() ? "nothing" : fmt::format("no approval step '{}'", step)));
  const std::vector<FoundGate> fitting = matching(gates, step);
  if (fitting.empty()) {
    Error error = not_waiting(store, run, fmt::format("no approval step '{}'", step));
    error.message += "; waiting approval steps:" + gate_list(gates);
    return fail(error);
  }
  if (fitting.size() > 1) {
    return fail(
        Error{Code::usage,
              fmt::format("{} approval steps are waiting; name one of them:{}", fitting.size(), gate_list(fitting)),
              {},
              {},
              0,
              Advice::approve,
              {.run = fitting.front().gate.run, .step = fitting.front().gate.step}});
  }
  return fitting.front().gate;
}

/// The owner would refuse a second decision later, so it is refused now.
Result<void> refuse_second(Store& store, const RunId& run, const Gate& gate) {
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  PAWL_TRY_ASSIGN(const std::vector<Message> messages, store.inbox(run));
  for (const Message& message : messages) {
    if (std::ranges::find(state.consumed, message.id) != state.consumed.end()) continue;
    const Json body = Json::parse(message.body, nullptr, false);
    if (!body.is_object()) continue;
    const std::string type = text_in(body, "type");
    if ((type != "approve" && type != "reject") || text_in(body, "step") != gate.step ||
        text_in(body, "binding") != gate.binding)
      continue;
    PAWL_TRY_ASSIGN(const std::string resume, topmost(store, run));
    return fail(Error{Code::not_waiting,
                      fmt::format("'{}' of run '{}' was already {} by {} at {}", gate.step, gate.run,
                                  type == "approve" ? "approved" : "rejected", text_in(body, "by"), message.at.text()),
                      {},
                      {},
                      0,
                      Advice::resume,
                      {.run = resume}});
  }
  return {};
}

/// Invalid UTF-8 would be replaced silently later.
Result<void> check_text(std::string_view what, std::string_view text) {
  if (!is_valid_utf8(text)) return fail(Code::invalid_utf8, "the {} is not valid UTF-8", what);
  return {};
}

Result<void> refuse_ended(const RunState& state, const RunId& run) {
  if (!is_ended(state.status)) return {};
  return fail(run_ended_error(state, run));
}

/// Only one process at a time decides about the gates of a run. Another one would not see the decision in time.
Result<std::unique_ptr<RunClaim>> take_turn(Store& store, Clock& clock, const RunId& run) {
  for (std::int64_t waited_us = 0; waited_us < kTurnWaitMax_us;) {
    PAWL_TRY_ASSIGN(std::unique_ptr<RunClaim> claim, store.claim(run));
    if (!claim->has_rivals()) return claim;
    claim.reset();
    const std::int64_t pause_us = 1'000 + clock.now().us % 5'003;  // rivals must not keep step
    clock.sleep_us(pause_us);
    waited_us += pause_us;
  }
  return fail(Error{Code::run_busy, fmt::format("another process keeps using run '{}'", run.text()), run.text(),
                    "try again", 0});
}

/// The deadline of a gate counts also while nothing executes. The next execution records what follows from it.
Result<void> refuse_late(Store& store, Clock& clock, const RunId& run, const Gate& gate) {
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  const StepRecord* record = state.find(gate.step);
  if (record == nullptr || record->due.us == 0 || clock.now() <= record->due) return {};
  PAWL_TRY_ASSIGN(const std::string resume, topmost(store, run));
  return fail(
      Error{Code::not_waiting,
            fmt::format("the deadline of '{}' in run '{}' passed at {}", gate.step, gate.run, record->due.text()),
            {},
            {},
            0,
            Advice::resume,
            {.run = resume}});
}

/// Cancels children first, so that after a crash the run can be cancelled again.
Result<void> cancel_here(Store& store, Clock& clock, const RunId& run, const std::string& reason,
                         std::uint64_t state_bytes_max, std::size_t depth, Cancelled& out) {
  PAWL_TRY_ASSIGN(StateEdit edit, StateEdit::open(store, run));
  PAWL_TRY(refuse_ended(edit.state, run));
  for (auto& [path, record] : edit.state.steps) {
    if (is_settled(record.status)) continue;
    if (!record.child_run.empty() && depth < kRunDepthMax) {
      PAWL_TRY_ASSIGN(const RunId child, RunId::parse(record.child_run));
      const Result<void> cancelled = cancel_here(store, clock, child, reason, state_bytes_max, depth + 1, out);
      if (!cancelled && cancelled.error().code == Code::run_busy) {
        const auto asked = deliver(store, clock, child, compact({{"type", "cancel"}, {"reason", reason}}));
        if (!asked && asked.error().code != Code::run_ended) return fail(asked.error());
      } else if (!cancelled && cancelled.error().code != Code::run_ended &&
                 cancelled.error().code != Code::run_not_found) {
        return cancelled;
      }
    }
    record.status = StepStatus::cancelled;
  }
  edit.state.status = RunStatus::cancelled;
  edit.state.error = reason;
  edit.state.origin.clear();
  PAWL_TRY(
      edit.save(Kind::interrupted, Reason::manual, event_type::kRunCancelled, {{"error", reason}}, state_bytes_max));
  out.runs.push_back(run.text());
  return {};
}

}  // namespace

bool is_ended(RunStatus status) { return status == RunStatus::completed || status == RunStatus::cancelled; }

Error run_ended_error(const RunState& state, const RunId& run) {
  return Error{
      Code::run_ended,    fmt::format("run '{}' {}", run.text(), doing_text(state)), {}, {}, 0, Advice::show_run,
      {.run = run.text()}};
}

std::string doing_text(const RunState& state) {
  if (state.status == RunStatus::completed) return "is completed";
  if (state.status == RunStatus::cancelled) return "was cancelled";
  if (state.status == RunStatus::failed) return fmt::format("failed: {}", state.error);
  if (state.status == RunStatus::interrupted) return "was interrupted";
  std::vector<std::string> running;
  std::vector<std::string> waiting;
  for (const auto& [path, record] : state.steps) {
    if (record.status == StepStatus::running && running.size() < kNamesShown) running.push_back(path);
    if (record.status != StepStatus::waiting || waiting.size() >= kNamesShown) continue;
    const std::string reason = record.reason == StepReason::approval ? std::string() : record.reason_text();
    waiting.push_back(reason.empty() ? path : fmt::format("{} ({})", path, reason));
  }
  if (state.status == RunStatus::waiting && !waiting.empty()) return "waits at " + joined_list(waiting);
  if (!running.empty()) return "runs " + joined_list(running);
  if (!waiting.empty()) return "waits at " + joined_list(waiting);
  return state.status == RunStatus::waiting ? "waits" : "is between two steps";
}

Result<Decided> decide(Store& store, Clock& clock, const RunId& run, const GateDecision& decision) {
  PAWL_TRY(check_label("name of the person", decision.by));
  PAWL_TRY(check_text("comment", decision.comment));
  PAWL_TRY_ASSIGN(Gate gate, choose_gate(store, run, decision.step));
  PAWL_TRY_ASSIGN(const RunId of, RunId::parse(gate.run));
  PAWL_TRY(refuse_late(store, clock, of, gate));
  PAWL_TRY_ASSIGN(const std::unique_ptr<RunClaim> turn, take_turn(store, clock, of));
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, of));
  const StepRecord* record = state.find(gate.step);
  if (record == nullptr || record->status != StepStatus::waiting || record->binding != gate.binding)
    return fail(not_waiting(store, of, fmt::format("no approval step '{}'", gate.step)));
  PAWL_TRY(refuse_second(store, of, gate));
  Json body = {{"type", decision.answer == GateAnswer::approve ? "approve" : "reject"},
               {"step", gate.step},
               {"binding", gate.binding},
               {"by", decision.by}};
  if (!decision.comment.empty()) body["comment"] = decision.comment;
  PAWL_TRY(deliver(store, clock, of, compact(body)));
  PAWL_TRY_ASSIGN(Recipient to, recipient(store, of));
  return Decided{std::move(gate), std::move(to)};
}

Result<Recipient> send_signal(Store& store, Clock& clock, const RunId& run, const std::string& name,
                              const Json& payload) {
  PAWL_TRY(check_label("name of the signal", name));
  if (name.empty())
    return fail(Error{Code::invalid_label, "the signal name is empty", {}, "use the name in the step's `wait_for`", 0});
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  PAWL_TRY(refuse_ended(state, run));
  PAWL_TRY(deliver(store, clock, run, compact({{"type", "signal"}, {"signal", name}, {"payload", payload}})));
  return recipient(store, run);
}

Result<Cancelled> cancel_run(Store& store, Clock& clock, const RunId& run, const std::string& reason,
                             std::uint64_t state_bytes_max) {
  PAWL_TRY(check_text("reason", reason));
  PAWL_TRY_ASSIGN(const RunState state, load_state(store, run));
  PAWL_TRY(refuse_ended(state, run));
  Cancelled out;
  const Result<void> cancelled = cancel_here(store, clock, run, reason, state_bytes_max, 0, out);
  if (cancelled) return out;
  if (cancelled.error().code != Code::run_busy) return fail(cancelled.error());
  PAWL_TRY(deliver(store, clock, run, compact({{"type", "cancel"}, {"reason", reason}})));
  PAWL_TRY_ASSIGN(const std::optional<std::string> owner, store.owner(run));
  out.asked = true;
  out.owner = owner.value_or("");
  return out;
}

}  // namespace pawl
