// Handles storage errors: retries with a delay, then degrades as the workflow allows.
//
//   full -> events only -> memory only -> emergency dump
//
// In the mode `events only`, events are still saved, with the last saved state. That needs little space.
#include "base/error_line.hpp"
#include "domain/event_types.hpp"
#include "domain/retry_policy.hpp"
#include "engine/execution.hpp"
#include "engine/execution_parts.hpp"

namespace pawl {
namespace {

constexpr std::uint32_t kSaveTriesMax = 6;
constexpr std::int64_t kNextRung_us = 1'000;

}  // namespace

void Execution::saved(Result<Saved> result) {
  if (!result) return save_failed(std::move(result).error());
  const bool light = std::exchange(saving_light_, false);
  if (!light && rung_ == Rung::events_only) {
    rung_ = Rung::full;
    tell(event_type::kStorageRecovered, nullptr, {{"sequence", result->sequence.value}});
    ++change_;
  } else if (!light && save_failures_ > 0) {
    whisper(event_type::kStorageRecovered, nullptr, {{"sequence", result->sequence.value}});
  }
  save_failures_ = 0;
  durable_ = std::exchange(saving_, 0);
  if (!light && workflow_->checkpoint.on_storage_failure == OnStorageFailure::go_on)
    last_state_ = std::move(unsaved_.state);
  unsaved_ = {};
  last_save_us_ = services_.clock.monotonic_us();
  if (hold_ == Hold::storage) {
    hold_ = Hold::none;
    if (top_) consider_all(*top_);
  }
  if (services_.observer != nullptr) {
    for (const RunEvent& event : saving_told_) services_.observer->on_event(event);
  }
  saving_told_.clear();
  // The older state does not contain the reports, so their files stay until a full save.
  if (light) used_files_.insert(used_files_.end(), saving_files_.begin(), saving_files_.end());
  for (const std::string& file : saving_files_) {
    if (!light) services_.files.remove(file);
  }
  saving_files_.clear();
  if (top_) {
    std::vector<Node*> maps;  // starting items changes the nodes that are iterated
    for_each_node(*top_, [&](Node& node) {
      if (node.map && node.active) maps.push_back(&node);
    });
    for (Node* node : maps) {
      node->map->unsaved = 0;
      start_items(*node);
    }
  }
  while (!launches_.empty() && launches_.front().first <= durable_) {
    const std::function<void()> task = std::move(launches_.front().second);
    launches_.pop_front();
    task();
  }
}

void Execution::save_failed(Error error) {
  ++save_failures_;
  const bool goes_on = workflow_->checkpoint.on_storage_failure == OnStorageFailure::go_on;
  // In the mode `events only`, each full save is tried once; another failure is not reported again.
  if (rung_ == Rung::full || saving_light_) {
    whisper(event_type::kStorageTrouble, nullptr,
            {{"error", describe_in_line(error)}, {"try", save_failures_}, {"mode", goes_on ? "continue" : "pause"}});
  }
  if (hold_ == Hold::none) hold_ = Hold::storage;
  // A writer refuses all saves after a failed sync, so the run is opened again and its stored state is checked.
  const bool dead_handle = error.code == Code::outcome_unknown || error.code == Code::handle_failed;
  const Handle handle = dead_handle ? Handle::fresh : Handle::same;
  const bool hopeless = !dead_handle && !is_retryable(error.code);
  const bool down = save_failures_ >= kSaveTriesMax || rung_ == Rung::events_only;
  if (goes_on && !hopeless && down) {
    if (last_state_.empty() || saving_light_) return go_on_in_memory(std::move(error));
    go_on_with_events(error);
    if (unsaved_.request.events.empty()) return saved(Saved{});  // there is nothing to record
    return save_again_after(kNextRung_us, handle);
  }
  if (hopeless || down) {
    storage_error_ = std::move(error);
    hold_ = Hold::storage;
    saving_ = 0;  // no save is in progress, and none will follow
    return finish_interrupted();
  }
  const RetryPolicy policy{
      .attempts = kSaveTriesMax, .base_delay_ms = 100, .max_delay_ms = 3'000, .factor = 2.0, .jitter = 0.0};
  save_again_after(static_cast<std::int64_t>(policy.delay_ms(save_failures_, 0.0)) * 1000, handle);
}

void Execution::go_on_with_events(const Error& error) {
  saving_light_ = true;
  if (rung_ == Rung::events_only) return;
  rung_ = Rung::events_only;
  degraded_by_ = error;
  whisper(event_type::kStorageTrouble, nullptr, {{"error", describe_in_line(error)}, {"mode", "events only"}});
  tell(event_type::kStorageDegraded, nullptr, {{"rung", "events only"}, {"error", describe_in_line(error)}});
  ++change_;
}

void Execution::go_on_in_memory(Error error) {
  memory_only_ = true;
  saving_light_ = false;
  hold_ = Hold::none;
  saving_ = 0;
  durable_ = UINT64_MAX;
  whisper(event_type::kStorageTrouble, nullptr, {{"error", describe_in_line(error)}, {"mode", "memory only"}});
  storage_error_ = std::move(error);
  if (top_) consider_all(*top_);
  for (auto& [change, task] : std::exchange(launches_, {})) task();
}

void Execution::save_again_after(std::int64_t delay_us, Handle handle) {
  save_waits_ = true;
  loop_.after(delay_us, [this, alive = alive_, handle] {
    if (!*alive) return;
    save_waits_ = false;
    if (handle == Handle::same) return retry_save();
    const Sequence before = writer_->info().latest;
    saver_.reset();
    writer_.reset();
    Result<std::unique_ptr<RunWriter>> again = services_.store.open_run(id_, {});
    if (!again) return save_failed(std::move(again).error());
    writer_ = std::move(*again);
    if (workflow_->checkpoint.keep) writer_->keep_newest(*workflow_->checkpoint.keep);
    saver_ = std::make_unique<Saver>(*writer_, services_.settings.checkpoint.size_max_bytes,
                                     [this, alive](Result<Saved> result) {
                                       loop_.post([this, alive, result = std::move(result)]() mutable {
                                         if (*alive) saved(std::move(result));
                                       });
                                     });
    // This execution is the only writer, so a newer checkpoint can only be the one whose outcome is unknown.
    if (writer_->info().latest > before) {
      saving_light_ = false;
      return saved(
          Saved{.sequence = writer_->info().latest, .id = {}, .checksum = {}, .outcome = Saved::Outcome::written});
    }
    retry_save();
  });
}

void Execution::retry_save() {
  if (!saving_light_) return saver_->begin(unsaved_);
  // Saves the last state again: an empty difference, so that the save needs little more space than its events.
  SaveDraft light = unsaved_;
  light.state = last_state_;
  light.request.kind = Kind::manual;
  light.request.status = Status::active;
  light.request.duplicates = Duplicates::write;
  saver_->begin(std::move(light));
}

/// The last resort: writes the unsaved state to a file in the working directory, for a person.
void Execution::dump_state() {
  if (!storage_error_) storage_error_ = degraded_by_;
  const std::string path = fmt::format("{}/pawl-emergency-{}.json", state_.working_dir, id_.text());
  const Result<void> written = services_.files.write(path, state_text());
  whisper(event_type::kStorageTrouble, nullptr,
          {{"error", written ? fmt::format("the state that could not be saved is in {}", path)
                             : describe_in_line(written.error())},
           {"mode", "emergency dump"}});
}

}  // namespace pawl
