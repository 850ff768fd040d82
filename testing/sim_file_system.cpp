#include "testing/sim_file_system.hpp"

#include <cerrno>

#include "base/assert.hpp"
#include "testing/sim_machine.hpp"

namespace pawl::testing {
namespace {

/// Adds the new name first, so that the removal of the old name can depend on it.
void move_name(SimMachine& machine, const SimPlace& source, const SimPlace& target) {
  const std::uint64_t arrival = ++machine.last_id;
  const std::uint64_t departure = ++machine.last_id;
  SimNameChange arrives{arrival, source.inode, {}};
  if (source.inode->is_folder) arrives.need = {source.folder, source.name, departure};
  target.folder->names.change(target.name, std::move(arrives));
  source.folder->names.change(source.name, {departure, nullptr, {target.folder, target.name, arrival}});
}

/// Returns the errno of renaming `source` to `target`, or 0 if it is possible.
int rename_problem(const SimPlace& source, const SimPlace& target) {
  if (source.folder == nullptr || source.inode == nullptr) return source.os_error != 0 ? source.os_error : ENOENT;
  if (target.folder == nullptr) return target.os_error;
  if (source.inode->is_folder && source.folder != target.folder) return EXDEV;  // not modelled
  if (target.inode == nullptr || target.inode == source.inode) return 0;
  if (!source.inode->is_folder) return target.inode->is_folder ? EISDIR : 0;
  if (!target.inode->is_folder) return ENOTDIR;
  return target.inode->names.cached.empty() ? 0 : ENOTEMPTY;
}

}  // namespace

SimFileSystem::SimFileSystem(SimDisk& disk) : machine_(disk.machine_), process_(std::make_shared<SimProcess>()) {
  const std::scoped_lock lock(machine_->mutex);
  PAWL_ASSERT(!machine_->power_is_off);
  process_->id = ++machine_->last_id;
  std::erase_if(machine_->processes, [](const auto& process) { return process.expired(); });
  machine_->processes.push_back(process_);
}

Result<std::unique_ptr<File>> SimFileSystem::open_file(std::string_view path, OpenMode mode) {
  const bool creates = mode == OpenMode::create || mode == OpenMode::create_empty;
  SimPlace place = machine_->look_up(path);
  if (place.inode != nullptr && place.inode->is_folder) return fail(sim_error(Code::store_damaged, EISDIR, path));
  if (place.os_error == ENOTDIR) return fail(sim_error(Code::store_damaged, ENOTDIR, path));
  if (place.inode == nullptr && (!creates || place.folder == nullptr)) {
    return fail(sim_error(creates ? Code::write_failed : Code::input_unreadable, ENOENT, path));
  }
  if (place.inode == nullptr) {
    place.inode = std::make_shared<SimInode>(false);
    place.folder->names.change(place.name, {++machine_->last_id, place.inode, {}});
  } else if (mode == OpenMode::create_empty) {
    place.inode->content.resize(0);
  }
  return make_sim_file(machine_, process_, place.inode, std::string(path), mode);
}

Result<std::unique_ptr<File>> SimFileSystem::open(std::string_view path, OpenMode mode) {
  const bool creates = mode == OpenMode::create || mode == OpenMode::create_empty;
  // Declared before the call: if the process dies in it, the file is closed after the mutex is released.
  Result<std::unique_ptr<File>> opened;
  Result<void> done;
  {
    SimCall call(*machine_, *process_, creates ? SimCallKind::grow : SimCallKind::look, path);
    done = call.run([&]() -> Result<void> {
      opened = open_file(path, mode);
      return {};
    });
  }
  if (!done) return fail(std::move(done).error());
  return opened;
}

Result<bool> SimFileSystem::exists(std::string_view path) {
  SimCall call(*machine_, *process_, SimCallKind::look, path);
  return call.run([&]() -> Result<bool> { return machine_->look_up(path).inode != nullptr; });
}

Result<std::vector<FolderEntry>> SimFileSystem::list(std::string_view folder) {
  SimCall call(*machine_, *process_, SimCallKind::look, folder);
  return call.run([&]() -> Result<std::vector<FolderEntry>> {
    const SimPlace place = machine_->look_up(folder);
    std::vector<FolderEntry> entries;
    if (place.inode == nullptr && place.os_error != ENOTDIR) return entries;
    if (place.inode == nullptr || !place.inode->is_folder) return fail(sim_error(Code::store_damaged, ENOTDIR, folder));
    for (const auto& [name, inode] : place.inode->names.cached) {
      entries.push_back({name, inode->is_folder});
      std::swap(entries.back(), entries[machine_->random.below(entries.size())]);
    }
    return entries;
  });
}

Result<bool> SimFileSystem::make_folder(std::string_view path) {
  SimCall call(*machine_, *process_, SimCallKind::grow, path);
  return call.run([&]() -> Result<bool> {
    const SimPlace place = machine_->look_up(path);
    if (place.inode != nullptr && place.inode->is_folder) return false;
    if (place.inode != nullptr) return fail(sim_error(Code::write_failed, ENOTDIR, path));
    if (place.folder == nullptr) return fail(sim_error(Code::write_failed, place.os_error, path));
    place.folder->names.change(place.name, {++machine_->last_id, std::make_shared<SimInode>(true), {}});
    return true;
  });
}

Result<void> SimFileSystem::rename_now(std::string_view from, std::string_view to) {
  const SimPlace source = machine_->look_up(from);
  const SimPlace target = machine_->look_up(to);
  if (const int problem = rename_problem(source, target); problem != 0) {
    return fail(sim_error(Code::rename_failed, problem, fmt::format("{} -> {}", from, to)));
  }
  if (source.inode != target.inode) move_name(*machine_, source, target);
  return {};
}

Result<void> SimFileSystem::rename(std::string_view from, std::string_view to) {
  SimCall call(*machine_, *process_, SimCallKind::rename, from);
  return call.run([&] { return rename_now(from, to); });
}

Result<void> SimFileSystem::remove(std::string_view path) {
  SimCall call(*machine_, *process_, SimCallKind::remove, path);
  return call.run([&]() -> Result<void> {
    const SimPlace place = machine_->look_up(path);
    const bool full = place.inode != nullptr && place.inode->is_folder && !place.inode->names.cached.empty();
    if (full) return fail(sim_error(Code::write_failed, ENOTEMPTY, path));
    if (place.os_error == ENOTDIR) return fail(sim_error(Code::write_failed, ENOTDIR, path));
    if (place.inode != nullptr) place.folder->names.change(place.name, {++machine_->last_id, nullptr, {}});
    return {};
  });
}

Result<void> SimFileSystem::remove_folder(std::string_view path) {
  SimCall call(*machine_, *process_, SimCallKind::remove, path);
  return call.run([&]() -> Result<void> {
    const SimPlace place = machine_->look_up(path);
    if (place.os_error == ENOTDIR || (place.inode != nullptr && !place.inode->is_folder))
      return fail(sim_error(Code::write_failed, ENOTDIR, path));
    if (place.inode == nullptr) return {};
    if (!place.inode->names.cached.empty()) return fail(sim_error(Code::write_failed, ENOTEMPTY, path));
    place.folder->names.change(place.name, {++machine_->last_id, nullptr, {}});
    return {};
  });
}

Result<void> SimFileSystem::sync_folder(std::string_view path, SyncPoint point) {
  SimCall call(*machine_, *process_, SimCallKind::sync, path);
  const SimInodePtr folder = machine_->look_up(path).inode;
  return call.run_or(
      [&]() -> Result<void> {
        if (folder == nullptr) return fail(sim_error(Code::outcome_unknown, ENOENT, path));
        if (!folder->is_folder) return fail(sim_error(Code::outcome_unknown, ENOTDIR, path));
        machine_->sync_as_told(*process_, point, [folder] { sync_names(*folder); });
        return {};
      },
      [] {});
}

Result<void> SimFileSystem::sync_all(SyncPoint point) {
  SimCall call(*machine_, *process_, SimCallKind::sync, {});
  return call.run_or(
      [&]() -> Result<void> {
        machine_->sync_as_told(*process_, point, [root = machine_->root] { sync_tree(*root); });
        return {};
      },
      [&] { fail_sync_tree(*machine_->root, machine_->random); });
}

void SimFileSystem::kill() {
  const std::scoped_lock lock(machine_->mutex);
  machine_->kill(*process_);
}

void SimFileSystem::kill_at(std::uint64_t op) {
  const std::scoped_lock lock(machine_->mutex);
  process_->cut_op = op;
  process_->cut_is_power = false;
}

void SimFileSystem::power_cut_at(std::uint64_t op) {
  const std::scoped_lock lock(machine_->mutex);
  process_->cut_op = op;
  process_->cut_is_power = true;
}

bool SimFileSystem::died() const { return process_->dead; }

std::uint64_t SimFileSystem::ops() const {
  const std::scoped_lock lock(machine_->mutex);
  return process_->ops;
}

void SimFileSystem::before_each_op(std::function<void(std::uint64_t)> hook) { process_->hook = std::move(hook); }

std::uint64_t SimFileSystem::calls() const { return process_->calls; }

void SimFileSystem::inject(Fault fault) {
  const std::scoped_lock lock(machine_->mutex);
  process_->faults.push_back(fault);
}

std::uint64_t SimFileSystem::fallible_calls() const {
  const std::scoped_lock lock(machine_->mutex);
  return process_->fallible_calls;
}

std::uint64_t SimFileSystem::faults_fired() const {
  const std::scoped_lock lock(machine_->mutex);
  return process_->faults_fired;
}

void SimFileSystem::ignore_sync(SyncPoint point) {
  const std::scoped_lock lock(machine_->mutex);
  process_->ignored[static_cast<std::size_t>(point)] = true;
}

void SimFileSystem::postpone_sync(SyncPoint point, std::uint64_t ops) {
  const std::scoped_lock lock(machine_->mutex);
  process_->postponed[static_cast<std::size_t>(point)] = ops;
}

}  // namespace pawl::testing
