#include "engine/shared_results.hpp"

namespace pawl {

void SharedResults::acquire(const machine::command::AcquirePermits& command) {
  context_.feed(machine::fact::PermitsGranted{command.node});
}
void SharedResults::release(const machine::command::ReleasePermits&) {}
void SharedResults::look_up(const machine::command::LookUpCache& command) {
  context_.feed(machine::fact::CacheAnswered{.node = command.node});
}
void SharedResults::store(const machine::command::StoreCache&) { static_cast<void>(recorder_); }

}  // namespace pawl
