// `isolate: worktree`: each item, or each attempt at a step, works in a git worktree of its own.
//
// A worktree starts at the commit of the working directory when the step starts. It is reset before a retry. When it
// succeeds, its changes are committed and cherry-picked into the working directory, items in index order. The worktree
// of a failed item is kept for the dead-letter queue.
#include "domain/event_types.hpp"
#include "engine/environment_entries.hpp"
#include "engine/execution_parts.hpp"

namespace pawl {
namespace {

// Git's worktree commands read other worktrees and fail while one is being created, so they run one at a time in a
// repository, across all runs. Background processes of git don't inherit the lock.
constexpr const char* kOneAtATime = R"sh(
exec flock -o "$(git rev-parse --git-common-dir)/pawl-worktrees.lock" sh -e -c "$1"
)sh";

constexpr const char* kPrepare = R"sh(
base=$(git rev-parse HEAD)
if [ -e "$TREE/.git" ]; then
  git -C "$TREE" cherry-pick --abort 2>/dev/null || :
  git -C "$TREE" reset -q --hard "$(cat "$TREE.base")"
  git -C "$TREE" clean -q -f -d -x
else
  rm -rf "$TREE"
  printf %s "$base" > "$TREE.base"
  git worktree add -q --detach "$TREE" "$base"
fi
)sh";

constexpr const char* kCommit = R"sh(
cd "$TREE"
git add -A
git diff --cached --quiet || git -c user.name=pawl -c user.email=pawl@localhost commit -q --no-verify -m "$MESSAGE"
)sh";

// Cherry-picks the commits after the base. On a conflict, everything is restored.
constexpr const char* kMerge = R"sh(
base=$(cat "$TREE.base")
tip=$(git -C "$TREE" rev-parse HEAD)
if [ "$base" != "$tip" ]; then
  if ! git -c user.name=pawl -c user.email=pawl@localhost cherry-pick --keep-redundant-commits "$base..$tip" >/dev/null; then
    git diff --name-only --diff-filter=U | sed 's/^/conflict in /' >&2
    git cherry-pick --abort
    exit 1
  fi
fi
git worktree remove --force "$TREE"
rm -f "$TREE.base"
)sh";

}  // namespace

std::string Execution::worktree_of(const Node& node) const {
  for (const Scope* scope = node.scope; scope != nullptr; scope = scope->outer) {
    if (scope->is_item && scope->owner->step->isolation == Isolation::worktree)
      return fmt::format("{}/worktrees/{}", logs_, scope->prefix);
  }
  if (node.step->isolation == Isolation::worktree && !std::holds_alternative<Map>(node.step->work))
    return fmt::format("{}/worktrees/{}", logs_, node.path);
  return {};
}

/// Runs a small script in the working directory. If it fails, `then` gets its standard error.
void Execution::run_git(const Node& node, const char* script, const std::string& tree,
                        std::function<void(std::optional<std::string> error)> then) {
  static_cast<void>(services_.files.make_folder(logs_ + "/worktrees"));
  const std::string log = tree + ".git-log";
  services_.files.remove(log);
  const std::shared_ptr<StepOutput> output = make_output(log, {.tail_bytes = kTailBytes});
  ProcessSpec spec;
  spec.argv = {"sh", "-e", "-c", kOneAtATime, "git", script};
  spec.environment = environment();
  set_entry(spec.environment, "TREE=" + tree);
  set_entry(spec.environment, fmt::format("MESSAGE={} of run {}", node.path, id_.text()));
  set_entry(spec.environment, "PAWL_RUN_UUID=" + uuid_.text());
  spec.working_dir = state_.working_dir;
  spec.output = output;
  spec.errors = output;
  ++attempts_running_;
  loop_.start_process(spec, [this, alive = alive_, log, output, then = std::move(then)](const ProcessEnd& end) {
    if (!*alive) return;
    --attempts_running_;
    const bool ok = end.how == ProcessEnd::How::exited && end.exit_code == 0;
    std::string said = end.error;
    if (!ok && said.empty()) said = output->tail().empty() ? "can't run git" : std::string(output->tail());
    services_.files.remove(log);
    while (said.ends_with('\n')) said.pop_back();
    then(ok ? std::nullopt : std::optional(said));
  });
}

/// Creates or resets the worktree before each attempt.
void Execution::prepare_worktree(Node& node, std::function<void()> then) {
  const std::string tree = worktree_of(node);
  // In an item, attempts of the first step start from scratch; later steps continue with its changes.
  const bool first = !node.scope->is_item || node.index == 0;
  if (tree.empty() || !first) return then();
  run_git(node, kPrepare, tree, [this, &node, then = std::move(then)](const std::optional<std::string>& error) {
    if (!error) return then();
    --attempts_running_;
    Outcome outcome;
    outcome.error = fmt::format("can't create its worktree: {}", *error);
    outcome.retryable = false;
    attempt_ended(node, std::move(outcome));
  });
}

void Execution::commit_worktree(Node& node, const std::string& tree,
                                std::function<void(std::optional<std::string> error)> then) {
  run_git(node, kCommit, tree, std::move(then));
}

/// Moves the changes of a plain step into the working directory as soon as it succeeds.
void Execution::merge_step_worktree(Node& node, std::function<void()> then) {
  const std::string tree = worktree_of(node);
  if (tree.empty() || node.scope->is_item) return then();
  commit_worktree(node, tree, [this, &node, tree, then = std::move(then)](std::optional<std::string> error) {
    if (error) return settle_failed(node, fmt::format("can't commit its changes: {}", *error), false);
    run_git(node, kMerge, tree, [this, &node, then](const std::optional<std::string>& conflict) {
      if (conflict)
        return settle_failed(node, fmt::format("its changes conflict with the working directory: {}", *conflict),
                             false);
      then();
    });
  });
}

/// Merges items in index order. An item with a conflict fails and keeps its worktree.
void Execution::merge_items(Node& node, std::uint64_t from, std::function<void()> then) {
  MapProgress& progress = *node.record.map;
  std::uint64_t index = from;
  while (index < progress.total &&
         (progress.failed.contains(index) ||
          !services_.files.exists(fmt::format("{}/worktrees/{}[{}].base", logs_, node.path, index))))
    ++index;
  if (index >= progress.total) return then();
  const std::string tree = fmt::format("{}/worktrees/{}[{}]", logs_, node.path, index);
  commit_worktree(node, tree, [this, &node, tree, index, then = std::move(then)](const std::optional<std::string>&) {
    run_git(node, kMerge, tree, [this, &node, index, then](const std::optional<std::string>& conflict) {
      if (conflict) {
        node.record.map->failed.add(index);
        touch(node);
        tell(event_type::kItemFailed, &node,
             {{"index", index},
              {"status", "failed"},
              {"error", fmt::format("its changes conflict with the working directory: {}", *conflict)},
              {"item", Json()}});
        persist(Kind::step_complete, Reason::after_step, &node);
        item_failed(node);
      }
      merge_items(node, index + 1, then);
    });
  });
}

}  // namespace pawl
