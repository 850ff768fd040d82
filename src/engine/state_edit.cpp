#include "engine/state_edit.hpp"

#include "engine/open_run.hpp"
#include "engine/save.hpp"

namespace pawl {
Status checkpoint_status(RunStatus status) {
  switch (status) {
    case RunStatus::completed: return Status::completed;
    case RunStatus::failed:
    case RunStatus::cancelled: return Status::failed;
    default: return Status::active;
  }
}

Result<StateEdit> StateEdit::open(Store& store, const RunId& id) {
  // First without the lock, because opening a missing run would create it.
  PAWL_TRY(load_state(store, id));
  PAWL_TRY_ASSIGN(std::unique_ptr<RunWriter> writer, store.open_run(id, {}));
  PAWL_TRY_ASSIGN(Restored restored, store.restore(id, {}));
  const Json value = parse_json(restored.state);
  Result<RunState> state = RunState::from_json(value);
  if (!state) return fail(at(state.error(), id.text()));
  const auto events = value.find("events");
  const bool counted = events != value.end() && events->is_number_unsigned();
  return StateEdit(std::move(*state), std::move(writer), std::move(restored.info),
                   counted ? events->get<std::uint64_t>() : 0);
}

Result<Saved> StateEdit::save(Kind kind, Reason reason, std::string_view event, const Json& data,
                              std::uint64_t state_bytes_max) {
  Json value = state.to_json();
  value["events"] = events_ + 1;
  const std::string text = compact(value);
  SaveRequest request;
  request.body = text;
  request.kind = kind;
  request.reason = reason;
  request.status = checkpoint_status(state.status);
  request.events.push_back({std::string(event), compact(data)});
  Result<Saved> saved = checked_save(*writer_, request, state_bytes_max);
  if (saved) ++events_;
  return saved;
}

}  // namespace pawl
