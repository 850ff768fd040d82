// Opens child runs.
#include "base/hash.hpp"
#include "engine/open_run.hpp"

namespace pawl {
namespace {

constexpr std::size_t kIdMax = 128;

/// Returns the name of the child in place of characters that an ID can't have.
std::string name_of_child(const ChildOf& of, int number) {
  std::string name = of.parent_run + "." + of.parent_step;
  if (of.rollbacks > 0) name += fmt::format("-r{}", of.rollbacks);
  if (number > 1) name += fmt::format("-{}", number);
  for (char& c : name) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!fine) c = '-';
  }
  if (name.size() > kIdMax) name = name.substr(0, 90) + "-" + to_hex(sha256(name)).substr(0, 16);
  return name;
}

/// Returns whether this run was begun for this step, with these values. Children of older versions have no key.
bool is_its_child(const RunState& state, const ChildOf& of, bool recorded) {
  if (state.parent_run != of.parent_run || state.parent_step != of.parent_step) return false;
  return state.parent_key.empty() ? recorded : state.parent_key == of.key;
}

Result<OpenedChild> continue_child(const ExecutionServices& services, const RunId& id, const RunState& state) {
  OpenedChild opened{.id = id.text()};
  if (state.status == RunStatus::completed || state.status == RunStatus::cancelled) {
    opened.finished = state;
    return opened;
  }
  ResumeRequest request{.id = id};
  request.changes = services.child_changes;
  request.by_parent = true;
  PAWL_TRY_ASSIGN(Resumption resumed, open_resume(services, request));
  opened.run = std::make_unique<OpenedRun>(std::move(resumed.run));
  return opened;
}

}  // namespace

Result<OpenedChild> open_child(const ExecutionServices& services, const ChildOf& of, const std::string& file,
                               const Json& with) {
  constexpr int kNumberMax = 10'000;
  if (!of.child_run.empty()) {
    PAWL_TRY_ASSIGN(const RunId known, RunId::parse(of.child_run));
    const Result<RunState> state = load_whole_state(services.store, known);
    if (state && is_its_child(*state, of, true)) return continue_child(services, known, *state);
    if (!state && state.error().code != Code::run_not_found) return fail(state.error());
  }
  for (int number = 1; number < kNumberMax; ++number) {
    PAWL_TRY_ASSIGN(const RunId id, RunId::parse(name_of_child(of, number)));
    const Result<RunState> state = load_whole_state(services.store, id);
    if (state && is_its_child(*state, of, false)) return continue_child(services, id, *state);
    const bool is_free = !state && state.error().code == Code::run_not_found;
    if (!is_free) continue;  // another run has the name
    PAWL_TRY_ASSIGN(Workflow workflow, services.load_workflow(file));
    NewRun run{.id = id,
               .workflow = std::make_shared<const Workflow>(std::move(workflow)),
               .vars = with.is_object() ? with : Json::object()};
    run.parent_run = of.parent_run;
    run.parent_step = of.parent_step;
    run.parent_key = of.key;
    run.depth = of.depth;
    PAWL_TRY_ASSIGN(OpenedRun opened, open_new(services, run));
    return OpenedChild{.id = id.text(), .finished = {}, .run = std::make_unique<OpenedRun>(std::move(opened))};
  }
  return fail(Code::run_exists, "all names for a child run of '{}' are taken", of.parent_step);
}

}  // namespace pawl
