// Durable functions of a program: the engine's steps on the adapters of this machine.
#include <pawl/workflow.hpp>

#include "adapters/posix/posix_environment.hpp"
#include "adapters/posix/posix_foreground.hpp"
#include "adapters/posix/posix_local_files.hpp"
#include "engine/durable_steps.hpp"

namespace pawl {

struct DurableRun::Parts {
  SystemClock clock;
  PosixLocalFiles files;
  PosixForeground foreground;
  std::unique_ptr<DurableSteps> steps;
};

DurableRun::DurableRun(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DurableRun::DurableRun(DurableRun&&) noexcept = default;
DurableRun& DurableRun::operator=(DurableRun&&) noexcept = default;
DurableRun::~DurableRun() = default;

Result<std::string> DurableRun::step(std::string_view name, const Function& fn) {
  return parts_->steps->step(std::string(name), fn);
}

Result<std::vector<std::string>> DurableRun::map(std::string_view name, std::span<const std::string> items,
                                                 const ItemFunction& fn, std::size_t parallel) {
  return parts_->steps->map(std::string(name), items, fn, parallel);
}

std::string DurableRun::idempotency_key(std::string_view name) const {
  return fmt::format("{}/{}", parts_->steps->uuid().text(), name);
}

Result<DurableRun> Pawl::durable(std::string_view id) {
  PAWL_TRY_ASSIGN(const RunId run, RunId::parse(id));
  PAWL_TRY(need_checkpoints());
  auto parts = std::make_unique<DurableRun::Parts>();
  PosixForeground& foreground = parts->foreground;
  const DurableServices services{
      .store = store(), .clock = parts->clock, .files = parts->files, .lock = [&foreground](const std::string& path) {
        return foreground.lock(path);
      }};
  PAWL_TRY_ASSIGN(parts->steps, DurableSteps::open(services, run));
  return DurableRun(std::move(parts));
}

}  // namespace pawl
