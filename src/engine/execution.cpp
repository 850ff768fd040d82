// Saves, pauses and ends an execution.
#include "engine/execution.hpp"

#include <algorithm>

#include "base/error_line.hpp"
#include "base/hash.hpp"
#include "domain/audited_events.hpp"
#include "domain/event_types.hpp"
#include "domain/retry_policy.hpp"
#include "engine/audit_entries.hpp"
#include "engine/environment_entries.hpp"
#include "engine/execution_parts.hpp"
#include "engine/mask_json.hpp"
#include "engine/state_edit.hpp"
#include "text/duration.hpp"
#include "text/size_words.hpp"

namespace pawl {
namespace {

constexpr std::size_t kPendingEventsMax = 50'000;
constexpr std::int64_t kCompany_us = 5'000;
constexpr std::int64_t kMemoryCheck_us = 500'000;
constexpr std::size_t kMaskedValueBytesMin =
    6;  // of values that are masked in logs too; shorter ones may be common words

/// If several changes share a checkpoint, the most important one determines its kind.
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

}  // namespace

Execution::Execution(const ExecutionServices& services, EventLoop& loop, OpenedRun run)
    : services_(services),
      loop_(loop),
      id_(run.id),
      workflow_(std::move(run.workflow)),
      state_(std::move(run.state)),
      writer_(std::move(run.writer)),
      logs_(std::move(run.logs)),
      work_(run.work.empty() ? logs_ : std::move(run.work)),
      open_output_(std::move(run.open_output)),
      uuid_(writer_->info().uuid),
      key_values_(std::move(run.key_values)),
      pending_(std::move(run.first_events)),
      events_(run.events + pending_.size()),
      kind_(run.first_kind),
      reason_(run.first_reason) {
  if (workflow_->checkpoint.keep) writer_->keep_newest(*workflow_->checkpoint.keep);
  secret_keys_ = std::exchange(state_.masked_keys, {});
  secret_keys_.insert(services_.settings.secrets.state_keys.begin(), services_.settings.secrets.state_keys.end());
  SecretSettings known = services_.settings.secrets;
  known.patterns.clear();  // start() reports invalid ones
  patterns_ = *SecretPatterns::make(known, {});
  for (auto& [path, record] : state_.steps) loaded_.emplace(path, std::move(record));
  state_.steps.clear();
  for (const NewEvent& event : pending_) {
    pending_told_.push_back({id_.text(), event.type, {}, now(), Json::parse(event.data, nullptr, false)});
  }
  mask_first_events();
  const auto post = [this, alive = alive_](Result<Saved> result) {
    loop_.post([this, alive, result = std::move(result)]() mutable {
      if (*alive) saved(std::move(result));
    });
  };
  saver_ = std::make_unique<Saver>(*writer_, services_.settings.checkpoint.size_max_bytes, post);
}

Execution::~Execution() {
  saver_.reset();  // waits for the save in progress
  *alive_ = false;
}

void Execution::tell(std::string_view type, const Node* node, Json data) {
  if (!data.is_object()) data = Json::object();
  if (!secret_keys_.empty()) mask_keys(data, secret_keys_, key_values_);
  mask_event(data, patterns_, *masked_counts_);
  Json stored = Json::object();
  if (node != nullptr) stored["step"] = node->path;
  stored.update(data);
  pending_.push_back({std::string(type), masked(compact(stored), secrets_)});
  if (is_audited_type(type)) pending_.back().agent = agent_of(data);
  ++events_;
  if (services_.observer != nullptr) {
    if (!secrets_.empty()) data = Json::parse(masked(compact(data), secrets_), nullptr, false);
    pending_told_.push_back({id_.text(), std::string(type), node == nullptr ? "" : node->path, now(), std::move(data)});
  }
}

void Execution::whisper(std::string_view type, const Node* node, Json data) {
  if (services_.observer == nullptr) return;
  mask_event(data, patterns_, *masked_counts_);
  if (!secrets_.empty()) data = Json::parse(masked(compact(data), secrets_), nullptr, false);
  services_.observer->on_event(
      {id_.text(), std::string(type), node == nullptr ? "" : node->path, now(), std::move(data)});
}

void Execution::touch(Node& node) {
  node.text.clear();
  ++change_;
}

void Execution::persist(Kind kind, Reason reason, const Node* node) {
  ++change_;
  if (weight(kind) < weight(kind_)) return;
  kind_ = kind;
  reason_ = reason;
  label_step_ = node == nullptr ? "" : node->path;
  label_stage_ = node == nullptr ? "" : node->step->stage;
}

void Execution::collect(const Scope& scope, std::vector<std::pair<std::string, const Node*>>& out) const {
  for (const auto& node : scope.nodes) {
    // The start of an item is not recorded: after a crash it starts again, with the same key.
    const bool trace = !scope.is_item || node->record.attempts > 0 || node->settled ||
                       !node->record.partial.is_null() || node->record.status == StepStatus::waiting ||
                       node->record.iteration > 0 || node->record.map || !node->record.child_run.empty();
    if (node->record.status != StepStatus::pending && trace) out.emplace_back(node->path, node.get());
    if (node->inner) collect(*node->inner, out);
    if (node->map) {
      for (const auto& [index, item] : node->map->running) collect(*item, out);
    }
  }
}

/// Returns the state as it is saved.
Json Execution::record_json(const StepRecord& record) const {
  Json value = record.to_json();
  for (const char* name : {"output", "partial"}) {
    if (const auto found = value.find(name); !secret_keys_.empty() && found != value.end())
      mask_keys(*found, secret_keys_, key_values_);
  }
  return value;
}

std::string Execution::state_text() const {
  Json head = state_.to_json();
  for (const char* name : {"vars", "outputs"}) {
    if (const auto found = head.find(name); !secret_keys_.empty() && found != head.end())
      mask_keys(*found, secret_keys_, key_values_);
  }
  head["events"] = events_;
  for (const auto& [kind, count] : *masked_counts_)
    head["masked"][kind] = count + (state_.masked.contains(kind) ? state_.masked.at(kind) : 0);
  if (state_.status == RunStatus::running) head["position"] = attempts_running_ > 0 ? "before_step" : "completed";
  // The records come last. Each is encoded once until it changes.
  head.erase("steps");
  std::string records;
  std::vector<std::pair<std::string, const Node*>> nodes;
  if (top_) collect(*top_, nodes);
  if (after_failure_) collect(*after_failure_, nodes);
  std::string comma;
  for (const auto& [path, node] : nodes) {
    if (node->text.empty()) node->text = compact(record_json(node->record));
    records += comma + compact(Json(path)) + ":" + node->text;
    comma.assign(1, ',');
  }
  // Records that no node has taken yet stay as they are.
  for (const auto& [path, record] : loaded_) {
    records += comma + compact(Json(path)) + ":" + compact(record_json(record));
    comma.assign(1, ',');
  }
  for (const auto& [key, value] : key_values_) head["masked_keys"].push_back(key);  // complete only after masking
  std::string text = compact(head);
  text.pop_back();
  return masked(text + ",\"steps\":{" + records + "}}", secrets_);
}

std::vector<std::pair<std::string, StepRecord>> Execution::records() const {
  std::vector<std::pair<std::string, const Node*>> nodes;
  if (top_) collect(*top_, nodes);
  if (after_failure_) collect(*after_failure_, nodes);
  std::vector<std::pair<std::string, StepRecord>> out;
  for (const auto& [path, node] : nodes) out.emplace_back(path, node->record);
  return out;
}

void Execution::save_if_needed() {
  if (saving_ != 0 || save_waits_ || over_ || memory_only_ || storage_error_) return;
  if (change_ == durable_ && pending_.empty() && !force_save_) return;
  // Results of items share a save if nothing else waits for it. After a crash, items that had just finished run
  // again, like items that were still running.
  const bool company =
      launches_.empty() && attempts_running_ > 0 && durable_ > 0 && !force_save_ && !finishing_ && hold_ == Hold::none;
  if (!company) return save_now();
  if (save_delayed_) return;
  save_delayed_ = true;
  loop_.after(kCompany_us, [this, alive = alive_] {
    if (!*alive || !save_delayed_) return;
    save_delayed_ = false;
    if (saving_ == 0 && !save_waits_ && !over_ && !memory_only_) save_now();
  });
}

void Execution::save_now() {
  save_delayed_ = false;
  SaveDraft draft;
  draft.state = state_text();
  warn_of_size(draft.state);
  SaveRequest& request = draft.request;
  request.kind = kind_;
  request.reason = reason_;
  request.status = checkpoint_status(state_.status);
  request.step = label_step_.substr(0, 256);
  request.stage = label_stage_;
  request.duplicates = force_save_ ? Duplicates::write : Duplicates::answer;
  request.events = std::exchange(pending_, {});
  saving_told_ = std::exchange(pending_told_, {});
  saving_files_ = std::exchange(used_files_, {});
  saving_ = std::max<std::uint64_t>(change_, 1);
  change_ = saving_;
  kind_ = Kind::manual;
  reason_ = Reason::manual;
  force_save_ = false;
  unsaved_ = draft;
  saver_->begin(std::move(draft));
}

/// Warns once about a large state, in the save that makes it large.
void Execution::warn_of_size(std::string& state) {
  const std::uint64_t warning = services_.settings.checkpoint.size_warning_bytes;
  if (large_told_ || state.size() <= warning) return;
  large_told_ = true;
  tell(event_type::kLargeCheckpoint, nullptr,
       {{"bytes", state.size()},
        {"limit", warning},
        {"why", fmt::format("the state has {} bytes, more than {} (checkpoint.size_warning)", state.size(),
                            size_words(warning))}});
  state = state_text();
}

void Execution::when_durable(std::function<void()> task) {
  if (durable_ >= change_) return task();
  launches_.emplace_back(change_, std::move(task));
}

bool Execution::held() const { return hold_ != Hold::none || finishing_ || !breakpoint_after_.empty(); }

bool Execution::busy() const {
  if (attempts_running_ > 0 || timers_ > 0 || !launches_.empty() || !ready_.empty()) return true;
  bool child_busy = false;
  if (top_) {
    const_cast<Execution*>(this)->for_each_node(*top_, [&](const Node& node) {
      if (node.child && !node.child->ended()) child_busy = true;
    });
  }
  return child_busy;
}

void Execution::start() {
  for (const AddedSteps& added : state_.added) {
    if (!services_.parse_added) break;
    Steps siblings = added_steps_.empty() ? workflow_->steps : added_steps_.back();
    const auto after = std::ranges::find(siblings, added.after, &Step::id);
    if (after == siblings.end()) continue;
    const auto index = static_cast<std::size_t>(after - siblings.begin());
    Result<Steps> steps = services_.parse_added(added.steps, *workflow_, siblings, index);
    if (!steps) continue;  // they were checked when they were added
    added_steps_.push_back(grow(siblings, *steps, index));
  }
  top_ = make_scope(nullptr, nullptr, added_steps_.empty() ? workflow_->steps : added_steps_.back(), "");
  top_->when_ended = [this] { top_ended(*top_); };
  persist(kind_, reason_, nullptr);
  if (const Result<void> made = make_environment(); made) {
    enter(*top_);
  } else {
    finish(RunStatus::failed, describe_in_line(made.error()));
  }
  schedule_poll();
  arm_workflow_timeout();
  run_interval();
  watch_memory();
  save_if_needed();
}

/// The environment of the process, then the env files, then the workflow's own entries.
Result<void> Execution::make_environment() {
  std::vector<std::string> entries = services_.environment;
  for (const std::string& file : workflow_->env_files) {
    PAWL_TRY_ASSIGN(const std::string text,
                    services_.files.read(services_.files.absolute(file, state_.working_dir), 1U << 20));
    for (std::string& entry : parse_env_file(text)) set_entry(entries, std::move(entry));
  }
  const NodeNames names(*this, *top_, nullptr);
  for (const auto& [name, value] : workflow_->env) {
    PAWL_TRY_ASSIGN(const std::string text, value.render(names));
    set_entry(entries, name + "=" + text);
  }
  base_environment_ = std::move(entries);
  for (const std::string& name : workflow_->secrets) {
    const std::string* entry = find_entry(base_environment_, name);
    if (entry == nullptr)
      return fail(Error{Code::invalid_variable,
                        fmt::format("secret '{}' is not set in the environment", name),
                        {},
                        fmt::format("export {}=...", name),
                        0});
    add_secret(entry_value(*entry));
  }
  // A step may run Pawl itself, so it gets the keys of the store; they are masked in its output.
  for (const char* name : {"PAWL_KEY", "PAWL_PASSPHRASE", "PAWL_NEW_KEY", "PAWL_NEW_PASSPHRASE"}) {
    if (const std::string* entry = find_entry(base_environment_, name);
        entry != nullptr && !entry_value(*entry).empty())
      add_secret(entry_value(*entry));
  }
  return make_patterns();
}

void Execution::add_secret(std::string_view value) {
  secrets_.emplace_back(value);
  const std::string quoted = compact(Json(secrets_.back()));  // as written in JSON
  if (quoted.size() > 2) secrets_.push_back(quoted.substr(1, quoted.size() - 2));
}

Result<void> Execution::make_patterns() {
  Json vars = state_.vars;
  mask_keys(vars, secret_keys_, key_values_);
  std::vector<std::string> values = secrets_;
  for (const auto& [key, value] : key_values_) {
    if (value.is_string() && value.get_ref<const std::string&>().size() >= kMaskedValueBytesMin)
      values.push_back(value.get<std::string>());
  }
  PAWL_TRY_ASSIGN(patterns_, SecretPatterns::make(services_.settings.secrets, std::move(values)));
  mask_first_events();
  return {};
}

void Execution::mask_first_events() {
  for (RunEvent& event : pending_told_) {
    mask_keys(event.data, secret_keys_, key_values_);
    mask_event(event.data, patterns_, *masked_counts_);
    event.data = Json::parse(masked(compact(event.data), secrets_), nullptr, false);
  }
  for (std::size_t i = 0; i < pending_.size() && i < pending_told_.size(); ++i)
    pending_[i].data = compact(pending_told_[i].data);
}

void Execution::run_interval() {
  if (!workflow_->checkpoint.interval) return;
  const std::int64_t interval_us = std::chrono::microseconds(*workflow_->checkpoint.interval).count();
  loop_.after(std::max<std::int64_t>(interval_us, 10'000), [this, alive = alive_] {
    if (!*alive || over_ || finishing_) return;
    checkpoint_now(Reason::time_interval);
    run_interval();
  });
}

void Execution::arm_workflow_timeout() {
  if (!workflow_->timeout) return;
  loop_.after(std::chrono::microseconds(*workflow_->timeout).count(), [this, alive = alive_] {
    if (!*alive || finishing_ || hold_ != Hold::none) return;
    timed_out_ = true;
    interrupt(fmt::format("the workflow timed out after {}", duration_text(*workflow_->timeout)));
  });
}

void Execution::watch_memory() {
  if (!workflow_->checkpoint.memory_limit_bytes || !services_.resident_bytes) return;
  loop_.after(kMemoryCheck_us, [this, alive = alive_] {
    if (!*alive || over_) return;
    const std::uint64_t resident = services_.resident_bytes();
    if (resident > *workflow_->checkpoint.memory_limit_bytes) {
      tell(event_type::kMemoryPressure, nullptr, {{"resident_bytes", resident}});
      checkpoint_now(Reason::memory_pressure);
    }
    watch_memory();
  });
}

/// Includes what running steps have reported so far.
void Execution::checkpoint_now(Reason reason) {
  for_each_node(*top_, [this](Node& node) {
    if (!node.process) return;
    const Result<std::optional<std::string>> text =
        services_.files.read_regular(work_stem(node) + ".result", 8ULL << 20);
    if (!text || !*text) return;
    const StepReport report = parse_report(**text, LastLine::may_be_cut);
    if (!report.progress || *report.progress == node.record.partial) return;
    node.record.partial = *report.progress;
    touch(node);
  });
  force_save_ = true;
  ++change_;
  if (kind_ == Kind::manual) reason_ = reason;
  save_if_needed();
}

void Execution::round() {
  if (over_) return;
  if (top_) {
    for_each_node(*top_, [](Node& node) {
      if (node.child) node.child->round();
    });
  }
  if (pending_.size() > kPendingEventsMax) save_if_needed();
  finish_if_idle();
  save_if_needed();
  buried_.clear();
  if (finishing_ && saving_ == 0 && !save_waits_ && (change_ == durable_ || memory_only_ || storage_error_)) {
    over_ = true;
    if (memory_only_ || rung_ != Rung::full) dump_state();
    if (when_ended_) when_ended_();
  }
}

void Execution::finish_if_idle() {
  if (finishing_ || !top_) return;
  if (hold_ == Hold::interrupt || hold_ == Hold::cancel) {
    if (attempts_running_ == 0 && !busy()) finish_interrupted();
    return;
  }
  if (busy() || save_waits_ || hold_ == Hold::storage) return;
  const bool waits = budget_reached_ || !breakpoint_after_.empty() || !waiting_for().empty();
  if (!waits) return;
  if (saving_ != 0 || change_ != durable_ || !pending_.empty()) return;  // save pending changes first
  if (budget_reached_ || !breakpoint_after_.empty()) return finish(RunStatus::waiting, "");
  if (services_.ask && !asked_ && !gates().empty()) return answer_gates();
  if (services_.waiting == Waiting::leave || asked_) finish(RunStatus::waiting, "");
}

void Execution::finish_interrupted() {
  if (finishing_) return;
  const bool cancelled = hold_ == Hold::cancel;
  for_each_node(*top_, [&](Node& node) {
    const bool waits = cancelled && node.record.status == StepStatus::waiting;
    if (node.settled || (node.record.status != StepStatus::running && !waits)) return;
    node.record.status = cancelled ? StepStatus::cancelled : StepStatus::interrupted;
    touch(node);
  });
  finish(cancelled ? RunStatus::cancelled : timed_out_ ? RunStatus::failed : RunStatus::interrupted, hold_why_);
}

void Execution::finish(RunStatus status, const std::string& error) {
  finishing_ = true;
  if (top_) {
    for_each_node(*top_, [this](Node& node) {
      if (!node.active || node.timed_from_us == 0) return;
      note_time(node);
      touch(node);
    });
  }
  remove_spares();
  if (work_ != logs_) services_.files.remove_folder(work_);
  state_.status = status;
  state_.error = error;
  Json data = Json::object();
  if (!error.empty()) data["error"] = error;
  if (status == RunStatus::waiting) {
    data["for"] = waiting_for();
    if (budget_reached_) data["for"].push_back("a larger budget");
  }
  data["usage"] = state_.usage.document();
  data["usage"].erase("api_calls");
  tell(event_type_of(status), nullptr, std::move(data));
  switch (status) {
    case RunStatus::completed: return persist(Kind::workflow_complete, Reason::workflow_completed, nullptr);
    case RunStatus::failed: return persist(Kind::error, Reason::step_failed, nullptr);
    case RunStatus::waiting: return persist(Kind::waiting, Reason::manual, nullptr);
    default: return persist(Kind::interrupted, Reason::signal, nullptr);
  }
}

void Execution::interrupt(const std::string& why) {
  if (finishing_ || hold_ == Hold::interrupt || hold_ == Hold::cancel) return;
  hold_ = Hold::interrupt;
  hold_why_ = why;
  tell(event_type::kInterrupting, nullptr, {{"why", why}});
  ++change_;
  stop_running(*top_, why);
}

void Execution::cancel(const std::string& why) {
  if (finishing_ || hold_ == Hold::cancel) return;
  hold_ = Hold::cancel;
  hold_why_ = why;
  tell(event_type::kCancelling, nullptr, {{"why", why}});
  ++change_;
  stop_running(*top_, why);
}

bool Execution::rejected() const { return top_ && top_->failed && top_->rejected; }

std::vector<Gate> Execution::gates() const {
  std::vector<Gate> gates;
  if (!top_) return gates;
  const_cast<Execution*>(this)->for_each_node(*top_, [&](const Node& node) {
    if (node.record.status != StepStatus::waiting || node.settled) return;
    if (std::holds_alternative<Approve>(node.step->work))
      gates.push_back({id_.text(), node.path, node.record.detail, node.record.binding});
    if (node.child) {
      for (Gate& gate : node.child->gates()) gates.push_back(std::move(gate));
    }
  });
  return gates;
}

std::vector<std::string> Execution::waiting_for() const {
  std::vector<std::string> out;
  if (!breakpoint_after_.empty()) out.push_back(fmt::format("a resume at the breakpoint after {}", breakpoint_after_));
  if (!top_) return out;
  const_cast<Execution*>(this)->for_each_node(*top_, [&](const Node& node) {
    if (node.settled || node.record.status != StepStatus::waiting) return;
    if (node.record.reason == StepReason::breakpoint)
      return out.push_back(fmt::format("a resume at the breakpoint before {}", node.path));
    if (std::holds_alternative<Approve>(node.step->work)) out.push_back(fmt::format("approval of {}", node.path));
    if (const auto* wait = std::get_if<WaitFor>(&node.step->work))
      out.push_back(fmt::format("signal '{}' for {}", wait->signal, node.path));
    if (!node.record.child_run.empty()) out.push_back(fmt::format("run {}", node.record.child_run));
  });
  return out;
}

}  // namespace pawl
