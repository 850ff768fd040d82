#include "engine/worktrees.hpp"

#include <algorithm>

#include "base/fault.hpp"
#include "domain/event_types.hpp"
#include "engine/attempt_result.hpp"
#include "engine/environment_entries.hpp"

namespace pawl {
namespace {

constexpr std::size_t kProbeBytes = 64U << 10U;

// Git's worktree commands read other worktrees and fail while one is being created, so they run one at a time in a
// repository, across all runs. Background processes of git don't inherit the lock.
constexpr const char* kOneAtATime = R"sh(
exec flock -o "$(git rev-parse --git-common-dir)/pawl-worktrees.lock" sh -e -c "$1"
)sh";

// Every script begins with this. A marker that is left says that the last script was killed: locks that are newer were
// its. Another marker names the commit that a killed merge was moving the working directory to.
constexpr const char* kCleanUp = R"sh(
common=$(git rev-parse --git-common-dir)
running="$common/pawl-git"
if [ -e "$running" ]; then
  find "$common" -name '*.lock' ! -name pawl-worktrees.lock -newer "$running" -delete
fi
: > "$running"
trap 'rm -f "$running"' EXIT
marker="$common/pawl-merging"
pawl_git() { git -c user.name=pawl -c user.email=pawl@localhost -c core.hooksPath=/dev/null -c gc.auto=0 "$@"; }
if [ -e "$marker" ]; then
  target=$(cat "$marker")
  rm -f "$(git rev-parse --git-path index.lock)" "$(git rev-parse --git-path HEAD.lock)"
  find "$common/refs" -name '*.lock' -delete
  if git rev-parse -q --verify "$target^{commit}" >/dev/null 2>&1; then
    git diff --name-only -z --diff-filter=A HEAD "$target" | xargs -0 -r rm -f --
    git diff --name-only -z --diff-filter=a HEAD "$target" | xargs -0 -r git checkout -q HEAD --
  fi
  rm -f "$marker"
fi
if [ -e "$TREE/.git" ]; then
  git_dir=$(git -C "$TREE" rev-parse --absolute-git-dir 2>/dev/null) && rm -f "$git_dir/index.lock" "$git_dir/HEAD.lock"
fi
)sh";

constexpr const char* kPrepare = R"sh(
base=$(git rev-parse HEAD)
rm -f "$TREE.merged"
if [ -e "$TREE/.git" ] && [ -s "$TREE.base" ] && git -C "$TREE" rev-parse -q --verify HEAD >/dev/null 2>&1; then
  git -C "$TREE" rebase --abort 2>/dev/null || :
  git -C "$TREE" reset -q --hard "$(cat "$TREE.base")"
  git -C "$TREE" clean -q -f -d -x
  if [ -s "$TREE.done" ]; then
    git -C "$TREE" read-tree -u --reset "$(cat "$TREE.done")"
    git -C "$TREE" reset -q
  fi
else
  rm -rf "$TREE" "$TREE.done"
  git worktree prune
  printf %s "$base" > "$TREE.base"
  git worktree add -q -f -f --detach "$TREE" "$base"
fi
)sh";

// Ignored files are kept as well: the next step may need what this one built.
constexpr const char* kKeep = R"sh(
index="$TREE.index"
rm -f "$index" "$index.lock"
cp "$(git -C "$TREE" rev-parse --absolute-git-dir)/index" "$index"
GIT_INDEX_FILE="$index" git -C "$TREE" add -A -f
GIT_INDEX_FILE="$index" git -C "$TREE" write-tree > "$TREE.done.tmp"
mv "$TREE.done.tmp" "$TREE.done"
rm -f "$index"
)sh";

// Commits what the item changed. A marker says that this was used, so that a worktree that is half removed is not
// committed again.
constexpr const char* kCommit = R"sh(
if [ ! -e "$TREE.merged" ]; then
base=$(cat "$TREE.base")
pawl_git -C "$TREE" rebase --abort 2>/dev/null || :
pawl_git -C "$TREE" add -A
pawl_git -C "$TREE" diff --cached --quiet || pawl_git -C "$TREE" commit -q --no-verify -m "$MESSAGE" -m "Pawl-Item: $KEY"
tip=$(git -C "$TREE" rev-parse HEAD)
)sh";

