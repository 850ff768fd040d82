#include "testing/sim_machine.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/assert.hpp"

namespace pawl::testing {
namespace {

bool is_op(SimCallKind kind) { return kind != SimCallKind::look && kind != SimCallKind::lock; }

bool matches(Fault::What what, SimCallKind kind) {
  switch (what) {
    case Fault::eio: return true;
    case Fault::sync_fails: return kind == SimCallKind::sync;
    case Fault::short_write_then_enospc: return kind == SimCallKind::write;
    case Fault::enospc: return kind == SimCallKind::write || kind == SimCallKind::grow || kind == SimCallKind::rename;
  }
  return false;
}

Code io_error_code(SimCallKind kind) {
  switch (kind) {
    case SimCallKind::look: return Code::read_failed;
    case SimCallKind::sync: return Code::outcome_unknown;
    case SimCallKind::rename: return Code::rename_failed;
    default: return Code::write_failed;
  }
}

void run_hook(SimProcess& process, std::uint64_t call) {
  if (!process.hook || process.dead || process.in_hook.exchange(true)) return;
  process.hook(call);
  process.in_hook = false;
}

}  // namespace

Error sim_error(Code code, int os_error, std::string_view path) {
  const char* description = ::strerrordesc_np(os_error);
  return Error{code,
               fmt::format("simulated: {}", description != nullptr ? description : "unknown error"),
               std::string(path),
               {},
               os_error};
}

SimPlace SimMachine::look_up(std::string_view path) const {
  if (path.empty()) return {nullptr, {}, root, ENOENT};
  SimInodePtr folder = root;
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    folder = folder->names.find(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (folder == nullptr) return {nullptr, {}, nullptr, ENOENT};
    if (!folder->is_folder) return {nullptr, {}, nullptr, ENOTDIR};
  }
  SimInodePtr inode = folder->names.find(path);
  return {std::move(folder), std::string(path), std::move(inode), 0};
}

void SimMachine::kill(SimProcess& process) {
  process.dead = true;
  process.later.clear();
  for (auto& [place, holders] : locks) {
    std::erase_if(holders, [&](const Holder& holder) { return holder.process == process.id; });
  }
}

void SimMachine::kill_all() {
  for (const auto& weak : processes) {
    if (const auto process = weak.lock()) kill(*process);
  }
  processes.clear();
  locks.clear();
}

namespace {

constexpr std::uint64_t kBlockBytes = 4096;

std::uint64_t in_blocks(std::uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

void add_sizes(const SimInode& inode, std::set<const SimInode*>& seen, std::uint64_t& total) {
  if (!seen.insert(&inode).second) return;
  if (!inode.is_folder) total += in_blocks(inode.content.cached().size());
  for (const auto& [name, below] : inode.names.cached) add_sizes(*below, seen, total);
}

}  // namespace

std::uint64_t SimMachine::used_bytes() const {
  std::set<const SimInode*> seen;
  std::uint64_t total = 0;
  add_sizes(*root, seen, total);
  return total;
}

std::uint64_t SimMachine::room_for(const SimInode& inode, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t allocated = in_blocks(inode.content.cached().size());
  if (capacity == 0 || offset + bytes <= allocated) return bytes;
  const std::uint64_t used = used_bytes();
  const std::uint64_t end = allocated + (used < capacity ? (capacity - used) / kBlockBytes * kBlockBytes : 0);
  return end > offset ? std::min(bytes, end - offset) : 0;
}

void SimMachine::sync_as_told(SimProcess& process, SyncPoint point, std::function<void()> sync) {
  const auto index = static_cast<std::size_t>(point);
  if (process.ignored[index]) return;
  if (process.postponed[index] == 0) return sync();
  process.later.push_back({process.ops + process.postponed[index], std::move(sync)});
}

SimCall::SimCall(SimMachine& machine, SimProcess& process, SimCallKind kind, std::string_view path)
    : machine_(machine), process_(process), kind_(kind), path_(path) {
  run_hook(process_, process_.calls.fetch_add(1) + 1);
  lock_ = std::unique_lock(machine_.mutex);
  decide();
}

void SimCall::decide() {
  if (process_.dead) {
    verdict_ = Verdict::dead;
    return;
  }
  if (is_op(kind_)) count_op();
  ++process_.fallible_calls;
  if (is_op(kind_) && process_.cut_op != 0 && process_.ops >= process_.cut_op) {
    verdict_ = Verdict::cut;
  } else if (take_fault()) {
    verdict_ = Verdict::fault;
  }
}

void SimCall::count_op() {
  ++process_.ops;
  for (std::size_t i = 0; i < process_.later.size();) {
    if (process_.later[i].after_op >= process_.ops) {
      ++i;
      continue;
    }
    process_.later[i].sync();
    process_.later.erase(process_.later.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool SimCall::take_fault() {
  for (std::size_t i = 0; i < process_.faults.size(); ++i) {
    Fault& fault = process_.faults[i];
    if (process_.fallible_calls < fault.nth || !matches(fault.what, kind_)) continue;
    ++process_.faults_fired;
    fault_ = fault.what;
    // After a short write, the disk stays full for every call that needs space.
    if (fault_ == Fault::short_write_then_enospc) fault.what = Fault::enospc;
    if (!fault.persistent) process_.faults.erase(process_.faults.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

Error SimCall::fault_error() const {
  if (kind_ == SimCallKind::sync) return sim_error(Code::outcome_unknown, EIO, path_);
  if (fault_ == Fault::eio) return sim_error(io_error_code(kind_), EIO, path_);
  return sim_error(Code::disk_full, ENOSPC, path_);
}

void SimCall::die() {
  PAWL_ASSERT(verdict_ == Verdict::cut);
  if (process_.cut_is_power) {
    machine_.kill_all();
    machine_.power_is_off = true;
  }
  machine_.kill(process_);
}

Error SimCall::killed_error() const {
  return Error{Code::write_failed, "process was killed", std::string(path_), {}, 0};
}

}  // namespace pawl::testing
