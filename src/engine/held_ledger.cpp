#include "engine/held_ledger.hpp"

#include <algorithm>

#include "domain/event_types.hpp"
#include "engine/save.hpp"

namespace pawl {
namespace {

constexpr std::uint64_t kStateBytesMax = 100ULL << 20;
constexpr std::int64_t kLedgerWaitMax_us = 10'000'000;
constexpr std::int64_t kBusyPauseMax_us = 50'000;

Result<Saved> create_ledger(RunWriter& writer) {
  LedgerState state;
  state.events = 1;
  const std::string body = state.text();
  SaveRequest request;
  request.body = body;
  request.kind = Kind::workflow_start;
  request.reason = Reason::workflow_started;
  request.events.push_back({event_type::kRunStarted, R"({"by":"steps"})"});
  return checked_save(writer, request, kStateBytesMax);
}

}  // namespace

Result<std::unique_ptr<HeldLedger>> HeldLedger::take(std::unique_ptr<RunWriter> writer, const RunId& run) {
  if (!writer->info().latest) PAWL_TRY(create_ledger(*writer));
  const std::string text = writer->last_state();
  Result<LedgerState> state = LedgerState::from_json(parse_json(text));
  if (!state) return fail(at(state.error(), run.text()));
  std::unique_ptr<HeldLedger> held(new HeldLedger(std::move(writer), std::move(*state)));
  held->latest_ = held->writer_->info().latest;
  std::string same;  // The text may have been written by another version.
  held->count_ = std::to_string(held->state_.events);
  for (const auto& step : held->state_.steps) {
    const std::string record = ledger_record_text(step.first, step.second);
    const std::uint64_t comma = same.empty() ? 0 : 1;
    if (comma != 0) same += ',';
    held->places_.push_back({same.size(), record.size()});
    same += record;
  }
  held->steps_size_ = same.size();
  held->known_text_ = text == ledger_text(held->state_.events, same);
  return held;
}

Result<void> HeldLedger::prepare(const StepLedger::Edit& edit, LedgerSave& save) {
  LedgerChange change;
  PAWL_TRY(edit(state_, change));
  state_.events += change.events.size();
  SaveRequest& request = save.request;
  if (save.changes++ == 0) {
    request.kind = change.kind;
    request.reason = change.reason;
    request.step = std::move(change.step);
  } else {
    request.also.push_back({change.kind, change.reason, {}, std::move(change.step)});
  }
  request.events.insert(request.events.end(), std::make_move_iterator(change.events.begin()),
                        std::make_move_iterator(change.events.end()));
  return {};
}

void HeldLedger::finish(LedgerSave& save) {
  const std::string before = std::exchange(count_, std::to_string(state_.events));
  if (count_ != before) add_splice(save, kLedgerHead.size(), before.size(), count_);
  const std::uint64_t steps_at = kLedgerHead.size() + before.size() + kLedgerMiddle.size();
  const std::uint64_t end_at = steps_at + steps_size_;
  const std::vector<std::size_t> touched = state_.take_touched();
  const std::size_t known = places_.size();
  std::size_t next = 0;
  for (; next < touched.size() && touched[next] < known; ++next) {
    const auto& [name, record] = state_.steps[touched[next]];
    Place& place = places_[touched[next]];
    std::string text = ledger_record_text(name, record);
    const std::uint64_t size = std::exchange(place.size, text.size());
    add_splice(save, steps_at + place.offset, size, std::move(text));
  }
  if (next > 0) lay_out_after(touched.front());
  std::string added;
  for (; next < touched.size(); ++next) {
    const auto& [name, record] = state_.steps[touched[next]];
    const std::string text = ledger_record_text(name, record);
    if (steps_size_ > 0) added += ',', ++steps_size_;
    places_.push_back({steps_size_, text.size()});
    steps_size_ += text.size();
    added += text;
  }
  if (!added.empty()) add_splice(save, end_at, 0, std::move(added));
  save.request.expected_parent = latest_;
  if (std::exchange(known_text_, true)) return;
  save.whole = true;
  save.texts.push_back(std::make_unique<const std::string>(state_.text()));
  save.request.body = *save.texts.back();
}

void HeldLedger::lay_out_after(std::size_t index) {
  for (; index + 1 < places_.size(); ++index)
    places_[index + 1].offset = places_[index].offset + places_[index].size + 1;
  steps_size_ = places_.back().offset + places_.back().size;
}

void HeldLedger::add_splice(LedgerSave& save, std::uint64_t offset, std::uint64_t removed, std::string inserted) {
  save.texts.push_back(std::make_unique<const std::string>(std::move(inserted)));
  save.change.push_back({offset, removed, *save.texts.back()});
}

Result<void> HeldLedger::save(const LedgerSave& save) {
  PAWL_TRY_ASSIGN(const Saved saved, save.whole ? checked_save(*writer_, save.request, kStateBytesMax)
                                                : checked_change(*writer_, save.request, save.change));
  latest_ = saved.sequence;
  return {};
}

Result<std::unique_ptr<RunWriter>> open_ledger_writer(Store& store, Clock& clock, const RunId& run) {
  const std::int64_t began_us = clock.monotonic_us();
  std::unique_ptr<RunClaim> claim;
  std::int64_t pause_us = 1'000;
  while (true) {
    Result<std::unique_ptr<RunWriter>> writer = store.open_run(run, {});
    if (writer || writer.error().code != Code::run_busy) return writer;
    if (clock.monotonic_us() - began_us >= kLedgerWaitMax_us) return writer;
    if (!claim) {
      PAWL_TRY_ASSIGN(claim, store.claim(run));
    }
    clock.sleep_us(pause_us);
    pause_us = std::min(pause_us * 2, kBusyPauseMax_us);
  }
}

}  // namespace pawl