// Moves the commits onto the current one inside the worktree, where a conflict does no harm, and then lets the working
// directory follow. The key in the message shows whether that happened before a crash.
constexpr const char* kMerge = R"sh(
if [ "$base" != "$tip" ] && ! git log --format=%B "$base..HEAD" 2>/dev/null | grep -qxF "Pawl-Item: $KEY"; then
  head=$(git rev-parse HEAD)
  if ! pawl_git -C "$TREE" rebase -q --onto "$head" "$base" >/dev/null 2>&1; then
    git -C "$TREE" diff --name-only --diff-filter=U | sed 's/^/conflict in /' >&2
    pawl_git -C "$TREE" rebase --abort 2>/dev/null || :
    exit 1
  fi
  target=$(git -C "$TREE" rev-parse HEAD)
  if [ "$head" != "$target" ]; then
    printf %s "$target" > "$marker"
    if ! pawl_git merge -q --ff-only "$target" >&2; then
      rm -f "$marker"
      git -C "$TREE" reset -q --hard "$tip"
      exit 1
    fi
    rm -f "$marker"
  fi
fi
)sh";

// Only a branch that this item has set is moved: the file beside the worktree lists those commits. Another file says
// that the branch has not been told yet.
constexpr const char* kKeepBranch = R"sh(
old=$(git rev-parse -q --verify "refs/heads/$BRANCH" || :)
own=
if [ -n "$old" ] && grep -qxF "$old" "$TREE.branch" 2>/dev/null; then own=1; fi
rm -f "$TREE.kept"
if [ "$base" = "$tip" ]; then
  if [ -n "$own" ]; then pawl_git branch -q -D "$BRANCH"; fi
