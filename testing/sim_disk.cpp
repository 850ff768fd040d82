#include "testing/sim_machine.hpp"

namespace pawl::testing {
namespace {

/// Finds a file's inode by its durable names.
SimInodePtr find_durable(const SimMachine& machine, std::string_view path) {
  SimInodePtr inode = machine.root;
  while (inode != nullptr && !path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    const auto entry = inode->names.durable.find(name);
    inode = entry == inode->names.durable.end() ? nullptr : entry->second;
  }
  return inode;
}

}  // namespace

SimDisk::SimDisk(std::uint64_t seed) : SimDisk(std::make_shared<SimMachine>(seed)) {}

SimDisk::SimDisk(std::shared_ptr<SimMachine> machine) : machine_(std::move(machine)) {}

void SimDisk::power_loss(Loss loss) {
  const std::scoped_lock lock(machine_->mutex);
  machine_->kill_all();
  lose_tree(machine_->root, loss, machine_->random);
  ++machine_->boot;
  machine_->power_is_off = false;
}

bool SimDisk::power_is_off() const {
  const std::scoped_lock lock(machine_->mutex);
  return machine_->power_is_off;
}

void SimDisk::set_capacity(std::uint64_t bytes) {
  const std::scoped_lock lock(machine_->mutex);
  machine_->capacity = bytes;
}

std::uint64_t SimDisk::used_bytes() const {
  const std::scoped_lock lock(machine_->mutex);
  return machine_->used_bytes();
}

std::string SimDisk::boot_id() const {
  const std::scoped_lock lock(machine_->mutex);
  return fmt::format("sim-boot-{}", machine_->boot);
}

std::unique_ptr<SimDisk> SimDisk::copy() const {
  const std::scoped_lock lock(machine_->mutex);
  auto machine = std::make_shared<SimMachine>(machine_->random.state());
  machine->root = copy_tree(*machine_->root);
  machine->boot = machine_->boot;
  machine->capacity = machine_->capacity;
  machine->power_is_off = machine_->power_is_off;
  machine->last_id = machine_->last_id;
  return std::unique_ptr<SimDisk>(new SimDisk(std::move(machine)));
}

void SimDisk::reseed(std::uint64_t seed) { machine_->random.reseed(seed); }

std::optional<std::string> SimDisk::durable_file(std::string_view path) const {
  const std::scoped_lock lock(machine_->mutex);
  const SimInodePtr inode = find_durable(*machine_, path);
  if (inode == nullptr || inode->is_folder) return std::nullopt;
  return inode->content.durable();
}

std::optional<std::string> SimDisk::cached_file(std::string_view path) const {
  const std::scoped_lock lock(machine_->mutex);
  const SimInodePtr inode = machine_->look_up(path).inode;
  if (inode == nullptr || inode->is_folder) return std::nullopt;
  return inode->content.cached();
}

}  // namespace pawl::testing
