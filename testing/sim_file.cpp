#include <algorithm>
#include <cerrno>

#include "testing/sim_machine.hpp"

namespace pawl::testing {
namespace {

/// Returns how much of an interrupted write takes effect: nothing, everything, or a part up to any byte or sector.
std::uint64_t cut_length(SeededRandom& random, std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t part = random.below(size + 1);
  switch (random.below(4)) {
    case 0: return 0;
    case 1: return size;
    case 2: return part;
    default: break;
  }
  const std::uint64_t end = (offset + part) / kSectorBytes * kSectorBytes;
  return end > offset ? end - offset : 0;
}

class SimFile final : public File {
 public:
  SimFile(std::shared_ptr<SimMachine> machine, std::shared_ptr<SimProcess> process, SimInodePtr inode, std::string path,
          OpenMode mode)
      : machine_(std::move(machine)),
        process_(std::move(process)),
        inode_(std::move(inode)),
        path_(std::move(path)),
        writable_(mode != OpenMode::read),
        handle_(++machine_->last_id) {}

  ~SimFile() override {
    const std::scoped_lock lock(machine_->mutex);
    for (auto& [place, holders] : machine_->locks) {
      std::erase_if(holders, [&](const auto& holder) { return is_this(holder); });
    }
    std::erase_if(machine_->locks, [](const auto& held) { return held.second.empty(); });
  }

  Result<std::string> read_at(std::uint64_t offset, std::uint64_t size) override {
    SimCall call(*machine_, *process_, SimCallKind::look, path_);
    return call.run([&]() -> Result<std::string> {
      const std::string& bytes = inode_->content.cached();
      return offset >= bytes.size() ? std::string() : bytes.substr(offset, size);
    });
  }

  Result<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    SimCall call(*machine_, *process_, SimCallKind::write, path_);
    if (call.verdict() != SimCall::Verdict::dead && !writable_)
      return fail(sim_error(Code::write_failed, EBADF, path_));
    const bool partly = call.verdict() == SimCall::Verdict::cut ||
                        (call.verdict() == SimCall::Verdict::fault && call.fault() != Fault::enospc);
    if (partly) inode_->content.write(offset, bytes.substr(0, cut_length(machine_->random, offset, bytes.size())));
    if (call.verdict() == SimCall::Verdict::cut) {
      call.die();
      return fail(call.killed_error());
    }
    return call.run([&]() -> Result<void> {
      const std::uint64_t room = machine_->room_for(*inode_, offset, bytes.size());
      inode_->content.write(offset, bytes.substr(0, room));
      if (room < bytes.size()) return fail(sim_error(Code::disk_full, ENOSPC, path_));
      return {};
    });
  }

  Result<void> sync(SyncPoint point) override {
    SimCall call(*machine_, *process_, SimCallKind::sync, path_);
    return call.run_or(
        [&]() -> Result<void> {
          machine_->sync_as_told(*process_, point, [inode = inode_] { inode->content.sync(); });
          return {};
        },
        [&] { inode_->content.fail_sync(machine_->random); });
  }

  Result<void> resize(std::uint64_t size) override {
    SimCall call(*machine_, *process_, SimCallKind::grow, path_);
    return call.run([&]() -> Result<void> {
      if (!writable_) return fail(sim_error(Code::write_failed, EBADF, path_));
      if (machine_->room_for(*inode_, 0, size) < size) return fail(sim_error(Code::disk_full, ENOSPC, path_));
      inode_->content.resize(size);
      return {};
    });
  }

  Result<std::uint64_t> size() override {
    SimCall call(*machine_, *process_, SimCallKind::look, path_);
    return call.run([&]() -> Result<std::uint64_t> { return inode_->content.cached().size(); });
  }

  Result<std::uint64_t> id() override { return inode_->id; }

  Result<bool> try_lock(std::uint64_t byte) override { return take_lock(byte, false); }
  Result<bool> try_lock_shared(std::uint64_t byte) override { return take_lock(byte, true); }

  Result<void> unlock(std::uint64_t byte) override {
    SimCall call(*machine_, *process_, SimCallKind::lock, path_);
    return call.run([&]() -> Result<void> {
      std::erase_if(machine_->locks[{inode_.get(), byte}], [&](const auto& holder) { return is_this(holder); });
      return {};
    });
  }

  Result<bool> locked_elsewhere(std::uint64_t byte) override {
    SimCall call(*machine_, *process_, SimCallKind::lock, path_);
    return call.run([&]() -> Result<bool> {
      return std::ranges::any_of(machine_->locks[{inode_.get(), byte}],
                                 [&](const auto& holder) { return !is_this(holder); });
    });
  }

 private:
  [[nodiscard]] bool is_this(const SimMachine::Holder& holder) const { return holder.handle == handle_; }

  Result<bool> take_lock(std::uint64_t byte, bool shared) {
    SimCall call(*machine_, *process_, SimCallKind::lock, path_);
    return call.run([&]() -> Result<bool> {
      if (!writable_ && !shared) return fail(sim_error(Code::write_failed, EBADF, path_));
      auto& holders = machine_->locks[{inode_.get(), byte}];
      const auto conflicts = [&](const auto& holder) { return !is_this(holder) && !(shared && holder.shared); };
      if (std::ranges::any_of(holders, conflicts)) return false;
      std::erase_if(holders, [&](const auto& holder) { return is_this(holder); });
      holders.push_back({handle_, process_->id, shared});
      return true;
    });
  }

  const std::shared_ptr<SimMachine> machine_;
  const std::shared_ptr<SimProcess> process_;
  const SimInodePtr inode_;
  const std::string path_;
  const bool writable_;
  const std::uint64_t handle_;
};

}  // namespace

std::unique_ptr<File> make_sim_file(std::shared_ptr<SimMachine> machine, std::shared_ptr<SimProcess> process,
                                    SimInodePtr inode, std::string path, OpenMode mode) {
  return std::make_unique<SimFile>(std::move(machine), std::move(process), std::move(inode), std::move(path), mode);
}

}  // namespace pawl::testing