else
  if [ "$old" != "$tip" ]; then
    if [ -n "$old" ] && [ -z "$own" ]; then
      echo "branch '$BRANCH' already exists; rename it, then retry" >&2
      exit 1
    fi
    part=$BRANCH
    while [ "$part" != "${part%/*}" ]; do
      part=${part%/*}
      if git show-ref --verify -q "refs/heads/$part"; then
        echo "can't create branch '$BRANCH' beside branch '$part'; rename '$part', then retry" >&2
        exit 1
      fi
    done
    printf '%s\n' "$tip" >> "$TREE.branch"
    pawl_git branch -q -f "$BRANCH" "$tip"
  fi
  : > "$TREE.kept"
fi
)sh";

constexpr const char* kRemove = R"sh(
: > "$TREE.merged"
fi
git worktree remove -f -f "$TREE" 2>/dev/null || { rm -rf "$TREE" && git worktree prune; }
rm -f "$TREE.base" "$TREE.done"
rm -f "$TREE.merged"
)sh";

constexpr std::size_t kBranchesPerEvent = 100;

/// Makes one part of the name of a branch from a path or a run ID: `outer[2].m[0]` becomes `outer-2.m-0`.
std::string part_of_branch(std::string_view text) {
  std::string part;
  for (const char c : text) {
    if (c == ']') continue;
    const bool twice = c == '.' && (part.empty() || part.back() == '.');
    part += c == '[' || twice ? '-' : c;
  }
  if (part.ends_with('.') || part.ends_with(".lock")) part += '-';
  return part;
}

const machine::Scope* item_scope_of(const RunContext& context, const machine::Node& node) {
  for (const machine::Scope* at = &context.scope_of(node);; at = &machine::scope_at(context.state, at->outer)) {
    if (at->kind == machine::ScopeKind::item &&
        machine::node_at(context.state, at->owner).step->isolation == Isolation::worktree)
      return at;
    if (at->outer == machine::ScopeId::none) return nullptr;
  }
}

/// Returns whether another attempt runs inside the scope.
bool is_shared(machine::State& state, const machine::Scope& scope, const machine::Node& node) {
  bool shared = false;
  machine::for_each_node(state, scope.id, [&](const machine::Node& other) {
    const bool active = other.activity == machine::Activity::running || other.activity == machine::Activity::stopping;
    shared = shared || (active && other.id != node.id);
  });
  return shared;
}

bool is_aside(const RunContext& context, const machine::Node& node) {
  const machine::Scope& scope = context.scope_of(node);
  return machine::is_within(context.state, scope, machine::ScopeKind::on_failure) ||
         machine::is_within(context.state, scope, machine::ScopeKind::low_confidence);
}

}  // namespace

std::string Worktrees::tree_of(const machine::Node& node) const {
  if (const machine::Scope* item = item_scope_of(context_, node)) return folder_of(item->prefix);
  if (node.step->isolation == Isolation::none || std::holds_alternative<Map>(node.step->work)) return {};
  return folder_of(node.path);
}

bool Worktrees::shares_tree(const machine::Node& node) const { return item_scope_of(context_, node) != nullptr; }

/// Runs a small script in the working directory. If it fails, `then` gets its standard error.
void Worktrees::run_git(const std::string& about, const std::string& script, const std::string& tree, Then then) {
  static_cast<void>(context_.services.files.make_folder(context_.logs + "/worktrees"));
  const std::string log = tree + ".git-log";
  context_.services.files.remove(log);
  const std::shared_ptr<StepOutput> output = context_.make_output(log, {.tail_bytes = kTailBytes});
  ProcessSpec spec;
  spec.argv = {"sh", "-e", "-c", kOneAtATime, "git", std::string(kCleanUp) + script};
  spec.environment = context_.environment;
  set_entry(spec.environment, "TREE=" + tree);
  set_entry(spec.environment, fmt::format("MESSAGE={} of run {}", about, context_.id.text()));
  set_entry(spec.environment, fmt::format("KEY={}/{}", context_.uuid.text(), about));
  set_entry(spec.environment, "BRANCH=" + branch_of(about));
  set_entry(spec.environment, "PAWL_RUN_UUID=" + context_.uuid.text());
  spec.working_dir = context_.base.working_dir;
  spec.output = output;
  spec.errors = output;
  ++running_;
  context_.loop.start_process(
      spec, [this, alive = context_.alive, log, output, then = std::move(then)](const ProcessEnd& end) {
        if (!*alive) return;
        --running_;
        const bool ok = end.how == ProcessEnd::How::exited && end.exit_code == 0;
        std::string said = end.error;
        if (!ok && said.empty()) said = output->tail().empty() ? "can't run git" : std::string(output->tail());
        context_.services.files.remove(log);
        while (said.ends_with('\n')) said.pop_back();
        if (ok) return then(std::nullopt);
        then(Trouble{.error = std::move(said), .machine = is_trouble_of_machine(end)});
      });
}

/// Git's exit status does not say that the disk is full, so something is written beside it.
bool Worktrees::is_trouble_of_machine(const ProcessEnd& end) const {
  if (end.how == ProcessEnd::How::lost) return true;
  if (end.how == ProcessEnd::How::not_started) return end.fault == Fault::machine;
  const std::string probe = context_.logs + "/worktrees/probe";
  const Result<void> written = context_.services.files.write(probe, std::string(kProbeBytes, ' '));
  context_.services.files.remove(probe);
  return !written && fault_of(written.error()) == Fault::machine;
}

void Worktrees::prepare(const machine::Node& node, Then then) {
  const std::string tree = tree_of(node);
  if (tree.empty()) return then(std::nullopt);
  const machine::Scope* item = item_scope_of(context_, node);
  const bool shared = item != nullptr && is_shared(context_.state, *item, node);
  const auto preparing = preparing_.find(tree);
  if (preparing != preparing_.end()) return preparing->second.push_back(std::move(then));
  const bool keeps = shared || is_aside(context_, node);  // what runs beside a failed step sees what that has left
  if (keeps && context_.services.files.exists(tree + "/.git")) return then(std::nullopt);
  preparing_[tree].push_back(std::move(then));
  run_git(node.path, kPrepare, tree, [this, tree](std::optional<Trouble> trouble) {
    if (trouble) trouble->error = "can't create its worktree: " + trouble->error;
    const auto waiting = preparing_.extract(tree);
    for (const Then& each : waiting.mapped()) each(trouble);
  });
}

void Worktrees::keep_changes(const machine::Node& node, Then then) {
  if (item_scope_of(context_, node) == nullptr) return then(std::nullopt);
  run_git(node.path, kKeep, tree_of(node), [then = std::move(then)](std::optional<Trouble> trouble) {
    if (trouble) trouble->error = "can't record its changes: " + trouble->error;
    then(std::move(trouble));
  });
}

std::string Worktrees::folder_of(const std::string& item) const {
  return fmt::format("{}/worktrees/{}", context_.logs, item);
}

std::string Worktrees::branch_of(const std::string& item) const {
  return fmt::format("pawl/{}/{}", part_of_branch(context_.id.text()), part_of_branch(item));
}

void Worktrees::merge(const machine::Node& node, const std::string& item, Then then) {
  const bool manual = node.step->merge == Merge::manual;
  const std::string script = fmt::format("{}{}{}", kCommit, manual ? kKeepBranch : kMerge, kRemove);
  run_git(item, script, folder_of(item), [manual, then = std::move(then)](std::optional<Trouble> trouble) {
    const char* what =
        manual ? "can't keep its changes as a branch" : "its changes conflict with the working directory";
    if (trouble) trouble->error = fmt::format("{}: {}", what, trouble->error);
    then(std::move(trouble));
  });
}

/// Names the branches that were kept and not told yet. A kill before that is durable leaves them to the next execution.
void Worktrees::tell_branches(const machine::Node& node, const std::vector<std::string>& items) {
  if (node.step->merge != Merge::manual) return;
  Json branches = Json::array();
  const auto tell = [&] {
    if (branches.empty()) return;
    context_.tell(event_type::kBranchesKept, node.path, {{"branches", std::exchange(branches, Json::array())}});
  };
  for (const std::string& item : items) {
    const std::string untold = folder_of(item) + ".kept";
    if (!context_.services.files.exists(untold)) continue;
    branches.push_back(branch_of(item));
    recorder_.remove_when_durable(untold);
    if (branches.size() == kBranchesPerEvent) tell();
  }
  tell();
}

void Worktrees::merge_step(const machine::Node& node, Then then) {
  if (tree_of(node).empty() || item_scope_of(context_, node) != nullptr) return then(std::nullopt);
  merge(node, node.path, [this, id = node.id, then = std::move(then)](std::optional<Trouble> trouble) {
    const machine::Node* merged = context_.node(id);
    if (!trouble && merged != nullptr) tell_branches(*merged, {merged->path});
    then(std::move(trouble));
  });
}

struct Worktrees::Merging {
  machine::NodeId node = machine::NodeId::none;
  std::vector<std::string> done;                            // all completed items
  std::vector<std::pair<std::uint64_t, std::string>> left;  // index and path, in reverse order
  machine::fact::ItemsMerged result;
};

void Worktrees::merge_items(const machine::command::MergeItems& command) {
  const machine::Node* node = context_.node(command.node);
  if (node == nullptr) return;
  const auto merging = std::make_shared<Merging>();
  merging->node = command.node;
  merging->result.node = command.node;
  for (const auto& [first, last] : node->record.map->done.ranges()) {
    for (std::uint64_t index = first; index <= last; ++index) {
      if (node->record.map->failed.contains(index)) continue;
      const std::string item = fmt::format("{}[{}]", node->path, index);
      if (context_.services.files.exists(folder_of(item) + ".base")) merging->left.emplace_back(index, item);
      if (node->step->merge == Merge::manual) merging->done.push_back(item);
    }
  }
  std::ranges::reverse(merging->left);
  merge_next(merging);
}

void Worktrees::merge_next(const std::shared_ptr<Merging>& merging) {
  const machine::Node* node = context_.node(merging->node);
  if (node == nullptr) return;
  if (merging->left.empty() || !merging->result.trouble.empty()) {
    tell_branches(*node, merging->done);
    return context_.feed(std::move(merging->result));
  }
  const auto [index, item] = merging->left.back();
  merging->left.pop_back();
  merge(*node, item, [this, merging, index](std::optional<Trouble> trouble) {
    if (trouble && trouble->machine) {
      merging->result.trouble = std::move(trouble->error);
    } else if (trouble) {
      merging->result.conflicts.emplace_back(index, std::move(trouble->error));
    }
    merge_next(merging);
  });
}

}  // namespace pawl
