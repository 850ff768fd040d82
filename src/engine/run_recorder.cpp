#include "engine/run_recorder.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error_line.hpp"
#include "domain/audited_events.hpp"
#include "domain/event_types.hpp"
#include "domain/retry_policy.hpp"
#include "engine/audit_entries.hpp"
#include "engine/save.hpp"
#include "engine/state_edit.hpp"
#include "machine/snapshot.hpp"
#include "text/size_words.hpp"

namespace pawl {
namespace {

constexpr std::size_t kLabelsMax = 200;
constexpr std::uint32_t kFullTriesMax = 8;  // before only the events are saved

/// If several things share a checkpoint, the most important one determines its kind.
int weight(Kind kind) {
  switch (kind) {
    case Kind::manual: return 0;
    case Kind::step_start: return 1;
    case Kind::step_complete: return 2;
    case Kind::stage_start: return 3;
    case Kind::stage_complete: return 4;
    case Kind::barrier: return 5;
    case Kind::error: return 6;
    case Kind::workflow_start: return 7;
    case Kind::waiting: return 8;
    case Kind::interrupted: return 9;
    case Kind::workflow_complete: return 10;
  }
  return 0;
}

/// RUN@stage:ID finds the checkpoint at which the stage was completed.
std::string stage_of(const machine::Label& label) {
  return label.kind == Kind::stage_complete || label.kind == Kind::barrier ? label.stage : std::string();
}

/// Returns what else the checkpoint is about: each step and stage once, the most important first.
std::vector<SaveLabel> other_labels(const std::vector<machine::Label>& labels, const machine::Label& main) {
  std::vector<const machine::Label*> sorted;
  for (const machine::Label& label : labels) sorted.push_back(&label);
  std::ranges::sort(sorted, {}, [](const machine::Label* label) { return std::pair(-weight(label->kind), label); });
  std::vector<SaveLabel> others;
  std::set<std::pair<std::string, std::string>> seen{{main.step, stage_of(main)}};
  for (const machine::Label* at : sorted) {
    const machine::Label& label = *at;
    if (others.size() == kLabelsMax) break;
    if (label.step.empty() && stage_of(label).empty()) continue;
    if (!seen.emplace(label.step, stage_of(label)).second) continue;
    others.push_back({.kind = label.kind,
                      .reason = label.reason,
                      .stage = stage_of(label),
                      .step = label.step.substr(0, kLabelBytesMax)});
  }
  return others;
}

bool goes_on(const RunContext& context) {
  return context.workflow->checkpoint.on_storage_failure == OnStorageFailure::go_on;
}

/// Returns the data of an event as it is stored: with the step, which comes first.
std::string event_text(const std::string& path, const Json& data, std::string text) {
  if (path.empty()) return text;
  if (data.contains("step")) {
    Json stored = {{"step", path}};
    stored.update(data);
    return compact(stored);
  }
  const std::string step = "\"step\":" + compact(Json(path)) + (data.empty() ? "" : ",");
  return text.insert(1, step);
}

/// After a failed sync a writer refuses all saves, and it is unknown whether the last one is durable.
bool is_doubtful(const Error& error) {
  return error.code == Code::outcome_unknown || error.code == Code::handle_failed;
}

}  // namespace

RunRecorder::RunRecorder(RunContext& context, std::unique_ptr<RunWriter> writer, std::uint64_t events,
                         std::vector<NewEvent> first_events)
    : context_(context),
      writer_(std::move(writer)),
      events_(events + first_events.size()),
      latest_(writer_->info().latest) {
  for (NewEvent& event : first_events) {
    pending_told_.push_back(
        {context_.id.text(), event.type, {}, context_.services.clock.now(), Json::parse(event.data, nullptr, false)});
    pending_.push_back(std::move(event));
  }
  mask_first_events();
  open_saver();
}

void RunRecorder::open_saver() {
  if (context_.workflow->checkpoint.keep) writer_->keep_newest(*context_.workflow->checkpoint.keep);
  const auto post = [this, alive = context_.alive](Result<Saved> result) {
    context_.loop.post([this, alive, result = std::move(result)]() mutable {
      if (*alive) saved(std::move(result));
    });
  };
  saver_ = std::make_unique<Saver>(*writer_, context_.services.settings.checkpoint.size_max_bytes, post);
}

void RunRecorder::mask_first_events() {
  for (RunEvent& event : pending_told_) static_cast<void>(context_.masks.mask_data(event.data));
  for (std::size_t i = 0; i < pending_.size() && i < pending_told_.size(); ++i)
    pending_[i].data = compact(pending_told_[i].data);
}

void RunRecorder::pass(std::string_view type, const std::string& step, Json data) {
  if (context_.services.observer == nullptr) return;
  if (!data.is_object()) data = Json::object();
  static_cast<void>(context_.masks.mask_data(data));
  context_.services.observer->on_event(
      {context_.id.text(), std::string(type), step, context_.services.clock.now(), std::move(data)});
}

void RunRecorder::add_details(const std::string& type, const std::string& about, Json details) {
  details_[{type, about}] = std::move(details);
}

void RunRecorder::tell(machine::command::Tell told) {
  Json data = told.data.is_object() ? std::move(told.data) : Json::object();
  const auto details = details_.find({told.type, told.path.empty() ? text_in(data, "id") : told.path});
  if (details != details_.end()) {
    data.update(details->second);
    details_.erase(details);
  }
  if (!told.lasts) return pass(told.type, told.path, std::move(data));
  std::string text = compact(data);
  keep_result(told.type, told.path, data, text);
  if (context_.masks.mask_data(data)) text = compact(data);
  pending_.push_back({told.type, event_text(told.path, data, std::move(text))});
  if (told.entry) {
    pending_.back().audited = Audited::yes;
    pending_.back().agent = told.agent;
  } else if (is_audited_type(told.type)) {
    pending_.back().agent = agent_of(data);
  }
  ++events_;
  if (told.record != 0) event_of_record_[told.record] = events_;
  if (context_.services.observer != nullptr)
    pending_told_.push_back({context_.id.text(), std::move(told.type), std::move(told.path),
                             context_.services.clock.now(), std::move(data)});
}

void RunRecorder::keep_result(const std::string& type, const std::string& map, const Json& data,
                              const std::string& text) {
  if (type == event_type::kMapStarted) results_.begin(map);
  if (type != event_type::kItemCompleted && type != event_type::kItemFailed) return;
  results_.add(map, data.value("index", std::uint64_t{0}), text);
}

std::uint64_t RunRecorder::event_of(std::uint64_t record) const {
  const auto found = event_of_record_.find(record);
  return found == event_of_record_.end() ? record : found->second;
}

/// Returns everything of the state but the steps, as it is saved.
std::string RunRecorder::head_text() {
  RunMasks& masks = context_.masks;
  Json value = machine::head_of(context_.state, context_.base).to_json();
  for (const char* name : {"vars", "outputs"}) {
    if (const auto found = value.find(name); found != value.end()) masks.mask_keys_in(*found);
  }
  value["events"] = events_;
  for (const auto& [kind, count] : *masks.counts()) {
    const auto before = context_.base.masked.find(kind);
    value["masked"][kind] = count + (before == context_.base.masked.end() ? 0 : before->second);
  }
  if (context_.state.status == RunStatus::running)
    value["position"] = context_.state.busy_attempts() > 0 ? "before_step" : "completed";
  for (const auto& [key, known] : masks.key_values()) value["masked_keys"].push_back(key);
  value.erase("steps");
  return masks.text(compact(value));
}

StateText::Step RunRecorder::step_of(const std::string& path, const StepRecord& record) {
  Json value = record.to_json();
  for (const char* name : {"output", "partial", "previous"}) {
    if (const auto found = value.find(name); found != value.end()) context_.masks.mask_keys_in(*found);
  }
  return {path, context_.masks.text(compact(value))};
}

std::vector<StateText::Step> RunRecorder::all_steps() {
  const auto event = [this](std::uint64_t record) { return event_of(record); };
  std::vector<StateText::Step> steps;
  for (const auto& [path, record] : machine::snapshot(context_.state, context_.base, event).steps)
    steps.push_back(step_of(path, record));
  static_cast<void>(machine::take_changes(context_.state));
  return steps;
}

std::vector<StateText::Step> RunRecorder::changed_steps() {
  const auto event = [this](std::uint64_t record) { return event_of(record); };
  std::vector<StateText::Step> steps;
  for (const machine::Change& change : machine::take_changes(context_.state)) {
    const machine::Node* node = context_.node(change.node);
    if (node == nullptr) {
      steps.push_back({change.path, std::nullopt});
    } else {
      steps.push_back(step_of(change.path, machine::record_of(context_.state, *node, event)));
    }
  }
  return steps;
}

/// The first save of an execution writes the whole state. The keys that are masked are complete when the steps are
/// encoded, so the head comes after them.
void RunRecorder::write_state(SaveDraft& draft) {
  const bool whole = text_.empty() || !has_saved_;
  const std::vector<StateText::Step> steps = text_.empty() ? all_steps() : changed_steps();
  std::optional<std::vector<TextChange>> changes = text_.update(head_text(), steps);
  if (whole || !changes || warns_of_size()) {
    draft.state = text_.text();
    return;
  }
  draft.is_change = true;
  draft.changes = std::move(*changes);
  draft.request.expected_parent = latest_;
}

/// Warns once about a large state, in the save that makes it large. Returns whether it did.
bool RunRecorder::warns_of_size() {
  const std::uint64_t warning = context_.services.settings.checkpoint.size_warning_bytes;
  if (large_told_ || text_.size() <= warning) return false;
  large_told_ = true;
  context_.tell(event_type::kLargeCheckpoint, "",
                {{"bytes", text_.size()},
                 {"limit", warning},
                 {"why", fmt::format("the state has {} bytes, more than {} (checkpoint.size_warning)", text_.size(),
                                     size_words(warning))}});
  static_cast<void>(text_.update(head_text(), {}));
  return true;
}

SaveDraft RunRecorder::draft_of(const machine::SaveBatch& batch) {
  SaveDraft draft;
  write_state(draft);
  SaveRequest& request = draft.request;
  const auto main = std::ranges::max_element(batch.labels, [](const machine::Label& a, const machine::Label& b) {
    return std::tuple(weight(a.kind), !a.step.empty(), &a) < std::tuple(weight(b.kind), !b.step.empty(), &b);
  });
  if (main != batch.labels.end()) {
    request.kind = main->kind;
    request.reason = main->reason;
    request.step = main->step.substr(0, kLabelBytesMax);
    request.stage = stage_of(*main);
    request.also = other_labels(batch.labels, *main);
  } else {  // of reports and messages: nobody asked for this checkpoint
    const bool in_step = context_.state.busy_attempts() > 0;
    request.kind = in_step ? Kind::step_start : Kind::step_complete;
    request.reason = in_step ? Reason::before_step : Reason::after_step;
  }
  request.status = checkpoint_status(context_.state.status);
  request.duplicates = Duplicates::write;
  request.events = std::exchange(pending_, {});
  return draft;
}

void RunRecorder::save(const machine::SaveBatch& batch) {
  if (batch.id != batch_) {
    batch_ = batch.id;
    draft_ = draft_of(batch);
    saving_told_ = std::exchange(pending_told_, {});
    saving_files_ = std::exchange(used_files_, {});
    waiting_ = std::exchange(waiting_for_next_, {});
    return begin(false);
  }
  if (!in_doubt_) return begin(false);
  if (const Result<void> opened = open_again(); !opened) {
    // After a failed sync this process can't write to the journal any more. A resume by another one can.
    const Error known = error_ ? *error_ : opened.error();
    return context_.loop.post([this, alive = context_.alive, known] {
      if (*alive) failed(known);
    });
  }
  if (settle_doubt()) return;
  begin(false);
}

/// Opens the run again after a save whose outcome is unknown.
Result<void> RunRecorder::open_again() {
  saver_.reset();
  writer_.reset();
  PAWL_TRY_ASSIGN(writer_, context_.services.store.open_run(context_.id, {}));
  open_saver();
  in_doubt_ = false;
  make_whole();
  return {};
}

Result<void> RunRecorder::seal_inbox() { return writer_ ? writer_->seal_inbox() : Result<void>(); }

void RunRecorder::unseal_inbox() {
  if (writer_) static_cast<void>(writer_->unseal_inbox());
}

void RunRecorder::tell_saved(const Saved& saved) {
  if (context_.services.observer == nullptr) return;
  const SaveRequest& request = draft_.request;
  Json data = {
      {"sequence", saved.sequence.value}, {"kind", to_text(request.kind)}, {"reason", to_text(request.reason)}};
  if (!request.stage.empty()) data["stage"] = request.stage;
  const auto add = [&](const SaveLabel& label) {
    data["labels"].push_back({{"kind", to_text(label.kind)},
                              {"reason", to_text(label.reason)},
                              {"stage", label.stage},
                              {"step", label.step}});
  };
  if (!request.also.empty()) add({request.kind, request.reason, request.stage, request.step});
  for (const SaveLabel& label : request.also) add(label);
  pass(event_type::kCheckpointSaved, request.step, std::move(data));
}

/// Whether the save is durable is read, never assumed. Its state counts the records of the run, so it names its batch.
bool RunRecorder::settle_doubt() {
  const Result<Restored> newest = context_.services.store.restore(context_.id, {});
  if (!newest || newest->state != text_.text()) return false;
  light_ = false;
  saved(Saved{.sequence = newest->info.sequence, .id = newest->info.id, .checksum = newest->info.checksum});
  return true;
}

void RunRecorder::begin(bool light) {
  light_ = light;
  saving_ = true;
  if (!light) return begin(draft_);
  // Saves the last state again, so that the save needs little more space than its events.
  SaveDraft draft;
  draft.is_change = true;
  draft.request = draft_.request;
  draft.request.kind = Kind::step_start;
  draft.request.reason = Reason::before_step;
  draft.request.status = Status::active;
  draft.request.expected_parent = latest_;
  begin(draft);
}

/// Without anything to wait for, another thread would only cost two wake-ups.
void RunRecorder::begin(const SaveDraft& draft) {
  const machine::State& state = context_.state;
  const bool alone = state.count(machine::Activity::running) + state.count(machine::Activity::stopping) +
                         state.count(machine::Activity::child_running) +
                         state.count(machine::Activity::child_stopping) ==
                     0;
  if (!alone) return saver_->begin(draft);
  context_.loop.post([this, alive = context_.alive, result = saver_->save(draft)]() mutable {
    if (*alive) saved(std::move(result));
  });
}

void RunRecorder::tell_durable(bool light) {
  if (context_.services.observer != nullptr) {
    for (const RunEvent& event : saving_told_) context_.services.observer->on_event(event);
  }
  saving_told_.clear();
  // The older state does not contain the reports, so their files stay until a full save.
  if (light) {
    used_files_.insert(used_files_.end(), saving_files_.begin(), saving_files_.end());
  } else {
    for (const std::string& file : saving_files_) context_.services.files.remove(file);
  }
  saving_files_.clear();
}

void RunRecorder::saved(Result<Saved> result) {
  saving_ = false;
  if (!result) return failed(std::move(result).error());
  latest_ = result->sequence;
  const bool light = std::exchange(light_, false);
  const bool recovered = !light && std::exchange(failures_, 0) > 0;
  if (!light && rung_ == Rung::events_only) {
    rung_ = Rung::full;
    context_.tell(event_type::kStorageRecovered, "", {{"sequence", result->sequence.value}});
  } else if (recovered) {
    pass(event_type::kStorageRecovered, "", {{"sequence", result->sequence.value}});
  }
  if (!light) error_.reset();
  tell_saved(*result);
  has_saved_ = !light;  // otherwise the next change is one of another state
  draft_ = {};
  tell_durable(light);
  context_.feed(machine::fact::SaveDurable{batch_});
  for (const auto& task : std::exchange(waiting_, {})) task();
}

/// Saves the whole state of the draft, because the state that it changes is not the last one of the writer.
void RunRecorder::make_whole() {
  draft_.state = text_.text();
  draft_.is_change = false;
  draft_.changes.clear();
  draft_.request.expected_parent.reset();
}

void RunRecorder::failed(Error error) {
  const bool unfit = error.code == Code::parent_conflict || error.code == Code::invalid_patch;
  if (draft_.is_change && !light_ && unfit) {
    make_whole();
    return begin(false);
  }
  ++failures_;
  in_doubt_ = is_doubtful(error);
  const bool down = failures_ >= kFullTriesMax || rung_ == Rung::events_only;
  const bool retryable = in_doubt_ || is_retryable(error.code);
  if (goes_on(context_) && retryable && down && !light_ && !in_doubt_ && latest_.value > 0) {
    if (rung_ == Rung::full) {
      rung_ = Rung::events_only;
      degraded_by_ = error;
      pass(event_type::kStorageTrouble, "", {{"error", describe_in_line(error)}, {"mode", "events only"}});
      context_.tell(event_type::kStorageDegraded, "", {{"rung", "events only"}, {"error", describe_in_line(error)}});
    }
    return begin(true);
  }
  error_ = error;
  light_ = false;
  context_.feed(machine::fact::SaveFailed{
      .batch = batch_,
      .trouble = retryable ? machine::fact::SaveTrouble::passing : machine::fact::SaveTrouble::hopeless,
      .error = describe_in_line(error)});
  if (!context_.state.saving.memory_only && !context_.state.saving.given_up) return;
  for (const auto& task : std::exchange(waiting_, {})) task();
  for (const auto& task : std::exchange(waiting_for_next_, {})) task();
}

void RunRecorder::dump_if_degraded() {
  if (rung_ == Rung::full && !context_.state.saving.memory_only) return;
  if (!error_) error_ = degraded_by_;
  const std::string path = fmt::format("{}/pawl-emergency-{}.json", context_.base.working_dir, context_.id.text());
  static_cast<void>(text_.update(head_text(), text_.empty() ? all_steps() : changed_steps()));
  const Result<void> written = context_.services.files.write(path, text_.text());
  pass(event_type::kStorageTrouble, "",
       {{"error",
         written ? fmt::format("the state that could not be saved is in {}", path) : describe_in_line(written.error())},
        {"mode", "emergency dump"}});
}

}  // namespace pawl
